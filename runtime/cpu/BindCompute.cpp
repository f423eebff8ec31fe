// Launches, matrix products, embeddings, copies and host calls: from plan
// entries to calls.
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Bind.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Indexing.h"
#include "runtime/cpu/NarrowGemm.h"

#include <algorithm>
#include <limits>

namespace shardc::runtime::cpu {

Task bind(RankState &state, const plan::Launch &entry) {
  if (entry.kernel() >= state.library.size())
    fail("kernel ", entry.kernel(), " of ", state.library.size());
  KernelFunction function = state.library.function(entry.kernel());
  int64_t extent = state.plan.kernels(entry.kernel()).extent();
  std::vector<void *> arguments;
  int64_t bytes = 0;
  for (const plan::Tensor &argument : entry.arguments()) {
    Tensor tensor = state.resolve(argument, "argument");
    requireContiguous(tensor, "argument");
    arguments.push_back(tensor.data);
    bytes += tensor.elements() * int64_t(elementSize(tensor.dtype));
  }
  // Pieces that touch less than this are done before another thread has woken
  // up.
  constexpr int64_t bytesWorthAThread = 32 << 10;
  int64_t bytesOfPiece =
      std::max<int64_t>(1, bytes / std::max<int64_t>(1, extent));
  int64_t grain = std::max<int64_t>(1, bytesWorthAThread / bytesOfPiece);
  return [&state, function, extent, grain, arguments] {
    state.pool.forRanges(extent, grain, [&](int64_t begin, int64_t end, int) {
      function(arguments.data(), begin, end);
    });
  };
}

namespace {

/// A 2-d or batched operand of a product.
struct Operand {
  Tensor tensor;
  int64_t batch, batchStride, rows, columns, stride;
};

Operand operand(RankState &state, const plan::Tensor &from, bool transpose,
                const char *name) {
  Operand o{state.resolve(from, name), 1, 0, 0, 0, 0};
  const Tensor &t = o.tensor;
  requireFloat(t, name);
  if (t.rank() != 2 && t.rank() != 3)
    fail("expects ", name, " to have 2 or 3 dims, got ", t.describe());
  requireContiguousRows(t, name);
  int64_t first = t.rank() - 2;
  if (t.rank() == 3) {
    o.batch = t.shape[0];
    o.batchStride = t.strides[0];
  }
  o.rows = t.shape[first + (transpose ? 1 : 0)];
  o.columns = t.shape[first + (transpose ? 0 : 1)];
  o.stride = t.strides[first];
  int64_t length = t.shape[first + 1];
  if (t.shape[first] <= 1)
    o.stride = std::max<int64_t>(length, 1);
  if (o.stride < std::max<int64_t>(length, 1))
    fail("expects the rows of ", name, " ", t.describe(),
         " to be at least their length apart, got ", o.stride);
  if (std::max({t.shape[first], length, o.stride}) >
      std::numeric_limits<int32_t>::max())
    fail(name, " ", t.describe(), " is too large for the GEMM library");
  return o;
}

template <typename T>
Task bindGemm(RankState &state, const plan::Gemm &entry, const Operand &a,
              const Operand &b, const Operand &c, const Tensor &bias) {
  Gemm<T> product{};
  product.m = c.rows, product.n = c.columns, product.k = a.columns;
  product.a = a.tensor.as<T>(), product.strideA = a.stride;
  product.transposeA = entry.transpose_a();
  product.b = b.tensor.as<T>(), product.strideB = b.stride;
  product.transposeB = entry.transpose_b();
  product.c = c.tensor.as<T>(), product.strideC = c.stride;
  product.accumulate = entry.accumulate();
  product.bias = bias ? bias.as<T>() : nullptr;
  Batch batch{c.batch, a.batchStride, b.batchStride, c.batchStride};
  prepareGemm(product, batch, state.pool);
  if (batch.count == 1)
    return [&state, product] { gemm(product, state.pool); };
  return [&state, product, batch] { gemm(product, batch, state.pool); };
}

Task bindNarrowGemm(RankState &state, const plan::Gemm &entry, const Operand &a,
                    const Operand &b, const Operand &c, const Tensor &bias) {
  auto matrix = [](const Operand &from, bool transpose) {
    return NarrowGemm::Matrix{from.tensor.data, from.tensor.dtype, from.stride,
                              transpose};
  };
  NarrowGemm product{};
  product.m = c.rows, product.n = c.columns, product.k = a.columns;
  product.a = matrix(a, entry.transpose_a());
  product.b = matrix(b, entry.transpose_b());
  product.c = matrix(c, false);
  product.accumulate = entry.accumulate();
  product.bias = bias.data, product.biasDtype = bias.dtype;
  Batch batch{c.batch, a.batchStride, b.batchStride, c.batchStride};
  Tensor workspace = SHARDC_BIND_FIELD(state, entry, workspace);
  int workers = workersFor(
      state, workspace, narrowGemmWorkspace(product.m, product.n, product.k));
  prepareNarrowGemm(product, batch, workers, state.pool);
  return [&state, product, batch, workspace, workers] {
    narrowGemm(product, batch, workspace.data, workers, state.pool);
  };
}

} // namespace

Task bind(RankState &state, const plan::Gemm &entry) {
  Operand a = operand(state, entry.a(), entry.transpose_a(), "a");
  Operand b = operand(state, entry.b(), entry.transpose_b(), "b");
  Operand c = operand(state, entry.c(), false, "c");
  plan::DType dtype = a.tensor.dtype;
  requireDtype(b.tensor, dtype, "b");
  requireDtypeOrWider(c.tensor, dtype, "c");
  if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows ||
      a.batch != c.batch || b.batch != c.batch)
    fail("expects a product of ", a.tensor.describe(), " and ",
         b.tensor.describe(), " (transposed: ", entry.transpose_a(), ", ",
         entry.transpose_b(), "), got ", c.tensor.describe());
  Tensor bias = SHARDC_BIND_FIELD(state, entry, bias);
  if (bias) {
    requireDtype(bias, dtype, "bias");
    requireShape(bias, {c.columns}, "bias");
    requireContiguous(bias, "bias");
    if (entry.accumulate())
      fail("expects a bias or accumulate, got both");
  }
  if (isNarrow(dtype))
    return bindNarrowGemm(state, entry, a, b, c, bias);
  return dtype == plan::FLOAT32 ? bindGemm<float>(state, entry, a, b, c, bias)
                                : bindGemm<double>(state, entry, a, b, c, bias);
}

