// NumPy's .npy files: one array. Format: numpy.lib.format, versions 1.0
// to 3.0.
#ifndef SHARDC_RUNTIME_DATA_NPY_H
#define SHARDC_RUNTIME_DATA_NPY_H

#include "runtime/files/Descriptor.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What the header says. Row-major, little-endian.
struct NpyHeader {
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape; // at least one axis
  size_t dataOffset = 0;      // bytes from the file's begin
};

/// Reads the header of a file of `fileSize` bytes and checks that the data are
/// all there. `begin`: its first bytes, at most `longestNpyHead` of them are
/// looked at. Throws an Error that begins with `name`.
NpyHeader parseNpyHeader(std::span<const std::byte> begin, uint64_t fileSize,
                         const std::string &name);
/// NumPy itself reads headers of up to 10,000 characters.
constexpr size_t longestNpyHead = 1 << 16;

/// Values are read when they are asked for, not mapped: what a program that
/// overwrites the file leaves is checked as it was read, and a file that
/// shrinks is an error of one line.
class NpyArray {
public:
  explicit NpyArray(const std::string &path);

  const std::string &path() const { return name; }
  plan::DType dtype() const { return header.dtype; }
  const std::vector<int64_t> &shape() const { return header.shape; }
  int64_t samples() const { return header.shape[0]; }
  /// Elements of one sample.
  int64_t sampleElements() const { return elements; }
  int64_t sampleBytes() const;
  /// Copies the stored values of samples [first, first + count). Safe to call
  /// from several threads. Throws an Error where the file has been truncated
  /// since it was opened.
  void read(int64_t first, int64_t count, std::byte *destination) const;

private:
  std::string name;
  Descriptor file;
  NpyHeader header;
  int64_t elements;
};

/// "[64, 128]", as in errors.
std::string shapeText(std::span<const int64_t> shape);

} // namespace shardc::runtime

#endif
