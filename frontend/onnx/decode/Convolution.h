// Convolutions, as products: the windows' elements side by side are a row, and
// the kernel a matrix. Channels are last meanwhile.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_CONVOLUTION_H
#define SHARDC_FRONTEND_ONNX_DECODE_CONVOLUTION_H

#include "frontend/onnx/decode/Arithmetic.h"
#include "frontend/onnx/decode/Windows.h"

namespace shardc::onnx {

/// `shape` with more dims behind it.
Shape with(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> more);

/// Conv and ConvTranspose of channels-last operands, in groups.
class Convolution : Arithmetic {
public:
  Convolution(NodeContext &context, int64_t groups)
      : Arithmetic(context.emit), context(context), groups(groups) {}

  /// x [N, S..., C], w [O, C / groups, K...]: [N, output..., O].
  Operand convolve(const Windows &windows, const Operand &x, const Operand &w);
  /// rows [N, output..., taps, C], w [O, C / groups, K...]: [N, output..., O].
  Operand multiply(const Operand &rows, const Operand &w);
  /// x [N, S..., C], w [C, O / groups, K...]: [N, ..., O], where nothing is cut,
  /// with zeros behind what there is.
  Operand grow(const Windows &windows, const Operand &x, const Operand &w);

private:
  struct Phase;

  Operand columns(const Windows &windows, const Operand &x);
  Operand patches(const Windows &windows, const Operand &x);
  Operand perChannel(const Windows &windows, const Operand &x,
                     const Operand &w);
  Operand growApart(const Windows &windows, const Operand &x, const Operand &w);
  Operand interleaved(std::vector<Operand> phases,
                      llvm::ArrayRef<int64_t> strides);

  NodeContext &context;
  int64_t groups;
};

} // namespace shardc::onnx

#endif
