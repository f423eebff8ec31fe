// The chains of operations are those of Dao et al., FlashAttention
// (arXiv:2205.14135, arXiv:2307.08691), in the order in which NVIDIA's
// cudnn-frontend writes them down: cuDNN looks for their pattern.
#include "runtime/cuda/attention/AttentionGraph.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/attention/CudnnShapes.h"
#include "runtime/cuda/bind/Bind.h"

#include <algorithm>
#include <initializer_list>

namespace shardc::runtime::cuda {
namespace {

cudnnDataType_t typeOf(const Tensor &tensor) {
  switch (tensor.dtype) {
  case plan::BFLOAT16:
    return CUDNN_DATA_BFLOAT16;
  case plan::FLOAT16:
    return CUDNN_DATA_HALF;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

bool rowsBeginAt16(const Tensor &tensor) {
  bool result = addressOf(tensor) % 16 == 0;
  for (int dim = 0; dim < 3; ++dim)
    result &= tensor.shape[dim] <= 1 || tensor.strides[dim] % 8 == 0;
  return result;
}

bool canSay(const entry::AttentionOperands &of,
            std::initializer_list<const Tensor *> heads, std::string &why) {
  if (of.query.dtype != plan::BFLOAT16 && of.query.dtype != plan::FLOAT16) {
    why = concat("cuDNN has engines for elements of 16 bits, and these are ",
                 dtypeName(of.query.dtype));
    return false;
  }
  if (of.softcap != 0 || of.sinks || of.words) {
    why = concat("cuDNN is not asked for ",
                 of.softcap != 0 ? "a softcap of scores"
                 : of.sinks      ? "sinks"
                                 : "dropped probabilities",
                 ": the own kernels compute it");
    return false;
  }
  if (of.right > 0 || (of.left >= 0 && of.right < 0)) {
    why = "cuDNN is asked for windows that are causal, and this one is not";
    return false;
  }
  if (of.right == 0 && of.query.shape[1] != of.key.shape[1]) {
    why = concat(
        "cuDNN's causal mask wants as many keys as queries, and there are ",
        of.key.shape[1], " and ", of.query.shape[1]);
    return false;
  }
  for (const Tensor *each : heads) {
    if (int64_t dim = each->shape[3]; !isCudnnDim(dim)) {
      why = concat(
          "cuDNN's head dims are multiples of 8 up to 256, and one is ", dim);
      return false;
    }
    if (!rowsBeginAt16(*each)) {
      why = concat(
          "cuDNN reads rows that begin at multiples of 16 bytes, and those of ",
          each->describe(), " do not");
      return false;
    }
    if (each->elements() == 0) {
      why = "there is nothing to compute";
      return false;
    }
  }
  return true;
}

/// [B, S, H, D] as [B, H, S, D].
GraphTensor heads(const Tensor &tensor) {
  const std::vector<int64_t> &shape = tensor.shape, &strides = tensor.strides;
  return {typeOf(tensor),
          {shape[0], shape[2], shape[1], shape[3]},
          {strides[0], strides[2], strides[1], 1},
          addressOf(tensor)};
}
/// [B, S, H, D] as [B, H, D, S].
GraphTensor transposedHeads(const Tensor &tensor) {
  GraphTensor result = heads(tensor);
  std::swap(result.shape[2], result.shape[3]);
  std::swap(result.strides[2], result.strides[3]);
  return result;
}

/// A number for each row of scores.
GraphTensor rows(const GraphDims &query, CUdeviceptr address) {
  GraphDims shape = {query[0], query[1], query[2], 1};
  return {CUDNN_DATA_FLOAT, shape, rowMajor(shape), address};
}

class Builder {
public:
  TensorGraph graph;

  explicit Builder(const entry::AttentionOperands &of)
      : query(add(heads(of.query))), key(add(transposedHeads(of.key))),
        scale(graph.number(float(of.scale))) {}

  int add(const GraphTensor &tensor) {
    graph.tensors.push_back(tensor);
    return int(graph.tensors.size()) - 1;
  }
  const GraphDims &shapeOf(int tensor) const {
    return graph.tensors[tensor].shape;
  }
  cudnnDataType_t type() const { return graph.tensors[query].type; }

  int scores(const Tensor &bias) {
    int result = graph.matMul(query, key);
    result = graph.pointwise(CUDNN_POINTWISE_MUL, result, scale);
    if (!bias)
      return result;
    GraphTensor added{CUDNN_DATA_FLOAT, {}, {}, addressOf(bias)};
    std::copy_n(bias.shape.begin(), 4, added.shape.begin());
    std::copy_n(bias.strides.begin(), 4, added.strides.begin());
    return graph.pointwise(CUDNN_POINTWISE_ADD, result, add(added));
  }
  int seen(int scores, const entry::AttentionOperands &of) {
    if (of.right == 0)
      scores = graph.causal(scores);
    return of.left >= 0 ? graph.window(scores, of.left) : scores;
  }
  /// Of elements of the query's type, which is what matrix units read.
  int rounded(GraphOperation operation, const GraphDims &shape) {
    operation.result = graph.between(type(), shape);
    graph.operations.push_back(operation);
    return operation.result;
  }
  /// The product of a transposed [B, H, Sq, Sk] and of [B, H, Sq, D], for heads
  /// of keys or values: where several queries' heads have one of these, their sum.
  void keyGradient(int scores, int rows, const Tensor &to) {
    int turned = graph.transposed(scores, type());
    int result = add(heads(to));
    GraphDims full = {shapeOf(scores)[0], shapeOf(scores)[1],
                      shapeOf(turned)[2], shapeOf(rows)[3]};
    if (full[1] == shapeOf(result)[1]) {
      graph.matMul(turned, rows, result);
      return;
    }
    int each = graph.matMul(turned, rows, graph.between(type(), full));
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, each, shapeOf(result), result);
  }

  int query, key, scale;
};

} // namespace

bool graphsCanSay(const entry::Attention &entry, std::string &why) {
  const entry::AttentionOperands &of = entry.operands;
  return canSay(of, {&of.query, &of.key, &of.value, &entry.output}, why);
}

bool graphsCanSay(const entry::AttentionGrad &entry, std::string &why) {
  const entry::AttentionOperands &of = entry.operands;
  return canSay(of,
                {&of.query, &of.key, &of.value, &entry.output, &entry.gradient,
                 &entry.queryGradient, &entry.keyGradient,
                 &entry.valueGradient},
                why);
}

TensorGraph attentionGraph(const entry::Attention &entry, const Tensor &bias) {
  const entry::AttentionOperands &of = entry.operands;
  Builder build(of);
  TensorGraph &graph = build.graph;
  int scores = build.scores(bias);
  scores = build.seen(scores, of);
  GraphDims full = build.shapeOf(scores), row = {full[0], full[1], full[2], 1};
  int maximum = graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, row);
  int shifted = graph.pointwise(CUDNN_POINTWISE_SUB, scores, maximum);
  int weights = graph.pointwise(CUDNN_POINTWISE_EXP, shifted);
  int sum = graph.reduce(CUDNN_REDUCE_TENSOR_ADD, weights, row);
  // Also where nobody reads it: cuDNN looks for it.
  int logarithm = graph.pointwise(CUDNN_POINTWISE_LOG, sum);
  graph.pointwise(CUDNN_POINTWISE_ADD, maximum, logarithm,
                  build.add(rows(row, addressOf(entry.logSumExp))));
  int probabilities = build.rounded({.kind = GraphOperation::Pointwise,
                                     .a = weights,
                                     .b = sum,
                                     .mode = CUDNN_POINTWISE_DIV},
                                    full);
  int value = build.add(heads(of.value));
  graph.matMul(probabilities, value, build.add(heads(entry.output)));
  return graph;
}

AttentionGradMemory attentionGradMemory(const entry::AttentionGrad &entry,
                                        QuerySums sums, CUdeviceptr address) {
  const std::vector<int64_t> &query = entry.operands.query.shape;
  int64_t rows = query[0] * query[1] * query[2];
  AttentionGradMemory memory;
  memory.address = address;
  memory.deltaBytes = (rows * 4 + 255) / 256 * 256;
  memory.bytes = memory.deltaBytes;
  if (sums != QuerySums::Scores)
    memory.bytes += (rows * query[3] * 4 + 255) / 256 * 256;
  return memory;
}

TensorGraph attentionGradGraph(const entry::AttentionGrad &entry,
                               const Tensor &bias, QuerySums sums,
                               const AttentionGradMemory &memory) {
  const entry::AttentionOperands &of = entry.operands;
  Builder build(of);
  TensorGraph &graph = build.graph;
  int value = build.add(transposedHeads(of.value));
  int gradient = build.add(heads(entry.gradient));
  int output = build.add(heads(entry.output));
  GraphDims query = build.shapeOf(build.query);

  // delta = the sum of gradient * output, in memory.
  int product = graph.pointwise(CUDNN_POINTWISE_MUL, gradient, output);
  int delta = graph.reduce(CUDNN_REDUCE_TENSOR_ADD, product,
                           {query[0], query[1], query[2], 1});
  delta = graph.pointwise(CUDNN_POINTWISE_MUL, delta, graph.number(1),
                          build.add(rows(query, memory.address)));

  // P = exp(scores - log_sum_exp); the values' gradient is P^T dO.
  int scores = build.scores(bias);
  int stats = build.add(rows(query, addressOf(entry.logSumExp)));
  scores = graph.pointwise(CUDNN_POINTWISE_SUB, scores, stats);
  scores = build.seen(scores, of);
  int probabilities = graph.pointwise(CUDNN_POINTWISE_EXP, scores);
  build.keyGradient(probabilities, gradient, entry.valueGradient);

  // dS = scale P (dO V^T - delta); the keys' gradient is dS^T Q.
  int change = graph.matMul(gradient, value);
  change = graph.pointwise(CUDNN_POINTWISE_SUB, change, delta);
  change = graph.pointwise(CUDNN_POINTWISE_MUL, change, probabilities);
  change = graph.pointwise(CUDNN_POINTWISE_MUL, change, build.scale);
  build.keyGradient(change, build.query, entry.keyGradient);

  // The queries' gradient is dS K.
  int key = graph.transposed(build.key, build.type());
  int result = build.add(heads(entry.queryGradient));
  if (sums == QuerySums::Scores) {
    graph.matMul(change, key, result);
    return graph;
  }
  GraphTensor summed{CUDNN_DATA_FLOAT, query, rowMajor(query),
                     memory.address + CUdeviceptr(memory.deltaBytes)};
  int sum = graph.matMul(change, key, build.add(summed));
  graph.pointwise(CUDNN_POINTWISE_IDENTITY, sum, -1, result);
  return graph;
}

} // namespace shardc::runtime::cuda
