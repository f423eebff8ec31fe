// Vector forms of arith and math ops, and calls of libmvec.
#include "codegen/cpu/VectorOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace shardc::cpu {

Type VectorOps::vectorType(Type element) const {
  element = heldType(element);
  return lanes == 1 ? element : Type(VectorType::get({lanes}, element));
}

Value VectorOps::broadcast(Location loc, Value value) {
  if (lanes == 1 || isVector(value))
    return value;
  return vector::BroadcastOp::create(
      builder, loc, cast<VectorType>(vectorType(value.getType())), value);
}

Value VectorOps::laneNumbers(Location loc) {
  if (lanes == 1)
    return constant(loc, 0);
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  auto type = cast<VectorType>(vectorType(builder.getI64Type()));
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
}

Value VectorOps::constant(Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

/// The C function behind a math op, for float64; libmvec has it for every
/// width.
static StringRef libraryFunction(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("math.exp", "exp")
      .Case("math.exp2", "exp2")
      .Case("math.expm1", "expm1")
      .Case("math.log", "log")
      .Case("math.log2", "log2")
      .Case("math.log10", "log10")
      .Case("math.log1p", "log1p")
      .Case("math.sin", "sin")
      .Case("math.cos", "cos")
      .Case("math.tan", "tan")
      .Case("math.sinh", "sinh")
      .Case("math.cosh", "cosh")
      .Case("math.tanh", "tanh")
      .Case("math.asin", "asin")
      .Case("math.acos", "acos")
      .Case("math.atan", "atan")
      .Case("math.asinh", "asinh")
      .Case("math.acosh", "acosh")
      .Case("math.atanh", "atanh")
      .Case("math.atan2", "atan2")
      .Case("math.erf", "erf")
      .Case("math.erfc", "erfc")
      .Case("math.cbrt", "cbrt")
      .Case("math.powf", "pow")
      .Default("");
}

Value VectorOps::callNative(Location loc, StringRef function,
                            ValueRange vectors) {
  auto type = cast<VectorType>(vectors.front().getType());
  bool isDouble = type.getElementType().isF64();
  int64_t bits = type.getNumElements() * (isDouble ? 64 : 32);
  // The vector function ABI of x86-64: b is SSE, d is AVX2, e is AVX-512.
  std::string name = "_ZGV";
  name += bits == 128 ? "b" : bits == 256 ? "d" : "e";
  name += "N" + std::to_string(type.getNumElements()) +
          std::string(vectors.size(), 'v') + "_" + function.str();
  if (!isDouble)
    name += "f";
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    SmallVector<Type> inputs(vectors.size(), type);
    callee = LLVM::LLVMFuncOp::create(
        builder, loc, name, LLVM::LLVMFunctionType::get(type, inputs));
    callee.setNoUnwind(true);
    callee.setWillReturn(true);
    using LLVM::ModRefInfo;
    callee.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
        builder.getContext(), ModRefInfo::NoModRef, ModRefInfo::NoModRef,
        ModRefInfo::NoModRef, ModRefInfo::NoModRef, ModRefInfo::NoModRef,
        ModRefInfo::NoModRef));
  }
  return LLVM::CallOp::create(builder, loc, callee, vectors).getResult();
}

Value VectorOps::callVectorFunction(Location loc, StringRef function,
                                    ValueRange operands) {
  Type given = operands.front().getType();
  Type compute = getElementTypeOrSelf(given);
  int64_t native = vectorBytes * 8 / compute.getIntOrFloatBitWidth();
  int64_t count =
      isa<VectorType>(given) ? cast<VectorType>(given).getNumElements() : 1;
  SmallVector<Value> inputs(operands);
  Value result;
  if (count < native) {
    // Always the widest variant: the narrower ones round differently.
    SmallVector<Value> wide;
    SmallVector<int64_t> repeat;
    for (int64_t lane = 0; lane < native; ++lane)
      repeat.push_back(lane % count);
    for (Value input : inputs)
      wide.push_back(
          count == 1
              ? Value(vector::BroadcastOp::create(
                    builder, loc, VectorType::get({native}, compute), input))
              : Value(vector::ShuffleOp::create(builder, loc, input, input,
                                                repeat)));
    Value called = callNative(loc, function, wide);
    result = count == 1 ? Value(vector::ExtractOp::create(builder, loc, called,
                                                          ArrayRef<int64_t>{0}))
                        : Value(vector::ExtractStridedSliceOp::create(
                              builder, loc, called, ArrayRef<int64_t>{0},
                              ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1}));
  } else if (count == native) {
    result = callNative(loc, function, inputs);
  } else {
    auto whole = VectorType::get({count}, compute);
    result =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(whole));
    for (int64_t start = 0; start < count; start += native) {
      SmallVector<Value> parts;
      for (Value input : inputs)
        parts.push_back(vector::ExtractStridedSliceOp::create(
            builder, loc, input, ArrayRef<int64_t>{start},
            ArrayRef<int64_t>{native}, ArrayRef<int64_t>{1}));
      result = vector::InsertStridedSliceOp::create(
          builder, loc, callNative(loc, function, parts), result,
          ArrayRef<int64_t>{start}, ArrayRef<int64_t>{1});
    }
  }
  return result;
}

