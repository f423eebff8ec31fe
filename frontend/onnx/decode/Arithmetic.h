// Short names for formulas of operands.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_ARITHMETIC_H
#define SHARDC_FRONTEND_ONNX_DECODE_ARITHMETIC_H

#include "frontend/onnx/decode/Emitter.h"

namespace shardc::onnx {

/// What writes formulas derives from it. Operands have one type and are
/// broadcast.
class Arithmetic {
public:
  explicit Arithmetic(Emitter &emit) : emit(emit) {}

  Operand add(const Operand &x, const Operand &y) {
    return emit.binary<nn::AddOp>(x, y);
  }
  Operand sub(const Operand &x, const Operand &y) {
    return emit.binary<nn::SubOp>(x, y);
  }
  Operand mul(const Operand &x, const Operand &y) {
    return emit.binary<nn::MulOp>(x, y);
  }
  Operand div(const Operand &x, const Operand &y) {
    return emit.binary<nn::DivOp>(x, y);
  }

protected:
  Emitter &emit;
};

} // namespace shardc::onnx

#endif
