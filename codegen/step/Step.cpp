// The step dialect's registration and verifiers.
#include "codegen/step/Step.h"

#include "codegen/step/View.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::step;

#include "codegen/step/StepDialect.cpp.inc"
#include "codegen/step/StepEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/step/CollectiveInterface.cpp.inc"
#include "codegen/step/EntryInterface.cpp.inc"
#include "codegen/step/StepTypes.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/step/StepOps.cpp.inc"

void StepDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "codegen/step/StepTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/step/StepOps.cpp.inc"
      >();
}

Pool shardc::step::poolOf(Kind kind) {
  switch (kind) {
  case Kind::persistent:
    return Pool::persistent;
  case Kind::gather:
    return Pool::gather;
  case Kind::accumulation:
    return Pool::accumulation;
  case Kind::state:
  case Kind::offloaded:
    return Pool::host;
  case Kind::activation:
  case Kind::gradient:
  case Kind::workspace:
  case Kind::staging:
    return Pool::step;
  }
  llvm_unreachable("a kind of buffer without a pool");
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "calls kernel " << getKernelAttr()
                         << ", which does not exist";
  auto expected = FunctionType::get(getContext(), getInputs().getTypes(),
                                    getOutputs().getTypes());
  if (kernel.getFunctionType() != expected)
    return emitOpError() << "expects kernel " << getKernelAttr() << " of type "
                         << expected << ", got " << kernel.getFunctionType();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "launches kernel " << getKernelAttr()
                         << ", which does not exist";
  if (kernel.getNumArguments() != getInputs().size())
    return emitOpError() << "expects " << kernel.getNumArguments()
                         << " inputs, got " << getInputs().size();
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    MemRefType expected = viewOfInput(kernel, i).memrefType(),
               type = View::of(input).memrefType();
    // Of contiguous ones the kernel asks for the bytes alone.
    if (expected.getLayout().isIdentity() ? !type.getLayout().isIdentity()
                                          : type != expected)
      return emitOpError() << "expects input " << i << " to be a view of type "
                           << expected << ", got " << type;
  }
  return success();
}

LogicalResult StorageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom(*this, getUnitAttr()))
    return emitOpError() << "stores unit " << getUnitAttr()
                         << ", which does not exist";
  return success();
}

LogicalResult ViewOp::verify() {
  MemRefType type = getResult().getType();
  if (!type.getLayout().isIdentity() &&
      !isa<StridedLayoutAttr>(type.getLayout()))
    return emitOpError() << "expects a strided layout, got " << type;
  auto buffer = getBuffer().getDefiningOp<BufferOp>();
  if (!buffer)
    return emitOpError() << "expects a step.buffer";
  View view = View::of(getResult());
  int64_t end = view.offset + view.spanBytes();
  if (view.offset < 0 || end > int64_t(buffer.getBytes()))
    return emitOpError() << "covers bytes [" << view.offset << ", " << end
                         << ") of buffer \"" << buffer.getName()
                         << "\", which has " << buffer.getBytes();
  return success();
}

LogicalResult shardc::step::verifyEntry(Operation *entry) {
  for (OpOperand &operand : entry->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()) &&
        !operand.get().getDefiningOp<ViewOp>())
      return entry->emitOpError()
             << "expects operand " << operand.getOperandNumber()
             << " to be a step.view";
  return success();
}

LogicalResult LaunchOp::verify() {
  for (Value view : getOutputs())
    if (!cast<MemRefType>(view.getType()).getLayout().isIdentity())
      return emitOpError() << "expects row-major contiguous outputs, got "
                           << view.getType();
  return success();
}

LogicalResult CopyOp::verify() {
  if (getSource().getType().getShape() ==
          getDestination().getType().getShape() &&
      getSource().getType().getElementType() ==
          getDestination().getType().getElementType())
    return success();
  return emitOpError()
         << "expects source and destination of one shape and type, got "
         << getSource().getType() << " and " << getDestination().getType();
}

