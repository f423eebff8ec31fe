// Discrete Fourier transforms as products with constants.
#ifndef SHARDC_FRONTEND_ONNX_FOURIER_H
#define SHARDC_FRONTEND_ONNX_FOURIER_H

#include "frontend/onnx/Emitter.h"

namespace shardc::onnx {

/// The most elements of a transform: what it is multiplied with is known at
/// compile time.
inline constexpr int64_t longestFourier = int64_t(1) << 21;

/// The transform of x [..., n, 1] (real) or [..., n, 2] (real and imaginary
/// part) over n, [..., n, 2]: sum over t of x[t] e^(-2 pi i k t / n), or, if it
/// is inverse, of x[t] e^(2 pi i k t / n) / n. x: float32 or float64; n: from 1 to
/// longestFourier.
Operand fourier(Emitter &emit, const Operand &x, bool isInverse);

/// The first n / 2 + 1 elements of the transform of real x [..., n, 1]: the rest
/// are their conjugates.
Operand halfSpectrum(Emitter &emit, const Operand &x);

/// The n real elements, [..., n, 1], whose transform begins with half
/// [..., n / 2 + 1, 2]. The imaginary parts of elements that are their own
/// conjugates do not count.
Operand ofHalfSpectrum(Emitter &emit, const Operand &half, int64_t n);

} // namespace shardc::onnx

#endif
