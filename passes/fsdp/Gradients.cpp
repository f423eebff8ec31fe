// What reductions of gradients check against their unit and their start.
#include "passes/fsdp/FSDP.h"
#include "passes/fsdp/Verification.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

/// A flat tensor that is an equal slice of the unit (or all of it), of one of
/// its types.
static LogicalResult verifySlice(Operation *op, Type type, UnitOp unit,
                                 Type elementType, StringRef what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t elements = unit.getElements();
  if (tensor && tensor.getRank() == 1 && tensor.getNumElements() > 0 &&
      elements % tensor.getNumElements() == 0 &&
      tensor.getElementType() == elementType)
    return success();
  return op->emitOpError("expects ")
         << what << " to be a slice of " << elements << " x " << elementType
         << ", got " << type;
}

template <typename Start>
static LogicalResult verifyReduction(Start start,
                                     SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(start, start.getUnitAttr(), symbolTable);
  if (!unit || !lookUp<GroupOp>(start, start.getGroupAttr(), symbolTable))
    return failure();
  return verifySlice(start, start.getFlat().getType(), unit,
                     unit.getGradientType(), "the flat gradient");
}

LogicalResult
ReduceScatterStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyReduction(*this, symbolTable)))
    return failure();
  int64_t elements =
      cast<RankedTensorType>(getFlat().getType()).getNumElements();
  int64_t size = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable).getSize();
  if (elements % size != 0)
    return emitOpError("expects a multiple of the group's ")
           << size << " ranks, got " << elements << " elements";
  return success();
}

LogicalResult ReduceScatterWaitOp::verify() {
  if (getToken().getDefiningOp<ReduceRowsStartOp>())
    return success();
  return verifyToken<ReduceScatterStartOp>(*this);
}
LogicalResult
ReduceScatterWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (auto rows = getToken().getDefiningOp<ReduceRowsStartOp>()) {
    UnitOp unit = lookUp<UnitOp>(*this, rows.getUnitAttr(), symbolTable);
    return unit ? verifyFlat(*this, getShard().getType(),
                             unit.getFlatGradientType(
                                 static_cast<int64_t>(unit.getShards())),
                             "the shard")
                : failure();
  }
  auto start = getToken().getDefiningOp<ReduceScatterStartOp>();
  if (!start) // reported by verify()
    return failure();
  GroupOp group = lookUp<GroupOp>(*this, start.getGroupAttr(), symbolTable);
  auto flat = cast<RankedTensorType>(start.getFlat().getType());
  if (!group)
    return failure();
  return verifyFlat(
      *this, getShard().getType(),
      RankedTensorType::get(
          {flat.getNumElements() / static_cast<int64_t>(group.getSize())},
          flat.getElementType()),
      "the shard");
}

LogicalResult AllReduceGradientsStartOp::verifySymbolUses(
    SymbolTableCollection &symbolTable) {
  return verifyReduction(*this, symbolTable);
}

LogicalResult AllReduceGradientsWaitOp::verify() {
  return verifyToken<AllReduceGradientsStartOp>(*this);
}
LogicalResult
AllReduceGradientsWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<AllReduceGradientsStartOp>();
  if (!start) // reported by verify()
    return failure();
  return verifyFlat(*this, getFlat().getType(),
                    cast<RankedTensorType>(start.getFlat().getType()),
                    "the sum");
}

LogicalResult
FlatGradientsOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getOperandTypes(),
                                "gradient", symbolTable, /*gradients=*/true)))
    return failure();
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  return verifyFlat(*this, getFlat().getType(), unit.getFlatGradientType(),
                    "the flat gradient");
}

template <typename Start>
static Communication reduction(Start start, StringRef kind) {
  Communication result(kind, PhaseKind::backward, start.getUnit(),
                       start.getGroup(), start.getFlat().getType());
  result.last = start.getLast();
  return result;
}

Communication ReduceScatterStartOp::getCommunication(SymbolTable &) {
  return reduction(*this, "reduce_scatter");
}
Communication AllReduceGradientsStartOp::getCommunication(SymbolTable &) {
  return reduction(*this, "all_reduce");
}
