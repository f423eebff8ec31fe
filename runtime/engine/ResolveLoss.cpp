// Cross entropies, alone or with a linear layer, are resolved here.
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"

#include <cmath>

namespace shardc::runtime {

/// The labels must fit logits, or inputs of a linear layer, of [..., n], and the
/// weights the classes.
template <typename Entry>
static entry::Labels resolveLabels(const RankState &state, const Entry &entry,
                                   const Tensor &rows, const char *rowsName,
                                   int64_t classes) {
  entry::Labels labels{state.resolve(entry.labels(), "labels"),
                       entry.ignore_index(), entry.shift(), entry.smoothing(),
                       SHARDC_RESOLVE_FIELD(state, entry, class_weights)};
  requireInteger(labels.labels, "labels");
  requireFloat(rows, rowsName);
  requireFoldable(rows, rowsName);
  requireShape(labels.labels, {rows.shape.begin(), rows.shape.end() - 1},
               "labels");
  if (labels.shift < 0)
    fail("expects a shift of at least 0, got ", labels.shift);
  if (!(labels.smoothing >= 0 && labels.smoothing <= 1))
    fail("expects a smoothing from 0 to 1, got ", labels.smoothing);
  if (const Tensor &weights = labels.classWeights) {
    requireDtype(weights, computeDtype(rows.dtype), "class_weights");
    requireShape(weights, {classes}, "class_weights");
    requireContiguous(weights, "class_weights");
  }
  return labels;
}

/// Resolves what a cross entropy and its gradient read alike. Returns the type
/// of scale, loss and the loss's gradient.
template <typename Entry, typename Resolved>
static plan::DType resolveScores(const RankState &state, const Entry &entry,
                                 Resolved &result) {
  result.logits = state.resolve(entry.logits(), "logits");
  result.labels = resolveLabels(
      state, entry, result.logits, "logits",
      result.logits.shape.empty() ? 0 : result.logits.shape.back());
  result.scale = state.resolve(entry.scale(), "scale");
  plan::DType computed = computeDtype(result.logits.dtype);
  requireDtype(result.scale, computed, "scale");
  requireScalar(result.scale, "scale");
  return computed;
}

/// The count of rows that are right; none where nobody asks for it.
static Tensor resolveCorrect(const Tensor &correct) {
  if (correct) {
    requireDtype(correct, plan::FLOAT64, "correct");
    requireScalar(correct, "correct");
  }
  return correct;
}

entry::CrossEntropy resolve(const RankState &state,
                            const plan::CrossEntropy &entry) {
  entry::CrossEntropy result;
  plan::DType computed = resolveScores(state, entry, result);
  result.loss = state.resolve(entry.loss(), "loss");
  requireDtype(result.loss, computed, "loss");
  requireScalar(result.loss, "loss");
  result.correct = resolveCorrect(SHARDC_RESOLVE_FIELD(state, entry, correct));
  result.workspace = SHARDC_RESOLVE_FIELD(state, entry, workspace);
  return result;
}

entry::CrossEntropyGrad resolve(const RankState &state,
                                const plan::CrossEntropyGrad &entry) {
  entry::CrossEntropyGrad result;
  plan::DType computed = resolveScores(state, entry, result);
  result.gradient = state.resolve(entry.gradient(), "gradient");
  requireDtype(result.gradient, computed, "gradient");
  requireScalar(result.gradient, "gradient");
  result.logitsGradient =
      state.resolve(entry.logits_gradient(), "logits_gradient");
  requireDtype(result.logitsGradient, result.logits.dtype, "logits_gradient");
  requireShape(result.logitsGradient, result.logits.shape, "logits_gradient");
  requireFoldable(result.logitsGradient, "logits_gradient");
  return result;
}

entry::LinearCrossEntropy resolve(const RankState &state,
                                  const plan::LinearCrossEntropy &entry) {
  entry::LinearCrossEntropy a;
  a.input = state.resolve(entry.input(), "input");
  a.weight = state.resolve(entry.weight(), "weight");
  a.transposeWeight = entry.transpose_weight();
  requireRank(a.weight, 2, "weight");
  int64_t classes = a.weight.shape[a.transposeWeight ? 0 : 1];
  a.labels = resolveLabels(state, entry, a.input, "input", classes);
  a.bias = SHARDC_RESOLVE_FIELD(state, entry, bias);
  a.scale = state.resolve(entry.scale(), "scale");
  a.loss = state.resolve(entry.loss(), "loss");
  a.inputGradient = SHARDC_RESOLVE_FIELD(state, entry, input_gradient);
  a.weightGradient = SHARDC_RESOLVE_FIELD(state, entry, weight_gradient);
  a.biasGradient = SHARDC_RESOLVE_FIELD(state, entry, bias_gradient);
  a.correct = resolveCorrect(SHARDC_RESOLVE_FIELD(state, entry, correct));
  a.chunkRows = entry.chunk_rows();
  plan::DType dtype = a.input.dtype;
  requireDtype(a.weight, dtype, "weight");
  requireContiguousRows(a.weight, "weight");
  int64_t features = a.input.shape.back();
  std::vector<int64_t> weightShape =
      a.transposeWeight ? std::vector<int64_t>{classes, features}
                        : std::vector<int64_t>{features, classes};
  requireShape(a.weight, weightShape, "weight");
  auto requireVector = [&](const Tensor &tensor, const char *name) {
    if (!tensor)
      return;
    requireDtypeOrWider(tensor, dtype, name);
    requireShape(tensor, {classes}, name);
    requireContiguous(tensor, name);
  };
  requireVector(a.bias, "bias");
  requireVector(a.biasGradient, "bias_gradient");
  requireDtype(a.scale, computeDtype(dtype), "scale");
  requireScalar(a.scale, "scale");
  requireDtype(a.loss, computeDtype(dtype), "loss");
  requireScalar(a.loss, "loss");
  if (a.inputGradient) {
    requireDtype(a.inputGradient, dtype, "input_gradient");
    requireShape(a.inputGradient, a.input.shape, "input_gradient");
    requireFoldable(a.inputGradient, "input_gradient");
  }
  if (a.weightGradient) {
    requireDtypeOrWider(a.weightGradient, dtype, "weight_gradient");
    requireShape(a.weightGradient, weightShape, "weight_gradient");
    requireContiguousRows(a.weightGradient, "weight_gradient");
  }
  a.softcap = entry.softcap();
  if (!(a.softcap >= 0 && std::isfinite(a.softcap)))
    fail("expects softcap to be 0, which is none, or a positive number, got ",
         a.softcap);
  if (a.chunkRows <= 0)
    fail("expects chunk_rows above 0, got ", a.chunkRows);
  a.workspace = SHARDC_RESOLVE_FIELD(state, entry, workspace);
  return a;
}

} // namespace shardc::runtime
