// Windows that move over the spatial dims of an input, as those of Conv and the
// pools do.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_WINDOWS_H
#define SHARDC_FRONTEND_ONNX_DECODE_WINDOWS_H

#include "frontend/onnx/decode/Decoder.h"

namespace shardc::onnx {

/// Window i of a dim begins at i strides - low, and has `kernel` elements, its
/// taps, `dilations` apart. All lists have an entry per spatial dim.
struct Windows {
  /// Each tap is an op, or a part of one.
  static constexpr int64_t mostTaps = 4096;

  Shape input; ///< sizes of the spatial dims
  Shape kernel, strides, dilations;
  Shape low, high; ///< elements around the input, that the attributes say
  Shape output;    ///< windows

  size_t dims() const { return input.size(); }
  /// Elements of a window.
  int64_t taps() const;
  /// Tap i in row-major order: which it is of each dim.
  Shape tap(int64_t i) const;
  /// Elements from the first tap of a dim to its last.
  int64_t reach(size_t dim) const {
    return (kernel[dim] - 1) * dilations[dim] + 1;
  }
  bool isOne() const { return taps() == 1; }
};

/// The windows of a node, by its attributes strides, dilations, pads, auto_pad
/// and ceil_mode. Errors are the node's.
mlir::FailureOr<Windows> windowsOf(NodeContext &context,
                                   llvm::ArrayRef<int64_t> spatial,
                                   llvm::ArrayRef<int64_t> kernel);
/// The same lists where they say how an input grows (ConvTranspose): no
/// windows are counted, and `low` and `high` are those of `pads`.
mlir::FailureOr<Windows> windowsOfGrowth(NodeContext &context,
                                         llvm::ArrayRef<int64_t> spatial,
                                         llvm::ArrayRef<int64_t> kernel);

/// Checks that input 0 is [N, C, S...] with one spatial dim or more.
mlir::LogicalResult expectSpatial(NodeContext &context);
/// [N, C, S...] as [N, S..., C], and back: in this order taps are rows of
/// neighbours.
Operand channelsLast(Emitter &emit, const Operand &input);
Operand channelsFirst(Emitter &emit, const Operand &input);

/// An input [N, S..., C] whose windows are taken apart: tap by tap, each the
/// elements [N, output..., C] that all windows have in that place.
class Taps {
public:
  /// What lies around the input is `outside`.
  Taps(NodeContext &context, const Windows &windows, const Operand &input,
       const Operand &outside);
  Operand operator[](int64_t tap) const;

private:
  Emitter &emit;
  const Windows &windows;
  Operand padded;
};

} // namespace shardc::onnx

#endif
