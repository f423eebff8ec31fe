// Values that people recognise, where there are such.
#include "runtime/train/RunFacts.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"

#include <filesystem>
#include <fstream>

namespace shardc::runtime {

static constexpr size_t hashedBytes = 64 << 10;

/// What can be seen of a file at once.
static std::string contentText(const std::string &path) {
  std::error_code error;
  uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::string begin(hashedBytes, '\0');
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(size_t(file.gcount()));
  return concat(error ? 0 : size, " bytes that begin with ",
                hashText(hashOf(begin.data(), begin.size())));
}

static void addData(const char *flag, const Dataset &data, Facts &facts) {
  facts.emplace_back(concat("the samples of ", flag),
                     std::to_string(data.samples()));
  for (const NamedFile &file : data.files())
    facts.emplace_back(concat(flag, " ", file.name), contentText(file.path));
}

Facts factsOf(const Options &options, const RunSettings &settings,
              const Dataset &data, const Dataset *evalData) {
  Facts facts = options.shared;
  facts.emplace_back("the step that the run begins with",
                     std::to_string(settings.start.step));
  // Ranks tell each other of it, wherever each has its file.
  facts.emplace_back("--tune", options.tune ? "a file" : "none");
  addData("--data", data, facts);
  if (evalData)
    addData("--eval-data", *evalData, facts);
  return facts;
}

} // namespace shardc::runtime
