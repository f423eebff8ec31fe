// An open file, closed when it goes out of scope.
#ifndef SHARDC_RUNTIME_FILES_DESCRIPTOR_H
#define SHARDC_RUNTIME_FILES_DESCRIPTOR_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardc::runtime {

class Descriptor {
public:
  Descriptor() = default;
  /// Takes what open() returned; negative: none.
  explicit Descriptor(int fd) : fd(fd) {}
  /// Opens a regular file for reading. Throws an Error with `name` for anything
  /// else, and at once: a FIFO would wait for a writer, a device has no end.
  static Descriptor openForReading(const std::string &path,
                                   const std::string &name);
  static Descriptor openForReading(const std::string &path) {
    return openForReading(path, path);
  }
  Descriptor(Descriptor &&other) noexcept;
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();

  explicit operator bool() const { return fd >= 0; }
  int get() const { return fd; }
  void close();

  /// Bytes of the file; throws unless it is a regular one. `name` is for
  /// errors.
  uint64_t regularSize(const std::string &name) const;
  /// Reads exactly [offset, offset + size); throws where the file is shorter.
  void readAt(uint64_t offset, void *destination, size_t size,
              const std::string &name) const;
  /// Writes all of it at the file's position.
  void write(const void *data, size_t size, const std::string &name) const;

private:
  int fd = -1;
};

} // namespace shardc::runtime

#endif
