// The largest and the smallest: numbers of a type, and elements of rows.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_EXTREMES_H
#define SHARDC_FRONTEND_ONNX_DECODE_EXTREMES_H

#include "frontend/onnx/decode/Emitter.h"

namespace shardc::onnx {

/// An infinity, or the lowest or highest integer of a type: a scalar.
Operand lowestOf(Emitter &emit, mlir::Type element);
Operand highestOf(Emitter &emit, mlir::Type element);

/// The first `count` of the sorted elements along `axis`, and their places; the
/// largest come first unless `smallest`.
std::pair<Operand, Operand> topElements(Emitter &emit, const Operand &input,
                                        int64_t axis, int64_t count,
                                        bool smallest);

} // namespace shardc::onnx

#endif
