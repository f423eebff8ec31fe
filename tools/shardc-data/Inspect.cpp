// shardc-data inspect and head: what files of samples hold.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/cli/ParseData.h"
#include "runtime/data/OpenSource.h"
#include "runtime/metrics/Print.h"
#include "tools/shardc-data/Commands.h"

#include <algorithm>

namespace shardc::runtime {

namespace {

/// PATH,KEY=VALUE... as --data has it, without a name.
NamedFile parse(const std::string &given) {
  NamedFile file = cli::parseNamedFile("PATH", "input_ids=" + given);
  if (file.isReference())
    fail("expects a path, got '", given, "'");
  return file;
}

std::vector<FileContent> contents(const NamedFile &file) {
  return contentsOf(file.path, file.keys, file.keys.column.value_or(file.name));
}

std::string rangeText(const Tokens &tokens) {
  constexpr int64_t most = 1 << 20;
  std::vector<int64_t> ids(std::min(most, tokens.size()));
  int64_t low = std::numeric_limits<int64_t>::max(), high = -1;
  for (int64_t first = 0; first < tokens.size(); first += most) {
    int64_t some = std::min(most, tokens.size() - first);
    tokens.read(first, some, ids.data());
    auto [least, greatest] =
        std::minmax_element(ids.begin(), ids.begin() + some);
    low = std::min(low, *least);
    high = std::max(high, *greatest);
  }
  return tokens.size() ? concat(", ids ", low, " to ", high) : "";
}

std::string text(const FileContent &content) {
  std::string text = content.path + ": " + content.format;
  if (!content.samples.empty())
    text += ", " + content.samples;
  if (content.tokens)
    text += concat(", ", content.tokens->size(), " tokens",
                   rangeText(*content.tokens));
  return text;
}

} // namespace

void inspect(const std::string &given) {
  NamedFile file = parse(given);
  for (const FileContent &content : contents(file))
    print(printable(text(content)) + "\n");
}

void head(const std::string &given, int64_t count) {
  NamedFile file = parse(given);
  if (file.keys.window) {
    plan::Input input;
    input.set_name(file.name);
    input.mutable_tensor()->set_dtype(plan::INT64);
    input.mutable_tensor()->add_shape(1);
    input.mutable_tensor()->add_shape(*file.keys.window);
    std::unique_ptr<Source> source = openSource(input, file);
    std::vector<int64_t> ids(*file.keys.window);
    for (int64_t i = 0; i < std::min(count, source->samples()); ++i) {
      source->read(i, 1, reinterpret_cast<std::byte *>(ids.data()));
      std::string line;
      for (int64_t id : ids)
        line += concat(line.empty() ? "" : " ", id);
      print(line + "\n");
    }
    return;
  }
  for (const FileContent &content : contents(file)) {
    if (!content.tokens)
      fail(content.path, ": ", content.format,
           " without token ids; inspect says what it holds");
    std::vector<int64_t> ids(std::min(count, content.tokens->size()));
    content.tokens->read(0, std::ssize(ids), ids.data());
    std::string line;
    for (int64_t id : ids)
      line += concat(line.empty() ? "" : " ", id);
    print(line + "\n");
    count -= std::ssize(ids);
    if (count == 0)
      return;
  }
}

} // namespace shardc::runtime
