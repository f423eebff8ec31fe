// Two runs' entries, side by side.
#include "runtime/base/Error.h"
#include "runtime/inspect/HashFiles.h"
#include "tools/shardc-diff/Diff.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace shardc {
namespace {

using runtime::concat;
using runtime::fail;
using Json = nlohmann::ordered_json;

/// A rank's file, line by line.
class RankHashes {
public:
  RankHashes(const std::string &folder, int64_t rank)
      : path(folder + "/" + runtime::hashFileName(rank)), file(path) {
    if (!file)
      fail(path, ": is not there, or cannot be read; ", folder,
           " is to be a folder of --hash-entries");
    head = *next();
    if (!head.contains("ranks") || !head.contains("model"))
      fail(path, ": has no first line of --hash-entries");
  }
  /// None behind the last; a line that is cut off is the end too.
  std::optional<Json> next() {
    std::string line;
    if (!std::getline(file, line))
      return std::nullopt;
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) {
      if (file.peek() == std::ifstream::traits_type::eof())
        return std::nullopt;
      fail(path, ": has a line that is no entry of --hash-entries");
    }
    return json;
  }

  Json head;
  std::string path;

private:
  std::ifstream file;
};

std::string textOf(const Json &line, const char *field) {
  auto found = line.find(field);
  return found != line.end() && found->is_string() ? found->get<std::string>()
                                                   : std::string();
}
int64_t numberOf(const Json &line, const char *field) {
  auto found = line.find(field);
  return found != line.end() && found->is_number_integer()
             ? found->get<int64_t>()
             : 0;
}

/// Names in `field` whose hashes differ.
std::vector<std::string> differing(const Json &a, const Json &b,
                                   const char *field) {
  std::vector<std::string> names;
  if (!a.contains(field) || !b.contains(field))
    return names;
  for (const auto &[name, hash] : a[field].items())
    if (b[field].contains(name) && b[field][name] != hash)
      names.push_back(name);
  return names;
}

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Lines of one run by what they are, for a run whose entries are others.
class ByPlace {
public:
  explicit ByPlace(RankHashes &run) {
    while (std::optional<Json> line = run.next())
      lines[keyOf(*line)].push_back(std::move(*line));
  }
  /// The next of those that are the same entry of the same micro-batch.
  std::optional<Json> take(const Json &line) {
    auto found = lines.find(keyOf(line));
    if (found == lines.end() || found->second.empty())
      return std::nullopt;
    Json taken = std::move(found->second.front());
    found->second.erase(found->second.begin());
    return taken;
  }

private:
  static std::string keyOf(const Json &line) {
    return concat(numberOf(line, "step"), " ", numberOf(line, "micro_batch"),
                  " ", textOf(line, "entry"));
  }
  std::map<std::string, std::vector<Json>> lines;
};

struct FirstDifference {
  int64_t place; // in the first run's order
  int64_t rank;
  Json a, b;
};

struct Compared {
  int64_t entries = 0, alone = 0; // alone: of the first run
  std::optional<FirstDifference> first;
};

void compareRank(const std::string &first, const std::string &second,
                 int64_t rank, Compared &compared) {
  RankHashes a(first, rank), b(second, rank);
  ByPlace others(b);
  for (int64_t place = 0;; ++place) {
    std::optional<Json> line = a.next();
    if (!line)
      return;
    std::optional<Json> other = others.take(*line);
    ++(other ? compared.entries : compared.alone);
    if (!other || differing(*line, *other, "written").empty())
      continue;
    if (!compared.first || place < compared.first->place)
      compared.first = {place, rank, std::move(*line), std::move(*other)};
    return;
  }
}

std::string describe(const FirstDifference &found) {
  const Json &a = found.a, &b = found.b;
  std::string text =
      concat("the first entry that differs: step ", numberOf(a, "step"),
             ", micro-batch ", numberOf(a, "micro_batch") + 1, ", rank ",
             found.rank, ": ", textOf(a, "entry"), "\n");
  if (std::string nodes = textOf(a, "nodes"); !nodes.empty())
    text += "  of " + nodes + "\n";
  for (const std::string &name : differing(a, b, "written"))
    text += concat("  it writes another '", name,
                   "': ", textOf(a["written"], name.c_str()), " and ",
                   textOf(b["written"], name.c_str()), "\n");
  std::vector<std::string> read = differing(a, b, "read");
  if (!read.empty())
    text += concat("  of another ", joined(read),
                   ", which no entry before it has made: data, initial values "
                   "or what the run draws\n");
  else if (!a["read"].empty())
    text += "  of the same operands: what computes it is another, or the run's "
            "numbers, as --lr\n";
  return text;
}

} // namespace

Difference diffHashes(const std::string &first, const std::string &second) {
  const RankHashes a(first, 0), b(second, 0);
  const int64_t ranks[] = {numberOf(a.head, "ranks"),
                           numberOf(b.head, "ranks")};
  Difference result;
  if (a.head["model"] != b.head["model"]) {
    result.text += "models: two\n";
    result.isThere = true;
  }
  if (ranks[0] != ranks[1]) {
    result.text += concat("ranks: ", ranks[0], " and ", ranks[1],
                          "; those that both have are compared\n");
    result.isThere = true;
  }
  Compared compared;
  for (int64_t rank = 0; rank < std::min(ranks[0], ranks[1]); ++rank)
    compareRank(first, second, rank, compared);
  if (compared.first) {
    result.text += describe(*compared.first);
    result.isThere = true;
  } else {
    result.text +=
        concat(compared.entries, " entries have made the same, to the bit\n");
  }
  if (compared.alone) {
    result.text += concat(compared.alone, " entries of ", first, " are not in ",
                          second, "\n");
    result.isThere = true;
  }
  return result;
}

} // namespace shardc
