// What lookups in a sharded table check against their unit and their start.
#include "passes/fsdp/FSDP.h"
#include "passes/fsdp/Verification.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

/// The table of a unit that is nothing else, in slices of whole rows over the
/// group; null after an error.
static RankedTensorType tableOf(Operation *op, FlatSymbolRefAttr name,
                                FlatSymbolRefAttr groupName,
                                SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(op, name, symbolTable);
  GroupOp group = lookUp<GroupOp>(op, groupName, symbolTable);
  if (!unit || !group)
    return {};
  SmallVector<Type> types = unit.getParameterTypes(symbolTable);
  auto table = types.size() == 1 ? dyn_cast<RankedTensorType>(types[0])
                                 : RankedTensorType();
  if (!table || table.getRank() != 2 || unit.getOffsets()[0] != 0) {
    op->emitOpError("expects a unit of one table at the beginning of its "
                    "flat buffer, got ")
        << name;
    return {};
  }
  int64_t size = group.getSize(), width = table.getDimSize(1),
          elements = unit.getElements();
  if (size == static_cast<int64_t>(unit.getShards()) && width > 0 &&
      width % size == 0 && elements % (size * width) == 0)
    return table;
  op->emitOpError("expects slices of whole rows on as many ranks as divide a "
                  "row, got ")
      << elements << " elements in " << unit.getShards() << " slices, rows of "
      << width << " and " << size << " ranks";
  return {};
}

static LogicalResult verifyRows(Operation *op, Type type, Type ids,
                                int64_t width, Type elementType) {
  auto shape = llvm::to_vector(cast<RankedTensorType>(ids).getShape());
  shape.push_back(width);
  auto expected = RankedTensorType::get(shape, elementType);
  if (type != expected)
    return op->emitOpError("expects rows to be ")
           << expected << ", got " << type;
  return success();
}

static LogicalResult verifyIds(Operation *op, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  if (!element.isSignlessInteger(64) && !element.isSignlessInteger(32))
    return op->emitOpError("expects ids to be i64 or i32, got ") << type;
  return success();
}

LogicalResult
GatherRowsStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success(succeeded(verifyIds(*this, getIds().getType())) &&
                 tableOf(*this, getUnitAttr(), getGroupAttr(), symbolTable));
}

LogicalResult GatherRowsWaitOp::verify() {
  return verifyToken<GatherRowsStartOp>(*this);
}
LogicalResult
GatherRowsWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<GatherRowsStartOp>();
  if (!start) // reported by verify()
    return failure();
  RankedTensorType table =
      tableOf(start, start.getUnitAttr(), start.getGroupAttr(), symbolTable);
  if (!table)
    return failure();
  return verifyRows(*this, getRows().getType(), start.getIds().getType(),
                    table.getDimSize(1), table.getElementType());
}

LogicalResult
ReduceRowsStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  RankedTensorType table =
      tableOf(*this, getUnitAttr(), getGroupAttr(), symbolTable);
  if (!table || failed(verifyIds(*this, getIds().getType())))
    return failure();
  auto type = cast<RankedTensorType>(getGradient().getType());
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  if (getSumType(type.getElementType()) != unit.getGradientType())
    return emitOpError("expects a gradient whose elements are added in ")
           << unit.getGradientType() << ", got " << type;
  return verifyRows(*this, type, getIds().getType(), table.getDimSize(1),
                    type.getElementType());
}

Communication GatherRowsStartOp::getCommunication(SymbolTable &) {
  auto wait = *getToken().user_begin();
  return {"gather_rows", PhaseKind::forward, getUnit(), getGroup(),
          wait->getResult(0).getType()};
}
Communication ReduceRowsStartOp::getCommunication(SymbolTable &) {
  return {"reduce_rows", PhaseKind::backward, getUnit(), getGroup(),
          getGradient().getType()};
}
