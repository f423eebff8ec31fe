// Cross entropy, as calls.
#include "runtime/cpu/bind/Bind.h"
#include "runtime/cpu/loss/CrossEntropy.h"

namespace shardc::runtime::cpu {

static Labels labelsOf(const entry::Labels &labels) {
  return {labels.labels, labels.ignoreIndex, labels.shift, labels.smoothing,
          labels.classWeights};
}

Task bind(CpuDevice &device, const entry::CrossEntropy &entry) {
  Labels labels = labelsOf(entry.labels);
  requireBytes(entry.workspace,
               foldRows(entry.logits, 1)->rows * int64_t(sizeof(double)),
               "workspace");
  return [=, &device] {
    crossEntropy(entry.logits, labels, entry.scale, entry.loss, entry.correct,
                 entry.workspace.data, device.pool);
  };
}

Task bind(CpuDevice &device, const entry::CrossEntropyGrad &entry) {
  Labels labels = labelsOf(entry.labels);
  return [=, &device] {
    crossEntropyGrad(entry.logits, labels, entry.scale, entry.gradient,
                     entry.logitsGradient, device.pool);
  };
}

Task bind(CpuDevice &device, const entry::LinearCrossEntropy &entry) {
  LinearCrossEntropy a;
  a.input = entry.input;
  a.weight = entry.weight;
  a.bias = entry.bias;
  a.labels = labelsOf(entry.labels);
  a.scale = entry.scale;
  a.transposeWeight = entry.transposeWeight;
  a.loss = entry.loss;
  a.correct = entry.correct;
  a.inputGradient = entry.inputGradient;
  a.weightGradient = entry.weightGradient;
  a.biasGradient = entry.biasGradient;
  a.chunkRows = entry.chunkRows;
  a.softcap = entry.softcap;
  std::byte *workspace = entry.workspace.data;
  requireBytes(entry.workspace,
               linearCrossEntropyWorkspace(a, device.pool.workers()),
               "workspace");
  prepareLinearCrossEntropy(a, workspace, device.pool);
  return [=, &device] { linearCrossEntropy(a, workspace, device.pool); };
}

} // namespace shardc::runtime::cpu
