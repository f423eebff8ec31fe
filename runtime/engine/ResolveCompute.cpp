// Launches, matrix products, embeddings, copies and index calls are resolved
// here.
#include "runtime/base/Text.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"

#include <algorithm>

namespace shardc::runtime {

entry::Launch resolve(const RankState &state, const plan::Launch &entry) {
  if (entry.kernel() >= static_cast<uint32_t>(state.plan.kernels_size()))
    fail("kernel ", entry.kernel(), " of ", state.plan.kernels_size());
  const plan::Kernel &kernel = state.plan.kernels(int(entry.kernel()));
  if (entry.inputs_size() + entry.outputs_size() !=
      kernel.argument_bytes_size())
    fail("kernel ", kernel.symbol(), " takes ", kernel.argument_bytes_size(),
         " arguments, got ", entry.inputs_size(), " inputs and ",
         entry.outputs_size(), " outputs");
  entry::Launch launch{entry.kernel(), {}, {}};
  int place = 0;
  auto add = [&](std::vector<Tensor> &to, const plan::Tensor &from,
                 const char *name) {
    Tensor tensor = state.resolve(from, name);
    auto given = kernel.strides().find(uint32_t(place));
    if (given == kernel.strides().end())
      requireContiguous(tensor, name);
    else if (const auto &strides = given->second.strides();
             !std::ranges::equal(tensor.strides, strides))
      fail("argument ", place, " of kernel ", kernel.symbol(),
           " has the strides ",
           shapeText({strides.data(), size_t(strides.size())}), ", got ",
           shapeText(tensor.strides));
    int64_t bytes = tensor.spanBytes();
    if (bytes != kernel.argument_bytes(place))
      fail("argument ", place, " of kernel ", kernel.symbol(), " has ",
           kernel.argument_bytes(place), " bytes, got ", bytes);
    ++place;
    to.push_back(tensor);
  };
  for (const plan::Tensor &input : entry.inputs())
    add(launch.inputs, input, "input");
  for (const plan::Tensor &output : entry.outputs())
    add(launch.outputs, output, "output");
  return launch;
}

static entry::Matrix matrix(const RankState &state, const plan::Tensor &from,
                            bool transpose, const char *name) {
  entry::Matrix m;
  m.tensor = state.resolve(from, name);
  const Tensor &t = m.tensor;
  requireFloat(t, name);
  if (t.rank() != 2 && t.rank() != 3)
    fail("expects ", name, " to have 2 or 3 dims, got ", t.describe());
  requireContiguousRows(t, name);
  int64_t first = t.rank() - 2;
  if (t.rank() == 3) {
    m.batch = t.shape[0];
    m.batchStride = t.strides[0];
  }
  m.rows = t.shape[first + (transpose ? 1 : 0)];
  m.columns = t.shape[first + (transpose ? 0 : 1)];
  m.stride = t.strides[first];
  int64_t length = t.shape[first + 1];
  if (t.shape[first] <= 1)
    m.stride = std::max<int64_t>(length, 1);
  if (m.stride < std::max<int64_t>(length, 1))
    fail("expects the rows of ", name, " ", t.describe(),
         " to be at least their length apart, got ", m.stride);
  return m;
}

entry::Gemm resolve(const RankState &state, const plan::Gemm &entry) {
  entry::Gemm gemm;
  gemm.transposeA = entry.transpose_a();
  gemm.transposeB = entry.transpose_b();
  gemm.accumulate = entry.accumulate();
  gemm.a = matrix(state, entry.a(), gemm.transposeA, "a");
  gemm.b = matrix(state, entry.b(), gemm.transposeB, "b");
  gemm.c = matrix(state, entry.c(), false, "c");
  const entry::Matrix &a = gemm.a, &b = gemm.b, &c = gemm.c;
  plan::DType dtype = a.tensor.dtype;
  requireDtype(b.tensor, dtype, "b");
  requireDtypeOrWider(c.tensor, dtype, "c");
  if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows ||
      a.batch != c.batch || b.batch != c.batch)
    fail("expects a product of ", a.tensor.describe(), " and ",
         b.tensor.describe(), " (transposed: ", entry.transpose_a(), ", ",
         entry.transpose_b(), "), got ", c.tensor.describe());
  gemm.bias = SHARDC_RESOLVE_FIELD(state, entry, bias);
  if (gemm.bias) {
    requireDtype(gemm.bias, dtype, "bias");
    requireShape(gemm.bias, {c.columns}, "bias");
    requireContiguous(gemm.bias, "bias");
    if (entry.accumulate())
      fail("expects a bias or accumulate, got both");
  }
  if (entry.has_residual()) {
    gemm.residual = matrix(state, entry.residual(), false, "residual");
    requireDtype(gemm.residual.tensor, c.tensor.dtype, "residual");
    requireShape(gemm.residual.tensor, c.tensor.shape, "residual");
    if (entry.accumulate())
      fail("expects a residual or accumulate, got both");
  }
  gemm.biasGradient = SHARDC_RESOLVE_FIELD(state, entry, bias_gradient);
  gemm.gradientOfA = entry.gradient_of_a();
  if (gemm.biasGradient) {
    requireDtype(gemm.biasGradient, c.tensor.dtype, "bias_gradient");
    requireShape(gemm.biasGradient, {gemm.gradientOfA ? c.rows : c.columns},
                 "bias_gradient");
    requireContiguous(gemm.biasGradient, "bias_gradient");
    if (c.tensor.rank() != 2 || gemm.bias)
      fail("expects a bias gradient of a product without batch and bias, got ",
           c.tensor.describe(), gemm.bias ? " and a bias" : "");
  }
  gemm.workspace = SHARDC_RESOLVE_FIELD(state, entry, workspace);
  return gemm;
}

