// Calls of libmvec, and ops for which a CPU has shorter code.
#include "codegen/cpu/CpuVectorOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace shardc::cpu {

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

Value CpuVectorOps::callNative(Location loc, StringRef function,
                               ValueRange vectors) {
  auto type = cast<VectorType>(vectors.front().getType());
  bool isDouble = type.getElementType().isF64();
  int64_t bits = type.getNumElements() * (isDouble ? 64 : 32);
  // Names follow the vector function ABI of x86-64: b is SSE, d is AVX2, e is
  // AVX-512.
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

Value CpuVectorOps::callVectorFunction(Location loc, StringRef function,
                                       ValueRange operands) {
  Type given = operands.front().getType();
  Type compute = getElementTypeOrSelf(given);
  int64_t native = vectorBytes * 8 / compute.getIntOrFloatBitWidth();
  int64_t count =
      isa<VectorType>(given) ? cast<VectorType>(given).getNumElements() : 1;
  SmallVector<Value> inputs(operands);
  Value result;
  if (count < native) {
    // The widest variant is always called: the narrower ones round differently.
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

/// Emits the larger or smaller of two that are not NaN: one instruction, where
/// the general form takes five.
Value CpuVectorOps::selectExtremum(Operation *op, ValueRange operands) {
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

Value CpuVectorOps::cloneSpecial(Operation *op, ValueRange operands) {
  if (StringRef function = libraryFunction(op); !function.empty())
    return callVectorFunction(op->getLoc(), function, operands);
  return selectExtremum(op, operands);
}

} // namespace shardc::cpu
