// Cross entropy entries: shapes and workspaces checked.
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Bind.h"
#include "runtime/cpu/CrossEntropy.h"

namespace shardc::runtime::cpu {

/// Labels for logits (or inputs of a linear layer) [..., n].
template <typename Entry>
static Labels bindLabels(RankState &state, const Entry &entry,
                         const Tensor &rows, const char *rowsName) {
  Labels labels{state.resolve(entry.labels(), "labels"), entry.ignore_index(),
                entry.shift()};
  requireInteger(labels.labels, "labels");
  requireFloat(rows, rowsName);
  requireFoldable(rows, rowsName);
  requireShape(labels.labels, {rows.shape.begin(), rows.shape.end() - 1},
               "labels");
  if (labels.shift < 0)
    fail("expects a shift of at least 0, got ", labels.shift);
  return labels;
}

Task bind(RankState &state, const plan::CrossEntropy &entry) {
  Tensor logits = state.resolve(entry.logits(), "logits");
  Labels labels = bindLabels(state, entry, logits, "logits");
  Tensor scale = state.resolve(entry.scale(), "scale");
  plan::DType computed = computeDtype(logits.dtype);
  requireDtype(scale, computed, "scale");
  requireScalar(scale, "scale");
  Tensor loss = SHARDC_BIND_FIELD(state, entry, loss);
  Tensor logitsGradient = SHARDC_BIND_FIELD(state, entry, logits_gradient);
  if (!loss && !logitsGradient)
    fail("expects a loss or a logits_gradient, got neither");
  Task forward, backward;
  if (loss) {
    requireDtype(loss, computed, "loss");
    requireScalar(loss, "loss");
    Tensor workspace = SHARDC_BIND_FIELD(state, entry, workspace);
    requireBytes(workspace, foldRows(logits, 1)->rows * sizeof(double),
                 "workspace");
    forward = [=, &state] {
      crossEntropy(logits, labels, scale, loss, workspace.data, state.pool);
    };
  }
  if (logitsGradient) {
    Tensor gradient = SHARDC_BIND_FIELD(state, entry, gradient);
    if (gradient) {
      requireDtype(gradient, computed, "gradient");
      requireScalar(gradient, "gradient");
    }
    requireDtype(logitsGradient, logits.dtype, "logits_gradient");
    requireShape(logitsGradient, logits.shape, "logits_gradient");
    requireFoldable(logitsGradient, "logits_gradient");
    backward = [=, &state] {
      crossEntropyGrad(logits, labels, scale, gradient, logitsGradient,
                       state.pool);
    };
  }
  if (!forward || !backward)
    return forward ? forward : backward;
  return [=] {
    forward();
    backward();
  };
}

Task bind(RankState &state, const plan::LinearCrossEntropy &entry) {
  LinearCrossEntropy a;
  a.input = state.resolve(entry.input(), "input");
  a.labels = bindLabels(state, entry, a.input, "input");
  a.weight = state.resolve(entry.weight(), "weight");
  a.transposeWeight = entry.transpose_weight();
  a.bias = SHARDC_BIND_FIELD(state, entry, bias);
  a.scale = state.resolve(entry.scale(), "scale");
  a.loss = state.resolve(entry.loss(), "loss");
  a.inputGradient = SHARDC_BIND_FIELD(state, entry, input_gradient);
  a.weightGradient = SHARDC_BIND_FIELD(state, entry, weight_gradient);
  a.biasGradient = SHARDC_BIND_FIELD(state, entry, bias_gradient);
  a.chunkRows = entry.chunk_rows();
  plan::DType dtype = a.input.dtype;
  requireDtype(a.weight, dtype, "weight");
  requireRank(a.weight, 2, "weight");
  requireContiguousRows(a.weight, "weight");
  int64_t features = a.input.shape.back();
  int64_t classes = a.weight.shape[a.transposeWeight ? 0 : 1];
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
  if (a.chunkRows <= 0)
    fail("expects chunk_rows above 0, got ", a.chunkRows);
  Tensor workspace = SHARDC_BIND_FIELD(state, entry, workspace);
  requireBytes(workspace, linearCrossEntropyWorkspace(a, state.pool.workers()),
               "workspace");
  prepareLinearCrossEntropy(a, workspace.data, state.pool);
  return [=, &state] { linearCrossEntropy(a, workspace.data, state.pool); };
}

} // namespace shardc::runtime::cpu
