// What kernels find wrong in the data of a run: a label that is no class. They
// go on, and the run ends when its device has settled.
#ifndef SHARDC_RUNTIME_CUDA_FAULTS_H
#define SHARDC_RUNTIME_CUDA_FAULTS_H

#include "runtime/cuda/Libraries.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime::cuda {

class CudaDevice;

class Faults {
public:
  explicit Faults(CudaDevice &device) : device(device) {}
  ~Faults();
  Faults(const Faults &) = delete;

  /// What is being bound: names an entry in errors.
  std::string place;

  /// A word in the device's memory for an entry that is being bound, which
  /// becomes the least of its faults (faultOf of kernels/Parameters.h). `text`
  /// says what is wrong, given a fault's position and value.
  CUdeviceptr
  word(std::function<std::string(int64_t position, int64_t value)> text);

  /// Enqueues that the host gets the words. To be called before check().
  void fetch();
  /// Throws an Error of the first entry that has a fault. What was fetched must
  /// be there.
  void check();

private:
  static constexpr size_t blockWords = 64;
  struct Block {
    CUdeviceptr words;
    uint64_t *fetched; // pinned
  };
  struct Entry {
    std::string place;
    std::function<std::string(int64_t position, int64_t value)> text;
  };
  CudaDevice &device;
  std::vector<Block> blocks;
  std::vector<Entry> entries;
};

} // namespace shardc::runtime::cuda

#endif
