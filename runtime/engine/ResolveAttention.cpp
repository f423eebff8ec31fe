// The operands of attention are resolved and checked here.
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {
namespace {

/// Products read heads [B, S, H, D] with a contiguous last dim and positions at
/// least a row apart: neither repeated by a broadcast nor reversed.
void requireHeads(const Tensor &tensor, const std::vector<int64_t> &shape,
                  plan::DType dtype, const char *name) {
  requireDtype(tensor, dtype, name);
  requireShape(tensor, shape, name);
  requireContiguousRows(tensor, name);
  if (tensor.shape[1] > 1 && tensor.strides[1] < tensor.shape[3])
    fail("expects the positions of ", name, " ", tensor.describe(),
         " to be at least ", tensor.shape[3], " elements apart, got ",
         tensor.strides[1]);
}

template <typename Entry>
entry::AttentionOperands resolveOperands(const RankState &state,
                                         const Entry &entry) {
  entry::AttentionOperands a;
  a.query = state.resolve(entry.query(), "query");
  a.key = state.resolve(entry.key(), "key");
  a.value = state.resolve(entry.value(), "value");
  a.bias = SHARDC_RESOLVE_FIELD(state, entry, bias);
  a.keyMask = SHARDC_RESOLVE_FIELD(state, entry, key_mask);
  a.sinks = SHARDC_RESOLVE_FIELD(state, entry, sinks);
  a.words = SHARDC_RESOLVE_FIELD(state, entry, words);
  a.scale = entry.scale();
  a.softcap = entry.softcap();
  a.left = entry.left();
  a.right = entry.causal() ? 0 : entry.right();
  requireFloat(a.query, "query");
  requireRank(a.query, 4, "query");
  requireRank(a.key, 4, "key");
  requireRank(a.value, 4, "value");
  const std::vector<int64_t> &q = a.query.shape, &k = a.key.shape;
  plan::DType dtype = a.query.dtype;
  requireHeads(a.query, q, dtype, "query");
  requireHeads(a.key, {q[0], k[1], k[2], q[3]}, dtype, "key");
  requireHeads(a.value, {q[0], k[1], k[2], a.value.shape[3]}, dtype, "value");
  if (k[2] == 0 || q[2] % k[2] != 0)
    fail("expects the heads of query ", a.query.describe(),
         " to be a multiple of those of key ", a.key.describe());
  if (a.bias) {
    requireDtypeOrWider(a.bias, dtype, "bias");
    requireRank(a.bias, 4, "bias");
    const int64_t full[4] = {q[0], q[2], q[1], k[1]};
    for (int dim = 0; dim < 4; ++dim)
      if (a.bias.shape[dim] != 1 && a.bias.shape[dim] != full[dim])
        fail("expects dim ", dim, " of bias to be 1 or ", full[dim], ", got ",
             a.bias.describe());
  }
  if (a.left < -1 || a.right < -1)
    fail("expects left and right to be -1 or more, got ", a.left, " and ",
         a.right);
  if (!(a.softcap >= 0 && std::isfinite(a.softcap)))
    fail("expects softcap to be 0, which is none, or a positive number, got ",
         a.softcap);
  if (a.sinks) {
    requireDtypeOrWider(a.sinks, dtype, "sinks");
    requireShape(a.sinks, {q[2]}, "sinks");
    requireContiguous(a.sinks, "sinks");
  }
  if (a.words) {
    const int64_t rows = q[0] * q[2] * q[1], keys = std::max<int64_t>(k[1], 1);
    const int64_t stride = entry.sample_stride();
    requireDtype(a.words, plan::INT32, "words");
    requireShape(a.words, {8}, "words");
    requireContiguous(a.words, "words");
    a.samples = entry.samples();
    a.rowStride = stride / keys;
    auto areRows = [&] {
      return stride % keys == 0 && a.rowStride <= rows && a.samples <= rows &&
             rows % (a.samples * a.rowStride) == 0;
    };
    if (a.samples < 0 || stride < 0 || (a.samples == 0) != (stride == 0) ||
        (a.samples > 0 && !areRows()))
      fail("expects samples that divide ", rows, " rows of ", k[1],
           " scores, got ", a.samples, " of stride ", stride);
  }
  if (a.keyMask) {
    requireDtype(a.keyMask, plan::BOOL, "key_mask");
    requireShape(a.keyMask, {q[0], k[1]}, "key_mask");
    requireContiguousRows(a.keyMask, "key_mask");
  }
  return a;
}

} // namespace

entry::Attention resolve(const RankState &state, const plan::Attention &entry) {
  entry::Attention result;
  result.operands = resolveOperands(state, entry);
  const entry::AttentionOperands &a = result.operands;
  const std::vector<int64_t> &q = a.query.shape;
  result.output = state.resolve(entry.output(), "output");
  requireHeads(result.output, {q[0], q[1], q[2], a.value.shape[3]},
               a.query.dtype, "output");
  result.logSumExp = SHARDC_RESOLVE_FIELD(state, entry, log_sum_exp);
  if (result.logSumExp) {
    requireDtype(result.logSumExp, computeDtype(a.query.dtype), "log_sum_exp");
    requireShape(result.logSumExp, {q[0], q[2], q[1]}, "log_sum_exp");
    requireContiguous(result.logSumExp, "log_sum_exp");
  }
  result.workspace = SHARDC_RESOLVE_FIELD(state, entry, workspace);
  return result;
}

entry::AttentionGrad resolve(const RankState &state,
                             const plan::AttentionGrad &entry) {
  entry::AttentionGrad g;
  g.operands = resolveOperands(state, entry);
  const entry::AttentionOperands &a = g.operands;
  const std::vector<int64_t> &q = a.query.shape;
  plan::DType dtype = a.query.dtype;
  g.gradient = state.resolve(entry.gradient(), "gradient");
  g.output = state.resolve(entry.output(), "output");
  g.logSumExp = state.resolve(entry.log_sum_exp(), "log_sum_exp");
  g.queryGradient = state.resolve(entry.query_gradient(), "query_gradient");
  g.keyGradient = state.resolve(entry.key_gradient(), "key_gradient");
  g.valueGradient = state.resolve(entry.value_gradient(), "value_gradient");
  std::vector<int64_t> outputShape = {q[0], q[1], q[2], a.value.shape[3]};
  requireHeads(g.gradient, outputShape, dtype, "gradient");
  requireHeads(g.output, outputShape, dtype, "output");
  requireHeads(g.queryGradient, q, dtype, "query_gradient");
  requireHeads(g.keyGradient, a.key.shape, dtype, "key_gradient");
  requireHeads(g.valueGradient, a.value.shape, dtype, "value_gradient");
  requireDtype(g.logSumExp, computeDtype(dtype), "log_sum_exp");
  requireShape(g.logSumExp, {q[0], q[2], q[1]}, "log_sum_exp");
  requireContiguous(g.logSumExp, "log_sum_exp");
  g.workspace = SHARDC_RESOLVE_FIELD(state, entry, workspace);
  return g;
}

} // namespace shardc::runtime
