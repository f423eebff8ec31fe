// A graph of operations on tensors, as data: what cuDNN fuses into one kernel
// (CudnnPlan.h), and what tests compute step by step.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_TENSORGRAPH_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_TENSORGRAPH_H

#include "runtime/cuda/api/Cudnn.h"

#include <array>
#include <cstdint>
#include <vector>

namespace shardc::runtime::cuda {

using namespace shardc::cuda;

using GraphDims = std::array<int64_t, 4>;

struct GraphTensor {
  cudnnDataType_t type;
  GraphDims shape, strides; // in elements
  /// Of the device; 0 of what is in no memory, or is a number.
  CUdeviceptr address = 0;
  bool isNumber = false;
  float number = 0;

  bool isVirtual() const { return address == 0 && !isNumber; }
};

struct GraphOperation {
  enum Kind { MatMul, Pointwise, Reduce, Reshape };
  Kind kind;
  /// Indices of tensors; -1: there is none. `c` is a select's condition, which
  /// takes `a` where it holds, else `b`.
  int a, b = -1, c = -1, result = -1;
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  int64_t axis = 0; // of an index
  cudnnReduceTensorOp_t reduction = CUDNN_REDUCE_TENSOR_ADD;
  cudnnDataType_t computed = CUDNN_DATA_FLOAT;
};

/// The row-major strides of a shape.
GraphDims rowMajor(const GraphDims &shape);

/// Functions return the index of the tensor that they add. Where they take a
/// `result`, it is written instead of a new one, which is float32 in no memory.
class TensorGraph {
public:
  std::vector<GraphTensor> tensors;
  std::vector<GraphOperation> operations;

  /// Says all but where tensors lie: graphs of one signature have one plan.
  std::vector<int64_t> signature() const;

  int number(float value);
  /// A tensor that is in no memory, row-major.
  int between(cudnnDataType_t type, const GraphDims &shape);

  /// [B, H, M, K] by [B, G, K, N]: H is a multiple of G.
  int matMul(int a, int b, int result = -1);
  /// Elements of `b` that lack a dim of `a` are repeated.
  int pointwise(cudnnPointwiseMode_t mode, int a, int b = -1, int result = -1);
  /// To `shape`, whose dims are 1, or that many fewer, where it is summed.
  int reduce(cudnnReduceTensorOp_t reduction, int a, const GraphDims &shape,
             int result = -1);
  /// The last two dims change places, as a view of type `type`.
  int transposed(int a, cudnnDataType_t type);
  /// -inf behind the diagonal of scores.
  int causal(int scores);
  /// -inf where a column is more than `left` before its row.
  int window(int scores, int64_t left);

private:
  /// The index of each element's row, 2, or column, 3.
  int indexOf(int scores, int64_t axis);
  /// -inf where `mode` does not hold for two tensors.
  int where(int scores, cudnnPointwiseMode_t mode, int a, int b);
};

} // namespace shardc::runtime::cuda

#endif