LogicalResult TransferStartOp::verify() {
  MemRefType from = getSource().getType(), to = getDestination().getType();
  if (from != to || !from.getLayout().isIdentity())
    return emitOpError() << "expects contiguous views of one type, got " << from
                         << " and " << to;
  auto isOnHost = [](Value view) {
    return poolOf(View::of(view).buffer.getDefiningOp<BufferOp>().getKind()) ==
           Pool::host;
  };
  if (isOnHost(getSource()) == isOnHost(getDestination()))
    return emitOpError() << "expects source or destination in the pool host, "
                            "and not both";
  return success();
}

LogicalResult EmbeddingGradOp::verify() {
  if (!getBase())
    return success();
  auto base = getBase().getDefiningOp<ViewOp>();
  auto table = getTableGradient().getDefiningOp<ViewOp>();
  if (base && table && base.getBuffer() == table.getBuffer() &&
      base.getOffset() == table.getOffset() &&
      base.getType() == table.getType())
    return success();
  return emitOpError() << "adds in place: expects base and table_gradient to "
                          "be one view, got "
                       << getBase().getType() << " and "
                       << getTableGradient().getType();
}

LogicalResult GemmOp::verify() {
  auto a = getA().getType(), b = getB().getType(), c = getC().getType();
  int64_t rank = c.getRank();
  if ((rank != 2 && rank != 3) || a.getRank() != rank || b.getRank() != rank)
    return emitOpError() << "expects 2-d or batched 3-d operands, got " << a
                         << ", " << b << " and " << c;
  auto size = [&](MemRefType type, int64_t dim, bool transposed) {
    return type.getDimSize(transposed ? rank - 1 - dim : rank - 2 + dim);
  };
  int64_t m = size(a, 0, getTransposeA()), k = size(a, 1, getTransposeA());
  int64_t kB = size(b, 0, getTransposeB()), n = size(b, 1, getTransposeB());
  if (k != kB || m != size(c, 0, false) || n != size(c, 1, false))
    return emitOpError() << "does not multiply " << m << "x" << k << " by "
                         << kB << "x" << n << " into " << c;
  if (rank == 3 && (a.getDimSize(0) != c.getDimSize(0) ||
                    b.getDimSize(0) != c.getDimSize(0)))
    return emitOpError() << "expects equal batch dims, got " << a << ", " << b
                         << " and " << c;
  Type element = a.getElementType();
  bool isHalf = element.isBF16() || element.isF16();
  if (b.getElementType() != element ||
      (c.getElementType() != element &&
       !(isHalf && c.getElementType().isF32())))
    return emitOpError() << "expects operands and result of one element type, "
                            "or a float32 result of 16-bit operands, got "
                         << a << ", " << b << " and " << c;
  if (getBias() && cast<MemRefType>(getBias().getType()).getNumElements() != n)
    return emitOpError() << "expects a bias of " << n << " elements, got "
                         << getBias().getType();
  SmallVector<MemRefType> matrices{a, b, c};
  if (getResidual()) {
    auto residual = cast<MemRefType>(getResidual().getType());
    if (residual.getShape() != c.getShape() ||
        residual.getElementType() != c.getElementType())
      return emitOpError() << "expects a residual of the result's shape and "
                              "type, got "
                           << residual << " and " << c;
    matrices.push_back(residual);
  }
  if (getBiasGradient()) {
    auto gradient = cast<MemRefType>(getBiasGradient().getType());
    int64_t sums = getGradientOfA() ? m : n;
    if (rank != 2 || gradient.getNumElements() != sums ||
        gradient.getElementType() != c.getElementType())
      return emitOpError() << "expects a bias gradient of " << sums
                           << " elements of the result's type, and no batch, "
                              "got "
                           << gradient << " and " << c;
  }
  for (MemRefType type : matrices) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        (type.getDimSize(rank - 1) != 1 && strides[rank - 1] != 1) ||
        (type.getDimSize(rank - 2) != 1 &&
         strides[rank - 2] < type.getDimSize(rank - 1)))
      return emitOpError() << "expects rows of unit stride, got " << type;
  }
  return success();
}
