// Discrete Fourier transforms as products with constants.
#ifndef SHARDC_FRONTEND_ONNX_FOURIER_H
#define SHARDC_FRONTEND_ONNX_FOURIER_H

#include "frontend/onnx/Emitter.h"

namespace shardc::onnx {

/// How many numbers the largest constant has that a transform of n elements, of
/// so many parts, is multiplied with.
int64_t fourierNumbers(int64_t n, int64_t parts);

/// The transform of x [..., n, 1] (real) or [..., n, 2] (real and imaginary
/// part) over n, [..., n, 2]: sum over t of x[t] e^(-2 pi i k t / n), or, if it
/// is inverse, of x[t] e^(2 pi i k t / n) / n. x: float32 or float64; n: at least
/// 1, and of at most Emitter::maxElements fourierNumbers.
Operand fourier(Emitter &emit, const Operand &x, bool isInverse);

} // namespace shardc::onnx

#endif