/// table [rows, width], ids [...], values [..., width].
static void checkEmbedding(const Tensor &table, const Tensor &ids,
                           const Tensor &values, const char *tableName,
                           const char *valuesName) {
  requireRank(table, 2, tableName);
  requireContiguousRows(table, tableName);
  requireInteger(ids, "ids");
  std::vector<int64_t> shape = ids.shape;
  shape.push_back(table.shape[1]);
  requireShape(values, shape, valuesName);
  requireFoldable(values, valuesName);
}

Task bind(RankState &state, const plan::Embedding &entry) {
  Tensor table = state.resolve(entry.table(), "table");
  Tensor ids = state.resolve(entry.ids(), "ids");
  Tensor output = state.resolve(entry.output(), "output");
  checkEmbedding(table, ids, output, "table", "output");
  requireDtype(output, table.dtype, "output");
  return [=, &state] { embedding(table, ids, output, state.pool); };
}

Task bind(RankState &state, const plan::EmbeddingGrad &entry) {
  Tensor gradient = state.resolve(entry.gradient(), "gradient");
  Tensor ids = state.resolve(entry.ids(), "ids");
  Tensor table = state.resolve(entry.table_gradient(), "table_gradient");
  checkEmbedding(table, ids, gradient, "table_gradient", "gradient");
  requireFloat(gradient, "gradient");
  requireDtypeOrWider(table, gradient.dtype, "table_gradient");
  bool accumulate = entry.accumulate();
  return [=, &state] {
    embeddingGrad(gradient, ids, table, state.pool, accumulate);
  };
}

Task bind(RankState &state, const plan::Copy &entry) {
  Tensor source = state.resolve(entry.source(), "source");
  Tensor destination = state.resolve(entry.destination(), "destination");
  requireShape(destination, source.shape, "destination");
  requireDtype(destination, source.dtype, "destination");
  return [=, &state] { copy(source, destination, state.pool); };
}

Task bind(RankState &state, const plan::Fill &entry) {
  Tensor destination = state.resolve(entry.destination(), "destination");
  double value = entry.value();
  return [=, &state] { fill(destination, value, state.pool); };
}

