// Algorithms of products by their times: rank 0 asks a file or a clock, and all
// ranks run what it has chosen.
#ifndef SHARDC_RUNTIME_CUDA_PRODUCTS_TUNING_H
#define SHARDC_RUNTIME_CUDA_PRODUCTS_TUNING_H

#include "runtime/cuda/products/TuneFile.h"
#include "runtime/device/Entries.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime::cuda {

class CudaDevice;

/// The most, up to 256, that divides all addresses of a batch of matrices.
uint32_t alignmentOf(const entry::Matrix &matrix);
/// All that the heuristic sees of a product: products of one text are one to it.
std::string tunedText(const entry::Gemm &product);

class Tuning {
public:
  /// As many as are timed, at most.
  static constexpr int mostAlgorithms = 16;
  using Candidates = std::vector<cublasLtMatmulHeuristicResult_t>;
  /// Enqueues the product by an algorithm. Returns whether the library took it.
  using Run = std::function<bool(const cublasLtMatmulHeuristicResult_t &)>;

  /// All ranks make theirs at once. Throws an Error where this rank's GPU or
  /// library is not that of rank 0.
  explicit Tuning(CudaDevice &device);
  ~Tuning();

  /// All ranks ask for the same products in the same order, while binding. What
  /// the product works on is then as it was, or has been written by it.
  /// `candidates` gives the heuristic's algorithms, the best first.
  cublasLtMatmulAlgo_t choose(const std::string &product,
                              const std::function<Candidates()> &candidates,
                              const Run &run);
  /// Throws an Error that names the product, and what to do, for an algorithm
  /// that the library does not take.
  [[noreturn]] void refuse(const std::string &product,
                           const std::string &why) const;
  /// Writes the file where something was timed.
  void keep();

private:
  TuneFile::Choice time(const Candidates &candidates, const Run &run);

  CudaDevice &device;
  TuneFile *const file; // rank 0's
  std::map<std::string, cublasLtMatmulAlgo_t> chosen;
  std::vector<CUevent> clocks; // made when first needed
};

} // namespace shardc::runtime::cuda

#endif
