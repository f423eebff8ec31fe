// A product of a test: its descriptors, random operands with gaps between their
// rows, and what float64 loops make of it.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_TESTEDPRODUCT_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_TESTEDPRODUCT_H

#include "test/emulated-cuda/blaslt/OpenedLibraries.h"

#include <optional>

namespace shardc::test::cuda {

/// A value as `type` holds it.
double rounded(double value, cudaDataType type);
size_t bytesOf(cudaDataType type);

/// How a test wants a product.
struct Wish {
  cudaDataType input = CUDA_R_32F, output = CUDA_R_32F;
  int64_t m = 5, n = 4, k = 3, batches = 1;
  bool transposeA = false, transposeB = false;
  bool rowsFirstA = false, rowsFirstB = false, rowsFirstD = false;
  int64_t gap = 0; // elements between rows or columns, and between batches
  /// All batches read one B; the batches of D lie side by side between columns.
  bool sharedB = false, interleavedD = false;
  double alpha = 1, beta = 0;
  bool inPlace = true; // C is D
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  size_t workspace = 1 << 20;
  uint32_t alignment = 16; // of the preference
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
};

/// A matrix of a test: where element (row, column) of a batch lies.
struct Placed {
  cudaDataType type;
  int64_t rows, columns, leading, batchStride;
  bool rowsFirst;
  int64_t elements; // of all batches, with gaps

  int64_t at(int64_t batch, int64_t row, int64_t column) const {
    return batch * batchStride +
           (rowsFirst ? row * leading + column : column * leading + row);
  }
};

class TestedProduct {
public:
  /// Uploads operands; nothing fails that the library may refuse.
  TestedProduct(Device &device, const Wish &wish);
  ~TestedProduct();

  /// Asks the heuristic for up to three algorithms.
  cublasStatus_t ask();
  /// Enqueues the product by one of them, the first by default.
  cublasStatus_t run(size_t algorithm = 0);
  /// Calls the library with what stands below.
  cublasStatus_t call(const cublasLtMatmulAlgo_t *algorithm,
                      size_t workspaceBytes);
  /// The largest difference to the float64 loops, in units of what a sum of such
  /// terms and the output's type may be off by; gaps must be as they were.
  double error();
  /// D's bytes.
  std::vector<char> bytes();

  const Wish wish;
  Device &device;
  Placed a, b, c, d;
  CUdeviceptr dataA, dataB, dataC, dataD, dataBias = 0, workspace = 0;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t layoutA = nullptr, layoutB = nullptr,
                         layoutC = nullptr, layoutD = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms;

private:
  Placed place(cudaDataType type, int64_t rows, int64_t columns,
               bool rowsFirst) const;
  cublasLtMatrixLayout_t layoutOf(const Placed &placed) const;
  std::vector<double> random(int64_t count, cudaDataType type);
  CUdeviceptr put(const std::vector<double> &values, cudaDataType type);
  std::vector<double> get(CUdeviceptr from, int64_t count, cudaDataType type);
  double errorOfBiasGradient();

  uint64_t seed = 1;
  std::vector<double> valuesA, valuesB, valuesC, valuesD, valuesBias;
};

} // namespace shardc::test::cuda

#endif
