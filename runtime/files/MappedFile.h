// A file's bytes, mapped for reading.
#ifndef SHARDC_RUNTIME_FILES_MAPPEDFILE_H
#define SHARDC_RUNTIME_FILES_MAPPEDFILE_H

#include <cstddef>
#include <span>
#include <string>

namespace shardc::runtime {

class MappedFile {
public:
  /// Maps a regular file; throws an Error with its name.
  explicit MappedFile(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {begin, size}; }

private:
  const std::byte *begin = nullptr;
  size_t size = 0;
};

} // namespace shardc::runtime

#endif
