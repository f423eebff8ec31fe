// The loops of a kernel run over work items, and within a work item one pass
// over the lanes for every level of reductions.
#include "codegen/cpu/EmitCpuKernel.h"

#include "codegen/cpu/CpuLoops.h"
#include "codegen/cpu/CpuVectorOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::cpu {

/// The number of lanes of a vector: as many elements of the kernel's widest
/// type as a register holds.
static int64_t lanesFor(func::FuncOp kernel, const VectorTarget &target) {
  int64_t widest = 1;
  auto visit = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (isa<FloatType>(tensor.getElementType()))
        widest = std::max<int64_t>(widest, tensor.getElementTypeBitWidth() / 8);
  };
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      visit(type);
  });
  for (Type type : kernel.getArgumentTypes())
    visit(type);
  // Half precision is computed in float32; kernels of integers alone have
  // 64-bit positions.
  return target.vectorBytes / (widest == 1 ? 8 : std::max<int64_t>(widest, 4));
}

/// Emits a mask of all lanes that LLVM cannot know to be one: it comes from
/// memory that anyone may write.
static Value emitAllLanes(OpBuilder &builder, Location loc, int64_t lanes) {
  Type bits = builder.getIntegerType(lanes);
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), 1);
  Value slot = LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), bits,
      one);
  Value all = LLVM::ConstantOp::create(builder, loc, bits, -1);
  LLVM::StoreOp::create(builder, loc, all, slot, /*alignment=*/0,
                        /*isVolatile=*/true);
  Value loaded = LLVM::LoadOp::create(builder, loc, bits, slot,
                                      /*alignment=*/0, /*isVolatile=*/true);
  return LLVM::BitcastOp::create(
      builder, loc, VectorType::get({lanes}, builder.getI1Type()), loaded);
}

FailureOr<int64_t> emitCpuKernel(func::FuncOp kernel, ModuleOp module,
                                 const VectorTarget &target) {
  std::string why;
  std::optional<LoopNest> nest = findLoopNest(kernel, why);
  if (!nest)
    return kernel.emitError() << "cannot be one kernel: " << why;
  int64_t lanes = lanesFor(kernel, target);
  auto combiners = combinersOf(*nest);
  if (failed(combiners))
    return failure();

  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context),
       i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, i64, i64});
  auto function =
      LLVM::LLVMFuncOp::create(builder, loc, kernel.getName(), type);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  CpuVectorOps vectors(builder, module, lanes, target);
  ElementEmitter elements(builder, vectors, *nest);

  auto argument = [&](int64_t number) -> Value {
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, entry->getArgument(0),
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(number))});
    return LLVM::LoadOp::create(builder, loc, pointer, slot);
  };
  int64_t number = 0;
  for (Value input : kernel.getArguments())
    elements.pointers[input] = argument(number++);
  SmallVector<Value> outputs;
  for (size_t i = 0; i < nest->outputs.size(); ++i)
    outputs.push_back(argument(number++));

  // Only AVX-512 has masked stores that truncate.
  if (target.vectorBytes == 64)
    elements.allLanes = emitAllLanes(builder, loc, lanes);
  CpuLoops loops(builder, vectors, elements, *nest, *combiners, outputs, lanes);
  FailureOr<int64_t> extent =
      loops.emit(entry->getArgument(1), entry->getArgument(2));
  if (failed(extent))
    return kernel.emitError("has an op that CPU kernels cannot hold");
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  return extent;
}

} // namespace shardc::cpu
