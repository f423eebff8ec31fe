// gpu and memref ops as accesses of the emulated thread; what rounds in ways of
// its own is done by the CPU's emitters.
#include "LowerForHost.h"

#include "codegen/cpu/CpuVectorOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

#include <cstddef>

using namespace mlir;

namespace shardc::test {

namespace {
class HostLowering {
public:
  HostLowering(ModuleOp module, const cpu::VectorTarget &target)
      : module(module), target(target), builder(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  FailureOr<int64_t> run(mlir::gpu::GPUFuncOp kernel);

private:
  Value field(size_t offset, Type type) {
    Value address = LLVM::GEPOp::create(
        builder, loc(), pointer, builder.getI8Type(), self,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    return LLVM::LoadOp::create(builder, loc(), type, address);
  }
  Value slot(Value memory, Type element, Value index) {
    Value wide =
        arith::IndexCastOp::create(builder, loc(), builder.getI64Type(), index);
    return LLVM::GEPOp::create(builder, loc(), pointer, element, memory,
                               ArrayRef<LLVM::GEPArg>{wide});
  }
  Location loc() { return module.getLoc(); }
  /// The value that replaces an op of gpu or memref; null for others.
  bool lower(Operation *op);
  Value lowerFloats(Operation *op);

  ModuleOp module;
  const cpu::VectorTarget &target;
  IRRewriter builder;
  Type pointer;
  Value self;
  /// Addresses of the workgroup's memory.
  DenseMap<Value, Value> memory;
};
} // namespace

bool HostLowering::lower(Operation *op) {
  builder.setInsertionPoint(op);
  auto id = [&](size_t offset) {
    builder.replaceOp(
        op, arith::IndexCastOp::create(builder, loc(), builder.getIndexType(),
                                       field(offset, builder.getI64Type())));
    return true;
  };
  auto call = [&](size_t function, TypeRange results, ValueRange operands) {
    SmallVector<Value> all{field(function, pointer), self};
    llvm::append_range(all, operands);
    SmallVector<Type> types{pointer};
    llvm::append_range(types, operands.getTypes());
    auto type = LLVM::LLVMFunctionType::get(
        results.empty() ? Type(LLVM::LLVMVoidType::get(module.getContext()))
                        : results.front(),
        types);
    return LLVM::CallOp::create(builder, loc(), type, all);
  };
  Type i32 = builder.getI32Type();
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](mlir::gpu::ThreadIdOp) {
        return id(offsetof(EmulatedThread, thread));
      })
      .Case([&](mlir::gpu::BlockIdOp) {
        return id(offsetof(EmulatedThread, block));
      })
      .Case([&](mlir::gpu::BarrierOp) {
        call(offsetof(EmulatedThread, barrier), {}, {});
        builder.eraseOp(op);
        return true;
      })
      .Case([&](mlir::gpu::ShuffleOp shuffle) {
        Type type = shuffle.getValue().getType();
        Value bits = shuffle.getValue();
        if (type != i32)
          bits = LLVM::BitcastOp::create(builder, loc(), i32, bits);
        Value result = call(offsetof(EmulatedThread, shuffle), i32,
                            {bits, shuffle.getOffset()})
                           .getResult();
        if (type != i32)
          result = LLVM::BitcastOp::create(builder, loc(), type, result);
        Value valid = arith::ConstantOp::create(builder, loc(),
                                                builder.getBoolAttr(true));
        builder.replaceOp(op, ValueRange{result, valid});
        return true;
      })
      .Case([&](memref::LoadOp load) {
        Type type = load.getType();
        builder.replaceOp(
            op, LLVM::LoadOp::create(builder, loc(), type,
                                     slot(memory.lookup(load.getMemref()), type,
                                          load.getIndices()[0])));
        return true;
      })
      .Case([&](memref::StoreOp store) {
        Type type = store.getValue().getType();
        LLVM::StoreOp::create(builder, loc(), store.getValue(),
                              slot(memory.lookup(store.getMemref()), type,
                                   store.getIndices()[0]));
        builder.eraseOp(op);
        return true;
      })
      .Case([&](mlir::gpu::ReturnOp) {
        LLVM::ReturnOp::create(builder, loc(), ValueRange{});
        builder.eraseOp(op);
        return true;
      })
      .Default([](Operation *) { return false; });
}

/// Conversions of 16-bit floats and functions of libmvec; null where LLVM's own
/// lowering is right.
Value HostLowering::lowerFloats(Operation *op) {
  builder.setInsertionPoint(op);
  if (op->getNumResults() != 1)
    return {};
  Type result = op->getResult(0).getType();
  auto element = [](Value value) { return getElementTypeOrSelf(value); };
  cpu::HalfConversions conversions(builder, target.hasF16C);
  auto shaped = [&](Type type) {
    auto vector = dyn_cast<VectorType>(result);
    return vector ? Type(vector.clone(type)) : type;
  };
  if (isa<arith::ExtFOp>(op) &&
      kernels::isHalfFloat(element(op->getOperand(0)))) {
    Value bits = LLVM::BitcastOp::create(
        builder, loc(), shaped(builder.getI16Type()), op->getOperand(0));
    return conversions.widen(loc(), bits, element(op->getOperand(0)),
                             getElementTypeOrSelf(result));
  }
  if (isa<arith::TruncFOp>(op) &&
      kernels::isHalfFloat(getElementTypeOrSelf(result)))
    return LLVM::BitcastOp::create(
        builder, loc(), result,
        conversions.round(loc(), op->getOperand(0),
                          getElementTypeOrSelf(result)));
  if (!isa<math::MathDialect>(op->getDialect()))
    return {};
  auto vector = dyn_cast<VectorType>(result);
  cpu::CpuVectorOps vectors(builder, module,
                            vector ? vector.getNumElements() : 1, target);
  return vectors.clone(op, op->getOperands());
}

FailureOr<int64_t> HostLowering::run(mlir::gpu::GPUFuncOp kernel) {
  builder.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()), {pointer, pointer});
  auto function =
      LLVM::LLVMFuncOp::create(builder, loc(), kernel.getName(), type);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  self = entry->getArgument(1);
  IRMapping values;
  // Its block has the shared memory as arguments, too.
  for (auto [number, argument] : llvm::enumerate(
           kernel.getArguments().take_front(kernel.getNumArguments()))) {
    Value slot = LLVM::GEPOp::create(
        builder, loc(), pointer, pointer, entry->getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
    values.map(argument, LLVM::LoadOp::create(builder, loc(), pointer, slot));
  }
  int64_t bytes = 0;
  Value shared = field(offsetof(EmulatedThread, shared), pointer);
  for (BlockArgument attribution : kernel.getWorkgroupAttributions()) {
    auto memref = cast<MemRefType>(attribution.getType());
    memory[attribution] = LLVM::GEPOp::create(
        builder, loc(), pointer, builder.getI8Type(), shared,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
    bytes += llvm::alignTo(
        memref.getNumElements() * memref.getElementTypeBitWidth() / 8, 16);
  }
  for (Operation &op : kernel.getBody().front())
    builder.clone(op, values);
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (!lower(op))
      if (Value value = lowerFloats(op))
        builder.replaceOp(op, value);
  return bytes;
}

FailureOr<int64_t> lowerForHost(mlir::gpu::GPUFuncOp kernel, ModuleOp module,
                                const cpu::VectorTarget &target) {
  return HostLowering(module, target).run(kernel);
}

} // namespace shardc::test
