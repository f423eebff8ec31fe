// Graphs grow by one operation at a time.
#include "runtime/cuda/attention/TensorGraph.h"

#include <bit>
#include <limits>
#include <utility>

namespace shardc::runtime::cuda {

GraphDims rowMajor(const GraphDims &shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

std::vector<int64_t> TensorGraph::signature() const {
  std::vector<int64_t> result;
  for (const GraphTensor &each : tensors) {
    result.insert(result.end(), {each.type, each.isVirtual(), each.isNumber,
                                 std::bit_cast<int32_t>(each.number)});
    result.insert(result.end(), each.shape.begin(), each.shape.end());
    result.insert(result.end(), each.strides.begin(), each.strides.end());
  }
  for (const GraphOperation &each : operations)
    result.insert(result.end(),
                  {each.kind, each.a, each.b, each.c, each.result, each.mode,
                   each.axis, each.reduction, each.computed});
  return result;
}

static int add(TensorGraph &graph, const GraphTensor &tensor) {
  graph.tensors.push_back(tensor);
  return int(graph.tensors.size()) - 1;
}

int TensorGraph::number(float value) {
  GraphTensor tensor{CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}};
  tensor.isNumber = true;
  tensor.number = value;
  return add(*this, tensor);
}

int TensorGraph::between(cudnnDataType_t type, const GraphDims &shape) {
  return add(*this, {type, shape, rowMajor(shape)});
}

int TensorGraph::matMul(int a, int b, int result) {
  const GraphDims &left = tensors[a].shape;
  if (result < 0)
    result = between(CUDNN_DATA_FLOAT,
                     {left[0], left[1], left[2], tensors[b].shape[3]});
  operations.push_back(
      {.kind = GraphOperation::MatMul, .a = a, .b = b, .result = result});
  return result;
}

int TensorGraph::pointwise(cudnnPointwiseMode_t mode, int a, int b,
                           int result) {
  if (result < 0)
    result = between(CUDNN_DATA_FLOAT, tensors[a].shape);
  operations.push_back({.kind = GraphOperation::Pointwise,
                        .a = a,
                        .b = b,
                        .result = result,
                        .mode = mode});
  return result;
}

int TensorGraph::reduce(cudnnReduceTensorOp_t reduction, int a,
                        const GraphDims &shape, int result) {
  if (result < 0)
    result = between(CUDNN_DATA_FLOAT, shape);
  operations.push_back({.kind = GraphOperation::Reduce,
                        .a = a,
                        .result = result,
                        .reduction = reduction});
  return result;
}

int TensorGraph::transposed(int a, cudnnDataType_t type) {
  GraphTensor view = tensors[a];
  view.type = type;
  view.address = 0;
  std::swap(view.shape[2], view.shape[3]);
  std::swap(view.strides[2], view.strides[3]);
  int result = add(*this, view);
  operations.push_back(
      {.kind = GraphOperation::Reshape, .a = a, .result = result});
  return result;
}

int TensorGraph::indexOf(int scores, int64_t axis) {
  int result = between(CUDNN_DATA_INT32, tensors[scores].shape);
  operations.push_back({.kind = GraphOperation::Pointwise,
                        .a = scores,
                        .result = result,
                        .mode = CUDNN_POINTWISE_GEN_INDEX,
                        .axis = axis});
  return result;
}

int TensorGraph::where(int scores, cudnnPointwiseMode_t mode, int a, int b) {
  GraphDims shape = tensors[scores].shape;
  int isSeen = between(CUDNN_DATA_BOOLEAN, shape);
  operations.push_back({.kind = GraphOperation::Pointwise,
                        .a = a,
                        .b = b,
                        .result = isSeen,
                        .mode = mode,
                        .computed = CUDNN_DATA_BOOLEAN});
  int result = between(CUDNN_DATA_FLOAT, shape);
  operations.push_back({.kind = GraphOperation::Pointwise,
                        .a = scores,
                        .b = number(-std::numeric_limits<float>::infinity()),
                        .c = isSeen,
                        .result = result,
                        .mode = CUDNN_POINTWISE_BINARY_SELECT});
  return result;
}

int TensorGraph::causal(int scores) {
  int row = indexOf(scores, 2), column = indexOf(scores, 3);
  return where(scores, CUDNN_POINTWISE_CMP_GE, row, column);
}

int TensorGraph::window(int scores, int64_t left) {
  int row = indexOf(scores, 2), column = indexOf(scores, 3);
  // cuDNN looks for column + length > row.
  int end = pointwise(CUDNN_POINTWISE_ADD, column, number(float(left + 1)));
  return where(scores, CUDNN_POINTWISE_CMP_GT, end, row);
}

} // namespace shardc::runtime::cuda
