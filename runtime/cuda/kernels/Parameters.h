// What kernels of runtime/cuda/kernels take: one struct by value each. Host and
// device read this header, so it includes nothing, and all fields have fixed
// widths. Addresses are the device's; sizes and strides are in elements.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_PARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_PARAMETERS_H

namespace shardc::runtime::cuda {

using Address = unsigned long long;
using Count = long long;

/// The most dims that a view has, once neighbours are merged.
inline constexpr int mostDims = 8;
/// The threads of a block of every kernel of Copy.cu.
inline constexpr int copyThreads = 256;

// The kernels of Copy.cu run in grids of one dimension of any size, with blocks
// of copyThreads and no shared memory: threads take elements in turns.

/// cast_FROM_TO, where both are one of f64, f32, bf16 and f16, and differ:
/// contiguous, rounded once to nearest even. Ranges must not overlap.
struct CastParameters {
  Address source, destination;
  Count elements;
};

/// What the host knows of a step, uploaded before each micro-batch, so that a
/// graph which was captured once can be replayed with new ones. Names are
/// StepNumbers'.
struct RunNumbers {
  double gradientFactor, learningRate;
  double firstCorrection;  // 1 - beta1^step
  double secondCorrection; // sqrt(1 - beta2^step)
  double clip;             // 0: not clipped
  Count norm;              // p of the norm: 1, 2, or 0 for Inf
};

/// A word that says where data is wrong, and what is there: of a value outside 32
/// bits the end of their range. Positions are below 2^31; all ones: no fault.
constexpr unsigned long long faultOf(Count position, Count value) {
  Count most = 0x7fffffff;
  Count kept = value > most ? most : value < -most - 1 ? -most - 1 : value;
  return static_cast<unsigned long long>(position) << 32 |
         static_cast<unsigned>(kept);
}

} // namespace shardc::runtime::cuda

#endif
