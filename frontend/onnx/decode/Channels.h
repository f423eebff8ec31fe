// What the norms of channels share: inputs [N, C, S...] and numbers for each
// channel.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_CHANNELS_H
#define SHARDC_FRONTEND_ONNX_DECODE_CHANNELS_H

#include "frontend/onnx/decode/Decoder.h"

namespace shardc::onnx {

/// [C] as it broadcasts against [N, C, S...].
Operand perChannel(Emitter &emit, const Operand &vector, int64_t rank);

/// Checks that an input has one number per channel of input 0.
mlir::LogicalResult expectPerChannel(NodeContext &context, size_t i,
                                     int64_t channels);

/// Checks that inputs 0 to 2 are [N, C, S...], and scale and bias of one type.
mlir::LogicalResult expectChannels(NodeContext &context);

} // namespace shardc::onnx

#endif
