// NumPy's .npy files: one array, mapped. Format: numpy.lib.format, versions 1.0
// to 3.0.
#ifndef SHARDC_RUNTIME_DATA_NPY_H
#define SHARDC_RUNTIME_DATA_NPY_H

#include "runtime/files/MappedFile.h"
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

/// Reads the header and checks that the data are all there. Throws an Error
/// that begins with `name`.
NpyHeader parseNpyHeader(std::span<const std::byte> file,
                         const std::string &name);

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
  const std::byte *sample(int64_t index) const;

private:
  std::string name;
  MappedFile file;
  NpyHeader header;
  int64_t elements;
};

/// "[64, 128]", as in errors.
std::string shapeText(std::span<const int64_t> shape);

} // namespace shardc::runtime

#endif
