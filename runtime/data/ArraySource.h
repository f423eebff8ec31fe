// Samples that lie in a file as one array: .npy files, tensors of safetensors
// files.
#ifndef SHARDC_RUNTIME_DATA_ARRAYSOURCE_H
#define SHARDC_RUNTIME_DATA_ARRAYSOURCE_H

#include "runtime/data/Source.h"
#include "runtime/files/Descriptor.h"

namespace shardc::runtime {

/// A row-major, little-endian array, whose first axis counts samples.
struct StoredArray {
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape; // at least one axis
  uint64_t dataOffset = 0;    // bytes from the file's begin
};

/// Values are read when they are asked for, not mapped: what a program that
/// overwrites the file leaves is checked as it was read, and a file that
/// shrinks is an error of one line.
class ArraySource final : public Source {
public:
  /// Throws where the array does not fit the input.
  ArraySource(SampleType type, std::string path, Descriptor file,
              StoredArray array);

  const std::string &name() const override { return path; }
  int64_t samples() const override { return array.shape[0]; }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;

private:
  std::string path;
  Descriptor file;
  StoredArray array;
};

} // namespace shardc::runtime

#endif
