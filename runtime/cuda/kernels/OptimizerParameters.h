// What the kernels of Optimizer.cu take.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_OPTIMIZERPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_OPTIMIZERPARAMETERS_H

#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

/// Elements [begin, end) of a unit's slice, with the same numbers.
struct OptimizerRange {
  Count begin, end;
  double learningRateScale, weightDecay;
  /// What the learning rate of whole matrices is multiplied by; 0 of others.
  double matrixScale = 0;
  /// How far behind an element's place its states behind the first are.
  Count later = 0;
};

/// What the copy is rounded to.
enum CopyType : Count { CopyFloat32, CopyBfloat16, CopyFloat16 };

/// optimizer_KIND_MASTER_GRADIENT of Optimizer.cu: a unit's slice. KIND is adam
/// (AdamW and AMSGrad too), sgd, lion, adagrad, or follow, which goes along the
/// directions of matrices, by the learning rate and their scale, or takes
/// gradients as they are away from running statistics; MASTER, which is the states'
/// type as well, is f64, f32, bf16 or f16, and GRADIENT is MASTER, f32 with those
/// of 16 bits, or bf16 or f16 with f32. MASTER may be split, with GRADIENT f32 or
/// bf16: float32 states, and masters as runtime/base/SplitMaster.h has them. It
/// computes in float64 of f64, else in
/// float32, and rounds what it stores once.
///
/// Gradients are multiplied by gradientFactor * min(1, clip / (|gradients| +
/// 1e-6)), torch.nn.utils.clip_grad_norm_'s. Where the norm or the loss is not
/// finite nothing is written but 1 to `skipped`.
///
/// Grids of one dimension of any size, as Copy.cu's.
struct OptimizerParameters {
  Address numbers; // of RunNumbers
  /// Float64: the sum of powers over all gradients, a loss, and a flag; each 0
  /// where there is none.
  Address norm, loss, skipped;
  Address master, gradient;
  /// Of split masters, whose bf16 are `master`: lower halves, and bits.
  Address lower, words;
  Address states[3]; // 0 where there is none; adam with the third is AMSGrad
  /// The master as it is stored, rounded once more; 0 where there is none.
  Address copy;
  Count copyType;
  Address ranges; // of OptimizerRange[rangeCount]
  Count rangeCount;
  double beta1, beta2, epsilon, momentum;
  Count isDecoupled, nesterov; // adam: whether weights decay as AdamW's
};

/// momentum_STATE_GRADIENT of Optimizer.cu: how matrices would go, with types as
/// of optimizer_KIND_MASTER_GRADIENT. With g the gradient, scaled as there, the
/// state becomes what lies between it and g by 1 - momentum, and the direction,
/// which is f64 where the state is and else f32, is the state, or with nesterov
/// what lies between g and it by momentum. Where the norm or the loss is not
/// finite, the state stays as it is and all of the direction is 0.
struct MomentumParameters {
  Address numbers;    // of RunNumbers
  Address norm, loss; // as in OptimizerParameters
  Address gradient, state, direction;
  Count elements; // of the direction
  Address ranges; // of OptimizerRange[rangeCount], of which places alone count
  Count rangeCount;
  double momentum;
  Count nesterov;
};

} // namespace shardc::runtime::cuda

#endif