/// The shapes must be [rows, width] of the table, [...] of the ids and
/// [..., width] of the values.
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

entry::Embedding resolve(const RankState &state, const plan::Embedding &entry) {
  entry::Embedding result{state.resolve(entry.table(), "table"),
                          state.resolve(entry.ids(), "ids"),
                          state.resolve(entry.output(), "output")};
  checkEmbedding(result.table, result.ids, result.output, "table", "output");
  requireDtype(result.output, result.table.dtype, "output");
  return result;
}

entry::EmbeddingGrad resolve(const RankState &state,
                             const plan::EmbeddingGrad &entry) {
  entry::EmbeddingGrad result{
      state.resolve(entry.gradient(), "gradient"),
      state.resolve(entry.ids(), "ids"),
      state.resolve(entry.table_gradient(), "table_gradient"),
      entry.has_base()};
  if (result.accumulate) {
    Tensor base = state.resolve(entry.base(), "base");
    if (base.data != result.tableGradient.data ||
        base.dtype != result.tableGradient.dtype ||
        base.shape != result.tableGradient.shape ||
        base.strides != result.tableGradient.strides)
      fail("expects base and table_gradient to be one view, got ",
           base.describe(), " and ", result.tableGradient.describe());
  }
  checkEmbedding(result.tableGradient, result.ids, result.gradient,
                 "table_gradient", "gradient");
  requireFloat(result.gradient, "gradient");
  requireDtypeOrWider(result.tableGradient, result.gradient.dtype,
                      "table_gradient");
  return result;
}

entry::TopK resolve(const RankState &state, const plan::TopK &entry) {
  entry::TopK result{state.resolve(entry.input(), "input"),
                     state.resolve(entry.values(), "values"),
                     state.resolve(entry.indices(), "indices"),
                     entry.smallest()};
  const Tensor &input = result.input, &values = result.values;
  requireContiguous(input, "input");
  requireContiguous(values, "values");
  requireContiguous(result.indices, "indices");
  if (input.dtype == plan::BOOL)
    fail("expects input to be of numbers, got ", input.describe());
  if (input.rank() == 0 || values.rank() != input.rank() ||
      values.shape.back() > input.shape.back())
    fail("expects values to be a part of the rows of ", input.describe(),
         ", got ", values.describe());
  std::vector<int64_t> shape = input.shape;
  shape.back() = values.shape.back();
  requireShape(values, shape, "values");
  requireDtype(values, input.dtype, "values");
  requireShape(result.indices, shape, "indices");
  requireDtype(result.indices, plan::INT64, "indices");
  return result;
}

