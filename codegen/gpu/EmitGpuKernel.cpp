// A gpu.func stands around the loops that GpuLoops emits.
#include "codegen/gpu/EmitGpuKernel.h"

#include "codegen/gpu/GpuLoops.h"
#include "codegen/gpu/GpuVectorOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::gpu {

constexpr StringRef kindAttribute = "step.kind";

StringRef kindOf(mlir::gpu::GPUFuncOp kernel) {
  auto kind = kernel->getAttrOfType<StringAttr>(kindAttribute);
  return kind ? kind.getValue() : StringRef();
}

static StringRef nameOf(LoopNest::Kind kind) {
  switch (kind) {
  case LoopNest::Kind::Elements:
    return "loop";
  case LoopNest::Kind::Rows:
    return "row";
  case LoopNest::Kind::Columns:
    return "column";
  }
  return "";
}

/// Returns the arguments, then outputs, that step-write-in-place may give one
/// place.
static llvm::BitVector argumentsThatMayShare(func::FuncOp kernel,
                                             const LoopNest &nest) {
  unsigned inputs = kernel.getNumArguments();
  llvm::BitVector sharing(inputs + nest.outputs.size());
  for (unsigned output = 0; output < nest.outputs.size(); ++output)
    for (BlockArgument input : kernel.getArguments())
      if (mayLieInPlace(nest, input, output)) {
        sharing.set(input.getArgNumber());
        sharing.set(inputs + output);
      }
  return sharing;
}

FailureOr<mlir::gpu::GPUFuncOp> emitGpuKernel(func::FuncOp kernel,
                                              mlir::gpu::GPUModuleOp module) {
  std::string why;
  std::optional<LoopNest> nest = findLoopNest(kernel, why);
  if (!nest)
    return kernel.emitError() << "cannot be one kernel: " << why;
  auto combiners = combinersOf(*nest);
  if (failed(combiners))
    return failure();
  LaunchShape shape = shapeOf(kernel, *nest);
  if (shape.grid > std::numeric_limits<int32_t>::max())
    return kernel.emitError()
           << "needs " << shape.grid << " blocks, more than a grid has";

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  size_t arguments = kernel.getNumArguments() + nest->outputs.size();
  SmallVector<Type> types(arguments,
                          LLVM::LLVMPointerType::get(kernel.getContext()));
  auto function =
      mlir::gpu::GPUFuncOp::create(builder, kernel.getLoc(), kernel.getName(),
                                   builder.getFunctionType(types, {}));
  function->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(kindAttribute, builder.getStringAttr(nameOf(nest->kind)));
  function.setKnownGridSize(
      ArrayRef<int32_t>{static_cast<int32_t>(shape.grid), 1, 1});
  function.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(shape.block), 1, 1});
  llvm::BitVector sharing = argumentsThatMayShare(kernel, *nest);
  for (unsigned i = 0; i < arguments; ++i) {
    function.setArgAttr(i, "llvm.align", builder.getI64IntegerAttr(16));
    if (!sharing[i])
      function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  }

  builder.setInsertionPointToStart(&function.getBody().front());
  GpuVectorOps vectors(builder, {.lanes = shape.vector,
                                 .indexBits = shape.smallIndices ? 32u : 64u,
                                 .aligned = true,
                                 .fusesMultiplyAdd = true});
  ElementEmitter elements(builder, vectors, *nest);
  for (auto [input, pointer] :
       llvm::zip(kernel.getArguments(), function.getArguments()))
    elements.pointers[input] = pointer;
  if (failed(GpuLoops(builder, vectors, elements, *nest, *combiners, shape,
                      function)
                 .emit())) {
    function.erase();
    return kernel.emitError("has an op that GPU kernels cannot hold");
  }
  mlir::gpu::ReturnOp::create(builder, kernel.getLoc());
  return function;
}

} // namespace shardc::gpu
