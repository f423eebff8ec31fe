// What gathers of parameters check against their unit and their start. What
// holds between ops (one wait per start, no use after release) is the pass
// fsdp-verify's; so it is for reductions.
#include "passes/fsdp/FSDP.h"
#include "passes/fsdp/Verification.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

LogicalResult ResidentOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getResultTypes(),
                                "result", symbolTable)))
    return failure();
  if (UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
      unit.getShards() != 1)
    return emitOpError("expects a unit of 1 shard, got ")
           << unit.getShards() << "; gather it";
  return success();
}

LogicalResult
AllGatherStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  GroupOp group = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable);
  if (!unit || !group)
    return failure();
  int64_t size = group.getSize();
  if (getKept())
    return verifyFlat(*this, getKept().getType(), unit.getFlatType(size),
                      "what was kept");
  if (size != static_cast<int64_t>(unit.getShards()))
    return emitOpError("expects a group of ")
           << unit.getShards() << " ranks, one per shard of " << getUnitAttr()
           << ", got " << size;
  return success();
}

LogicalResult KeepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getOperandTypes(),
                                "operand", symbolTable)))
    return failure();
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  GroupOp group = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable);
  if (!group)
    return failure();
  return verifyFlat(*this, getKept().getType(),
                    unit.getFlatType(static_cast<int64_t>(group.getSize())),
                    "what is kept");
}

LogicalResult AllGatherWaitOp::verify() {
  return verifyToken<AllGatherStartOp>(*this);
}
LogicalResult
AllGatherWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<AllGatherStartOp>();
  if (!start) // reported by verify()
    return failure();
  return verifyPerParameter(*this, start.getUnitAttr(), getResultTypes(),
                            "result", symbolTable);
}

LogicalResult ReleaseOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyPerParameter(*this, getUnitAttr(), getOperandTypes(), "operand",
                            symbolTable);
}

LogicalResult
AllGatherUpdatesStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  GroupOp group = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable);
  if (!unit || !group)
    return failure();
  if (group.getSize() * unit.getShards() != unit.getOptimizerShards())
    return emitOpError("expects a group that makes ")
           << unit.getOptimizerShards() << " optimizer slices into "
           << unit.getShards() << " of parameters, got " << group.getSize()
           << " ranks";
  return success();
}

LogicalResult AllGatherUpdatesWaitOp::verify() {
  return verifyToken<AllGatherUpdatesStartOp>(*this);
}
LogicalResult
AllGatherUpdatesWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success(); // the start says it all
}

Communication AllGatherStartOp::getCommunication(SymbolTable &symbols) {
  auto unit = symbols.lookup<UnitOp>(getUnit());
  Communication result("all_gather", getPhase(), getUnit(), getGroup(),
                       unit.getFlatType());
  result.first = getFirst();
  return result;
}

Communication AllGatherUpdatesStartOp::getCommunication(SymbolTable &symbols) {
  auto unit = symbols.lookup<UnitOp>(getUnit());
  return {"all_gather", PhaseKind::optimizer, getUnit(), getGroup(),
          unit.getFlatType(static_cast<int64_t>(unit.getShards()))};
}