Value VectorOps::multiplyAdd(Location loc, Value x, Value y, Value z) {
  if (isVector(x) || isVector(y) || isVector(z)) {
    x = broadcast(loc, x);
    y = broadcast(loc, y);
    z = broadcast(loc, z);
  }
  return math::FmaOp::create(builder, loc, x, y, z);
}

/// The larger or smaller of two that are not NaN: one instruction, where the
/// general form takes five.
Value VectorOps::selectExtremum(Operation *op, ValueRange operands) {
  if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return {};
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  if (!flags ||
      !arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::nnan))
    return {};
  auto order = isa<arith::MaximumFOp>(op) ? arith::CmpFPredicate::OGT
                                          : arith::CmpFPredicate::OLT;
  Value first = arith::CmpFOp::create(builder, op->getLoc(), order, operands[0],
                                      operands[1]);
  return arith::SelectOp::create(builder, op->getLoc(), first, operands[0],
                                 operands[1]);
}

/// A conversion to or from a 16-bit float; null for any other op.
Value VectorOps::convertNarrow(Operation *op, Value operand) {
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  if (isa<arith::ExtFOp>(op) && isNarrowFloat(from))
    return narrowFloats.widen(op->getLoc(), operand, from, to);
  if (isa<arith::TruncFOp>(op) && isNarrowFloat(to))
    return narrowFloats.narrow(op->getLoc(), operand, to);
  return {};
}

/// Whether an op only moves values, so that it takes 16-bit floats as they are
/// held.
static bool isMove(Operation *op) {
  return isa<arith::ConstantOp, arith::SelectOp>(op);
}

Value VectorOps::clone(Operation *op, ValueRange operands) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return {};
  Location loc = op->getLoc();
  auto isNarrow = [](Type type) {
    return isNarrowFloat(getElementTypeOrSelf(type));
  };
  if (isNarrow(op->getResult(0).getType()) ||
      llvm::any_of(op->getOperandTypes(), isNarrow)) {
    if (op->getNumOperands() == 1)
      return convertNarrow(op, operands.front());
    if (!isMove(op))
      return {};
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(builder, loc,
                                     heldConstant(constant.getValue()));
  bool wide =
      llvm::any_of(operands, [&](Value operand) { return isVector(operand); });
  SmallVector<Value> inputs(operands);
  if (wide)
    for (Value &input : inputs)
      input = broadcast(loc, input);
  if (StringRef function = libraryFunction(op); !function.empty())
    return callVectorFunction(loc, function, inputs);
  if (Value selected = selectExtremum(op, inputs))
    return selected;
  OperationState state(loc, op->getName());
  state.addOperands(inputs);
  Type element = heldType(op->getResult(0).getType());
  state.addTypes(wide
                     ? cast<VectorType>(inputs.front().getType()).clone(element)
                     : element);
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  // What a body says of NaN holds; but no rounding may depend on what was fused
  // with what.
  Operation *created = builder.create(state);
  auto fast = dyn_cast<arith::ArithFastMathInterface>(created);
  if (auto flags = fast ? fast.getFastMathFlagsAttr() : nullptr) {
    using arith::FastMathFlags;
    auto kept = flags.getValue() & (FastMathFlags::nnan | FastMathFlags::ninf |
                                    FastMathFlags::nsz);
    created->setAttr("fastmath",
                     arith::FastMathFlagsAttr::get(builder.getContext(), kept));
  }
  return created->getResult(0);
}

} // namespace shardc::cpu
