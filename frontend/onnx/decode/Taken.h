// Moves that are several ops: elements taken at places that are known, and
// padding that is not zero.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_TAKEN_H
#define SHARDC_FRONTEND_ONNX_DECODE_TAKEN_H

#include "frontend/onnx/decode/Emitter.h"

namespace shardc::onnx {

/// input[..., places[i], ...] along a dim: slices and repetitions where the
/// places are few runs, else a gather.
Operand take(Emitter &emit, const Operand &input, int64_t dim,
             llvm::ArrayRef<int64_t> places);

/// `low[d]` times a scalar of the input's type before its elements, and
/// `high[d]` behind them.
Operand padWith(Emitter &emit, const Operand &value, const Operand &input,
                llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high);

} // namespace shardc::onnx

#endif