entry::Copy resolve(const RankState &state, const plan::Copy &entry) {
  entry::Copy copy{state.resolve(entry.source(), "source"),
                   state.resolve(entry.destination(), "destination")};
  requireShape(copy.destination, copy.source.shape, "destination");
  requireDtype(copy.destination, copy.source.dtype, "destination");
  return copy;
}

entry::Fill resolve(const RankState &state, const plan::Fill &entry) {
  return {state.resolve(entry.destination(), "destination"), entry.value()};
}

namespace {

int64_t number(const entry::IndexCall &entry, const char *name) {
  auto found = entry.numbers.find(name);
  return found == entry.numbers.end() ? 0 : found->second;
}

/// Returns the axis of a host call, which must be one of `tensor`.
int64_t axisOf(const entry::IndexCall &entry, const Tensor &tensor) {
  int64_t axis = number(entry, "axis");
  if (axis < 0 || axis >= tensor.rank())
    fail("expects an axis of ", tensor.describe(), ", got ", axis);
  return axis;
}

/// Returns the shape of `data` with the dim `axis` replaced by the dims of
/// `indices`.
std::vector<int64_t> gatheredShape(const Tensor &data, const Tensor &indices,
                                   int64_t axis) {
  std::vector<int64_t> shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return shape;
}

void checkGather(const entry::IndexCall &entry) {
  const Tensor &data = entry.inputs[0], &indices = entry.inputs[1],
               &result = entry.outputs[0];
  int64_t axis = axisOf(entry, data);
  requireInteger(indices, "indices");
  requireDtype(result, data.dtype, "result");
  requireShape(result, gatheredShape(data, indices, axis), "result");
}
void checkGatherGrad(const entry::IndexCall &entry) {
  const Tensor &gradient = entry.inputs[0], &indices = entry.inputs[1],
               &result = entry.outputs[0];
  int64_t axis = axisOf(entry, result);
  requireFloat(gradient, "gradient");
  requireInteger(indices, "indices");
  requireDtypeOrWider(result, gradient.dtype, "result");
  requireShape(gradient, gatheredShape(result, indices, axis), "gradient");
}
void checkGatherNd(const entry::IndexCall &entry) {
  const Tensor &data = entry.inputs[0], &indices = entry.inputs[1],
               &result = entry.outputs[0];
  int64_t batchDims = number(entry, "batch_dims");
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
}
void checkCumsum(const entry::IndexCall &entry) {
  const Tensor &data = entry.inputs[0], &result = entry.outputs[0];
  axisOf(entry, data);
  requireShape(result, data.shape, "result");
  requireDtype(result, data.dtype, "result");
}

/// A host function has one output.
struct HostFunction {
  const char *name;
  int inputs;
  void (*check)(const entry::IndexCall &);
};
constexpr HostFunction hostFunctions[] = {{"cumsum", 1, checkCumsum},
                                          {"gather", 2, checkGather},
                                          {"gather_grad", 2, checkGatherGrad},
                                          {"gather_nd", 2, checkGatherNd}};

} // namespace

entry::IndexCall resolve(const RankState &state, const plan::IndexCall &entry) {
  for (const HostFunction &function : hostFunctions) {
    if (entry.function() != function.name)
      continue;
    if (entry.inputs_size() != function.inputs || entry.outputs_size() != 1)
      fail("expects ", function.inputs, " inputs and 1 output of ",
           function.name, ", got ", entry.inputs_size(), " and ",
           entry.outputs_size());
    entry::IndexCall call{entry.function(), {}, {}, {}};
    call.numbers = {entry.numbers().begin(), entry.numbers().end()};
    for (const plan::Tensor &input : entry.inputs()) {
      call.inputs.push_back(state.resolve(input, "input"));
      requireContiguous(call.inputs.back(), "input");
    }
    call.outputs.push_back(state.resolve(entry.outputs(0), "output"));
    requireContiguous(call.outputs.back(), "output");
    function.check(call);
    return call;
  }
  fail("this runtime has no host function ", entry.function());
}

} // namespace shardc::runtime
