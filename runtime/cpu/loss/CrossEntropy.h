// nn.cross_entropy, its gradient, and both fused with the linear layer before
// them. Their semantics are in frontend/nn/ops/Loss.td. Logits and inputs may
// have 16 bits: loss, scale and the gradient of the loss are then float32, as
// is what is computed with; each result is rounded once.
#ifndef SHARDC_RUNTIME_CPU_LOSS_CROSSENTROPY_H
#define SHARDC_RUNTIME_CPU_LOSS_CROSSENTROPY_H

#include "runtime/base/Tensor.h"

#include <cstdint>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// The labels [..., L] are int64 or int32, with any strides. Row i of the
/// logits is compared with the label `shift` positions further on in the same
/// row of labels; rows without one, and rows whose label is ignoreIndex, do not
/// count. A label that is neither ignoreIndex nor in [0, classes) throws an
/// Error that names its row.
struct Labels {
  Tensor labels;
  int64_t ignoreIndex = -100;
  int64_t shift = 0;
  double smoothing = 0; // how much of a label is of all classes alike
  Tensor classWeights;  // [classes] of the computed type, contiguous; optional
};

/// Computes loss = scale * sum over rows, for logits [..., classes] that are
/// foldable into rows; Loss.td has the formulas. `workspace` has a double per
/// row. `correct`, a double where it is there, becomes the number of rows whose
/// largest logit is the label's.
void crossEntropy(const Tensor &logits, const Labels &labels,
                  const Tensor &scale, const Tensor &loss,
                  const Tensor &correct, std::byte *workspace,
                  ThreadPool &pool);

/// Computes logitsGradient = gradient * scale * (softmax(logits) - (1 -
/// smoothing) * one_hot(label) - smoothing / classes); it may be `logits`.
void crossEntropyGrad(const Tensor &logits, const Labels &labels,
                      const Tensor &scale, const Tensor &gradient,
                      const Tensor &logitsGradient, ThreadPool &pool);

/// The operands are input [..., in], foldable into rows; weight [in, classes],
/// or [classes, in] when transposeWeight, with a contiguous last dim; and bias
/// [classes], which is optional. Without any gradient only the loss is
/// computed, and where it is asked for `correct`. Inputs of 16 bits have
/// gradients of their own type; those of weight and bias may be float32 besides.
struct LinearCrossEntropy {
  Tensor input, weight, bias;
  Labels labels;
  Tensor scale;
  bool transposeWeight = false;
  Tensor loss, correct;
  Tensor inputGradient, weightGradient, biasGradient; // optional each
  int64_t chunkRows = 0; // rows of logits held at a time
  double softcap = 0;    // of logits; 0: none
};
/// Bytes of scratch memory: a chunk of logits, a double per row, and for inputs
/// of 16 bits what plan.proto lists.
int64_t linearCrossEntropyWorkspace(const LinearCrossEntropy &arguments,
                                    int workers);
void linearCrossEntropy(const LinearCrossEntropy &arguments,
                        std::byte *workspace, ThreadPool &pool);
/// Does what the first run would do besides computing: see prepareGemm() of
/// Gemm.h.
void prepareLinearCrossEntropy(const LinearCrossEntropy &arguments,
                               std::byte *workspace, ThreadPool &pool);

} // namespace shardc::runtime::cpu

#endif
