// Operations, one by one, as the reference of cuDNN's graph API has them.
#include "test/emulated-cuda/ComputeGraph.h"

#include "test/runtime/device/Numbers.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace shardc::test {
namespace {

using namespace runtime;
using namespace runtime::cuda;

plan::DType typeOf(cudnnDataType_t type) {
  switch (type) {
  case CUDNN_DATA_BFLOAT16:
    return plan::BFLOAT16;
  case CUDNN_DATA_HALF:
    return plan::FLOAT16;
  case CUDNN_DATA_INT32:
    return plan::INT32;
  case CUDNN_DATA_BOOLEAN:
    return plan::BOOL;
  default:
    return plan::FLOAT32;
  }
}

/// Tensors that are in no memory get one.
class Computed {
public:
  explicit Computed(const TensorGraph &graph) : graph(graph) {
    // A transposed tensor has the strides of what it is a view of.
    for (const GraphTensor &tensor : graph.tensors) {
      int64_t last = 0;
      for (int dim = 0; dim < 4; ++dim)
        last += (tensor.shape[dim] - 1) * tensor.strides[dim];
      values.emplace_back(tensor.isVirtual() ? size_t(last + 1) : 0);
    }
  }

  /// A dim of 1 is repeated.
  double at(int tensor, const GraphDims &index) {
    const GraphTensor &of = graph.tensors[tensor];
    if (of.isNumber)
      return of.number;
    int64_t place = placeOf(of, index);
    return of.isVirtual() ? values[tensor][place]
                          : decode(address(of, place), typeOf(of.type));
  }
  void put(int tensor, const GraphDims &index, double value) {
    const GraphTensor &of = graph.tensors[tensor];
    int64_t place = placeOf(of, index);
    if (!of.isVirtual())
      return encode(value, typeOf(of.type), address(of, place));
    values[tensor][place] =
        of.type == CUDNN_DATA_FLOAT ? value : rounded(value, typeOf(of.type));
  }
  const GraphDims &shapeOf(int tensor) const {
    return graph.tensors[tensor].shape;
  }

private:
  static int64_t placeOf(const GraphTensor &of, const GraphDims &index) {
    int64_t place = 0;
    for (int dim = 0; dim < 4; ++dim)
      place += (of.shape[dim] == 1 ? 0 : index[dim]) * of.strides[dim];
    return place;
  }
  static std::byte *address(const GraphTensor &of, int64_t place) {
    return reinterpret_cast<std::byte *>(of.address) +
           place * sizeOf(typeOf(of.type));
  }

  const TensorGraph &graph;
  std::vector<std::vector<double>> values;
};

void forAll(const GraphDims &shape, const auto &visit) {
  for (int64_t a = 0; a < shape[0]; ++a)
    for (int64_t b = 0; b < shape[1]; ++b)
      for (int64_t c = 0; c < shape[2]; ++c)
        for (int64_t d = 0; d < shape[3]; ++d)
          visit(GraphDims{a, b, c, d});
}

double pointwise(Computed &in, const GraphOperation &of,
                 const GraphDims &index) {
  double a = in.at(of.a, index), b = of.b < 0 ? 0 : in.at(of.b, index);
  switch (of.mode) {
  case CUDNN_POINTWISE_ADD:
    return a + b;
  case CUDNN_POINTWISE_MUL:
    return a * b;
  case CUDNN_POINTWISE_DIV:
    return a / b;
  case CUDNN_POINTWISE_SUB:
    return a - b;
  case CUDNN_POINTWISE_EXP:
    return std::exp(a);
  case CUDNN_POINTWISE_LOG:
    return std::log(a);
  case CUDNN_POINTWISE_IDENTITY:
    return a;
  case CUDNN_POINTWISE_CMP_GT:
    return a > b;
  case CUDNN_POINTWISE_CMP_GE:
    return a >= b;
  case CUDNN_POINTWISE_GEN_INDEX:
    return double(index[of.axis]);
  case CUDNN_POINTWISE_BINARY_SELECT:
    return in.at(of.c, index) != 0 ? a : b;
  }
  ADD_FAILURE() << "mode " << of.mode;
  return 0;
}

void matMul(Computed &in, const GraphOperation &of) {
  const GraphDims &a = in.shapeOf(of.a), &b = in.shapeOf(of.b),
                  &to = in.shapeOf(of.result);
  ASSERT_EQ(a[3], b[2]);
  ASSERT_EQ(a[1] % b[1], 0);
  ASSERT_EQ(to, (GraphDims{a[0], a[1], a[2], b[3]}));
  forAll(to, [&](const GraphDims &index) {
    double sum = 0;
    for (int64_t k = 0; k < a[3]; ++k)
      sum += in.at(of.a, {index[0], index[1], index[2], k}) *
             in.at(of.b, {index[0], index[1] / (a[1] / b[1]), k, index[3]});
    in.put(of.result, index, sum);
  });
}

void reduce(Computed &in, const GraphOperation &of) {
  const GraphDims &from = in.shapeOf(of.a), &to = in.shapeOf(of.result);
  bool isMax = of.reduction == CUDNN_REDUCE_TENSOR_MAX;
  GraphDims parts;
  for (int dim = 0; dim < 4; ++dim)
    parts[dim] = from[dim] / to[dim];
  forAll(to, [&](const GraphDims &index) {
    double result = isMax ? -INFINITY : 0;
    forAll(parts, [&](const GraphDims &part) {
      GraphDims at;
      for (int dim = 0; dim < 4; ++dim)
        at[dim] = index[dim] * parts[dim] + part[dim];
      double each = in.at(of.a, at);
      result = isMax ? std::max(result, each) : result + each;
    });
    in.put(of.result, index, result);
  });
}

} // namespace

void compute(const TensorGraph &graph) {
  Computed in(graph);
  for (const GraphOperation &of : graph.operations)
    switch (of.kind) {
    case GraphOperation::MatMul:
      matMul(in, of);
      break;
    case GraphOperation::Pointwise:
      ASSERT_EQ(in.shapeOf(of.a), in.shapeOf(of.result));
      forAll(in.shapeOf(of.result), [&](const GraphDims &index) {
        in.put(of.result, index, pointwise(in, of, index));
      });
      break;
    case GraphOperation::Reduce:
      reduce(in, of);
      break;
    case GraphOperation::Reshape:
      // Views of the last two dims in each other's place are all there are.
      forAll(in.shapeOf(of.result), [&](const GraphDims &index) {
        in.put(of.result, index,
               in.at(of.a, {index[0], index[1], index[3], index[2]}));
      });
      break;
    }
}

} // namespace shardc::test
