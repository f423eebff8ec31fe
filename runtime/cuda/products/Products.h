// Matrix products by cuBLASLt, of one device: the first algorithm of its
// heuristic, which is the same in every run, or the one that a file names
// (--tune).
#ifndef SHARDC_RUNTIME_CUDA_PRODUCTS_PRODUCTS_H
#define SHARDC_RUNTIME_CUDA_PRODUCTS_PRODUCTS_H

#include "runtime/cuda/Context.h"
#include "runtime/device/Entries.h"

#include <functional>
#include <memory>

namespace shardc::runtime::cuda {

class CudaDevice;

class Products {
public:
  explicit Products(CudaDevice &device);
  ~Products();

  /// Returns what enqueues the product. Throws an Error where the library has no
  /// algorithm for it.
  std::function<void()> bind(const entry::Gemm &entry);
  /// Writes that file, where products were timed since.
  void keepTuned();

private:
  std::function<void()> bindWithGradient(const entry::Gemm &entry);

  struct State;
  std::unique_ptr<State> state;
};

} // namespace shardc::runtime::cuda

#endif
