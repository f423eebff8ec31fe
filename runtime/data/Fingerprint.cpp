// Which data this is, as far as can be seen at once.
#include "runtime/data/Fingerprint.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"

#include <filesystem>
#include <fstream>

namespace shardc::runtime {

static constexpr size_t hashedBytes = 64 << 10;

std::string fingerprintOf(const std::string &path) {
  std::error_code error;
  uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::string begin(hashedBytes, '\0');
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(size_t(file.gcount()));
  return concat(error ? 0 : size, " bytes that begin with ",
                hashText(hashOf(begin.data(), begin.size())));
}

std::map<std::string, std::string> fingerprintsOf(const Dataset &data) {
  std::map<std::string, std::string> texts;
  for (const NamedFile &file : data.files())
    texts[file.name] += fingerprintOf(file.path) + "\n";
  for (auto &[name, text] : texts)
    text = hashText(hashOf(text.data(), text.size()));
  return texts;
}

} // namespace shardc::runtime
