// Which data this is, as far as can be seen at once.
#include "runtime/data/Fingerprint.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardc::runtime {

static constexpr size_t hashedBytes = 64 << 10, pieceBytes = 4 << 10;
static constexpr size_t mostPieces =
    64; // of all files together, or one of each

static std::string fingerprintOf(const std::string &path, uintmax_t pieces) {
  std::error_code error;
  uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::string text;
  auto read = [&](uintmax_t at, size_t bytes) {
    size_t before = text.size();
    text.resize(before + bytes);
    file.clear();
    file.seekg(std::streamoff(at));
    file.read(text.data() + before, std::streamsize(bytes));
    text.resize(before + size_t(std::max<std::streamsize>(0, file.gcount())));
  };
  read(0, hashedBytes);
  if (!error && size > hashedBytes)
    for (uintmax_t piece = 1; piece <= pieces; ++piece)
      read((size - pieceBytes) / pieces * piece + (size - pieceBytes) % pieces,
           pieceBytes);
  return concat(error ? 0 : size, " bytes of hash ",
                hashText(hashOf(text.data(), text.size())));
}

std::vector<std::pair<std::string, std::string>>
fingerprintsOfFiles(const Dataset &data) {
  std::vector<NamedFile> files = data.files();
  size_t pieces =
      std::max<size_t>(1, mostPieces / std::max<size_t>(1, files.size()));
  std::vector<std::pair<std::string, std::string>> texts;
  for (const NamedFile &file : files)
    texts.emplace_back(file.name, fingerprintOf(file.path, pieces));
  return texts;
}

std::map<std::string, std::string> fingerprintsOf(const Dataset &data) {
  std::map<std::string, std::string> texts;
  for (const auto &[name, text] : fingerprintsOfFiles(data))
    texts[name] += text + "\n";
  for (auto &[name, text] : texts)
    text = hashText(hashOf(text.data(), text.size()));
  return texts;
}

} // namespace shardc::runtime