namespace {

int64_t attribute(const plan::HostCall &entry, const char *name) {
  auto found = entry.attributes().find(name);
  return found == entry.attributes().end() ? 0 : found->second;
}

/// The axis of a host call, which must be one of `tensor`.
int64_t axisOf(const plan::HostCall &entry, const Tensor &tensor) {
  int64_t axis = attribute(entry, "axis");
  if (axis < 0 || axis >= tensor.rank())
    fail("expects an axis of ", tensor.describe(), ", got ", axis);
  return axis;
}

/// The shape of `data` with the dim `axis` replaced by the dims of `indices`.
std::vector<int64_t> gatheredShape(const Tensor &data, const Tensor &indices,
                                   int64_t axis) {
  std::vector<int64_t> shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return shape;
}

Task bindGather(const plan::HostCall &entry, const std::vector<Tensor> &of) {
  int64_t axis = axisOf(entry, of[0]);
  requireInteger(of[1], "indices");
  requireDtype(of[2], of[0].dtype, "result");
  requireShape(of[2], gatheredShape(of[0], of[1], axis), "result");
  return [=] { gather(of[0], of[1], of[2], axis); };
}
Task bindGatherGrad(const plan::HostCall &entry,
                    const std::vector<Tensor> &of) {
  int64_t axis = axisOf(entry, of[2]);
  requireFloat(of[0], "gradient");
  requireInteger(of[1], "indices");
  requireDtypeOrWider(of[2], of[0].dtype, "result");
  requireShape(of[0], gatheredShape(of[2], of[1], axis), "gradient");
  return [=] { gatherGrad(of[0], of[1], of[2], axis); };
}
Task bindGatherNd(const plan::HostCall &entry, const std::vector<Tensor> &of) {
  const Tensor &data = of[0], &indices = of[1], &result = of[2];
  int64_t batchDims = attribute(entry, "batch_dims");
  requireInteger(indices, "indices");
  requireDtype(result, data.dtype, "result");
  if (indices.rank() == 0 || batchDims < 0 || batchDims >= indices.rank() ||
      batchDims + indices.shape.back() > data.rank())
    fail("expects index tuples for ", data.describe(), " after ", batchDims,
         " batch dims, got ", indices.describe());
  if (!std::equal(data.shape.begin(), data.shape.begin() + batchDims,
                  indices.shape.begin()))
    fail("expects equal batch dims, got ", data.describe(), " and ",
         indices.describe());
  std::vector<int64_t> shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(),
               data.shape.begin() + batchDims + indices.shape.back(),
               data.shape.end());
  requireShape(result, shape, "result");
  return [=] { gatherNd(data, indices, result, batchDims); };
}
Task bindCumsum(const plan::HostCall &entry, const std::vector<Tensor> &of) {
  int64_t axis = axisOf(entry, of[0]);
  requireShape(of[1], of[0].shape, "result");
  requireDtype(of[1], of[0].dtype, "result");
  bool exclusive = attribute(entry, "exclusive");
  bool reverse = attribute(entry, "reverse");
  return [=] { cumsum(of[0], of[1], axis, exclusive, reverse); };
}

struct HostFunction {
  const char *name;
  int arguments;
  Task (*bind)(const plan::HostCall &, const std::vector<Tensor> &);
};
constexpr HostFunction hostFunctions[] = {{"cumsum", 2, bindCumsum},
                                          {"gather", 3, bindGather},
                                          {"gather_grad", 3, bindGatherGrad},
                                          {"gather_nd", 3, bindGatherNd}};

} // namespace

Task bind(RankState &state, const plan::HostCall &entry) {
  for (const HostFunction &function : hostFunctions) {
    if (entry.function() != function.name)
      continue;
    if (entry.arguments_size() != function.arguments)
      fail("expects ", function.arguments, " arguments of ", function.name,
           ", got ", entry.arguments_size());
    std::vector<Tensor> arguments;
    for (const plan::Tensor &argument : entry.arguments()) {
      arguments.push_back(state.resolve(argument, "argument"));
      requireContiguous(arguments.back(), "argument");
    }
    return function.bind(entry, arguments);
  }
  fail("this runtime has no host function ", entry.function());
}

} // namespace shardc::runtime::cpu
