// Discrete Fourier transforms as products with constants.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_FOURIER_H
#define SHARDC_FRONTEND_ONNX_DECODE_FOURIER_H

#include "frontend/onnx/decode/Emitter.h"

namespace shardc::onnx {

/// The most elements of a transform: what it is multiplied with is known at
/// compile time.
inline constexpr int64_t longestFourier = int64_t(1) << 21;

/// Sums over t of x[t] e^(-2 pi i k t / length) for k < count, or, if it is
/// inverse, of x[t] e^(2 pi i k t / length) / length.
struct FourierTransform {
  int64_t length; ///< from 1 to longestFourier
  bool isInverse;
  int64_t count;       ///< of elements that are wanted, up to length
  bool isReal = false; ///< whether the real parts alone are

  /// Of x [..., parts, given], to [..., 2 or 1, count]. parts: real ones, or
  /// real and imaginary ones; given: up to length, behind which all are 0. x is
  /// float32 or float64.
  Operand of(Emitter &emit, const Operand &x) const;
};

/// The n real elements, [..., 1, n], whose transform begins with half
/// [..., 2, given], of n / 2 + 1 elements behind which the others are the
/// conjugates of these. given: up to that, behind which all are 0. The imaginary
/// parts of elements that are their own conjugates do not count.
Operand ofHalfSpectrum(Emitter &emit, const Operand &half, int64_t n);

} // namespace shardc::onnx

#endif
