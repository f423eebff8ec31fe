// What a place becomes that updates are written to, one or several.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_SCATTERUPDATES_H
#define SHARDC_FRONTEND_ONNX_DECODE_SCATTERUPDATES_H

#include "frontend/onnx/decode/Decoder.h"

namespace shardc::onnx {

/// data seen as [places, rest...], and what is written to places of it:
/// updates [count, rest...] at positions [count], of which no two are equal where
/// they are known to be distinct.
struct Scatter {
  Operand data, updates, positions;
  bool areDistinct = false;
};

/// Floats added at positions, from zeros of that shape.
Operand sumAt(Emitter &emit, const Operand &updates, const Operand &positions,
              llvm::ArrayRef<int64_t> shape);

/// The data where nothing is written, else the last update.
Operand overwritten(NodeContext &context, const Scatter &of);

/// The data combined with all updates of each place by none (the last one
/// stays), add, mul, min or max, as ONNX calls them. An error for others.
mlir::FailureOr<Operand> updated(NodeContext &context, const Scatter &of,
                                 llvm::StringRef reduction);

/// The mean of all updates of each place, of what was there too if `withData`;
/// else the data of places that have updates are zeros. Floats.
Operand averaged(Emitter &emit, const Scatter &of, bool withData);

} // namespace shardc::onnx

#endif
