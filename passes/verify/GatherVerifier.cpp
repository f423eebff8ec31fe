// The gathers of a function: sources, uses, releases.
#include "passes/verify/GatherVerifier.h"

#include "passes/analyses/ParameterUses.h"
#include "passes/verify/MixedRadix.h"

using namespace mlir;

namespace shardc {

static FlatSymbolRefAttr unitName(fsdp::AllGatherWaitOp wait) {
  return wait.getToken().getDefiningOp<fsdp::AllGatherStartOp>().getUnitAttr();
}

LogicalResult GatherVerifier::verifyUses(Operation &op) {
  for (Value operand : op.getOperands()) {
    fsdp::AllGatherWaitOp wait = gatheredBy.lookup(operand);
    if (!wait)
      continue;
    if (Operation *release = releaseOf.lookup(wait)) {
      InFlightDiagnostic error = op.emitError("uses a parameter of ")
                                 << unitName(wait) << " after its release";
      error.attachNote(release->getLoc()) << "released here";
      error.attachNote(wait.getLoc()) << "gathered here";
      return error;
    }
    if (isView(&op))
      gatheredBy[op.getResult(0)] = wait;
  }
  return success();
}

LogicalResult GatherVerifier::onGetParameter(nn::GetParameterOp get) {
  fsdp::UnitOp unit = symbols.unitOf.lookup(get.getParameterAttr().getAttr());
  if (!unit)
    return success();
  InFlightDiagnostic error = get.emitError("reads ")
                             << get.getParameterAttr()
                             << " outside of its unit; gather "
                             << FlatSymbolRefAttr::get(unit);
  error.attachNote(unit.getLoc()) << "the unit is here";
  return error;
}

LogicalResult GatherVerifier::onGather(fsdp::AllGatherStartOp start) {
  StringAttr name = start.getUnitAttr().getAttr();
  if (symbols.unitNamed.lookup(name).getShards() == 1) {
    InFlightDiagnostic error = start.emitError("gathers ")
                               << start.getUnitAttr()
                               << ", which is not sharded; use fsdp.resident";
    error.attachNote(symbols.unitNamed.lookup(name).getLoc())
        << "the unit is here";
    return error;
  }
  if (failed(verifyCurrent(start, start.getUnitAttr())))
    return failure();
  if (Gathered before = gathers.lookup(name); before.start) {
    InFlightDiagnostic error = start.emitError("gathers ")
                               << start.getUnitAttr()
                               << " again before its release";
    error.attachNote(before.start.getLoc()) << "gathered here";
    return error;
  }
  gathers[name].start = start;
  return verifySource(start);
}

LogicalResult GatherVerifier::verifyCurrent(Operation *start,
                                            FlatSymbolRefAttr unit) {
  Operation *update = updated.lookup(unit.getAttr());
  if (!update)
    return success();
  InFlightDiagnostic error = start->emitError("gathers ")
                             << unit << " behind its update";
  error.attachNote(update->getLoc()) << "updated here";
  return error;
}

LogicalResult GatherVerifier::onRows(fsdp::GatherRowsStartOp start) {
  if (failed(verifyCurrent(start, start.getUnitAttr())))
    return failure();
  fsdp::GroupOp over = symbols.group(start.getGroupAttr());
  if (mixedRadixOf(over) != mixedRadixOf(mesh, mesh.getShardDims()))
    return start.emitError("gathers rows of ")
           << start.getUnitAttr() << " over " << start.getGroupAttr()
           << ", whose ranks are not those of the mesh's shard_dims";
  return success();
}

LogicalResult GatherVerifier::onStep(fsdp::OptimizerStepOp step) {
  StringAttr name = step.getUnitAttr().getAttr();
  updated[name] = step;
  Gathered gathered = gathers.lookup(name);
  if (!gathered.start)
    return success();
  InFlightDiagnostic error = step.emitError("updates ")
                             << step.getUnitAttr() << " while it is gathered";
  error.attachNote(gathered.start.getLoc()) << "gathered here";
  return error;
}

LogicalResult GatherVerifier::verifySource(fsdp::AllGatherStartOp start) {
  fsdp::GroupOp over = symbols.group(start.getGroupAttr());
  if (!start.getKept()) {
    if (mixedRadixOf(over) != mixedRadixOf(mesh, mesh.getShardDims()))
      return start.emitError("gathers ")
             << start.getUnitAttr() << " over " << start.getGroupAttr()
             << ", whose ranks are not those of the mesh's shard_dims";
    return success();
  }
  auto keep = start.getKept().getDefiningOp<fsdp::KeepOp>();
  if (keep && keep.getUnitAttr() == start.getUnitAttr() &&
      keep.getGroupAttr() == start.getGroupAttr())
    return success();
  InFlightDiagnostic error = start.emitError("gathers ")
                             << start.getUnitAttr() << " over "
                             << start.getGroupAttr()
                             << " from what is no fsdp.keep of it over them";
  if (Operation *other = start.getKept().getDefiningOp())
    error.attachNote(other->getLoc()) << "it comes from here";
  return error;
}

LogicalResult GatherVerifier::onGathered(fsdp::AllGatherWaitOp wait) {
  auto start = wait.getToken().getDefiningOp<fsdp::AllGatherStartOp>();
  gathers[start.getUnitAttr().getAttr()].wait = wait;
  for (Value parameter : wait.getParameters())
    gatheredBy[parameter] = wait;
  return success();
}

LogicalResult GatherVerifier::onRelease(fsdp::ReleaseOp release) {
  StringAttr name = release.getUnitAttr().getAttr();
  fsdp::AllGatherWaitOp wait = gathers.lookup(name).wait;
  if (!wait)
    return release.emitError("releases ")
           << release.getUnitAttr() << ", which is not gathered here";
  if (!llvm::equal(release.getParameters(), wait.getParameters())) {
    InFlightDiagnostic error = release.emitError(
        "expects the tensors of the wait that it ends, in order");
    error.attachNote(wait.getLoc()) << "the wait is here";
    return error;
  }
  releaseOf[wait] = release;
  gathers.erase(name);
  return success();
}

LogicalResult GatherVerifier::verifyReleased() {
  for (auto &[name, gathered] : gathers)
    if (gathered.wait)
      return gathered.wait.emitError("gathers @")
             << name.getValue() << ", which is never released";
  return success();
}

} // namespace shardc
