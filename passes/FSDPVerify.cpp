// fsdp-verify: what must hold between the fsdp ops of a step, whoever moved
// them last.
#include "passes/Passes.h"
#include "passes/verify/GatherVerifier.h"
#include "passes/verify/ReductionVerifier.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPVERIFY
#include "passes/Passes.h.inc"

namespace {

using fsdp::UnitOp;

/// Checks one function in one walk over its ops.
class FunctionVerifier {
public:
  FunctionVerifier(func::FuncOp function, const FSDPSymbols &symbols)
      : function(function), gathers(symbols), reductions(symbols) {}

  LogicalResult run();

private:
  /// What an op does to gathers and reductions.
  LogicalResult visit(Operation &op);
  /// A start has one wait, which the same block holds (after it, since the
  /// token dominates).
  static LogicalResult verifyToken(Operation &op);
  static LogicalResult verifyRegions(Operation &op);

  func::FuncOp function;
  GatherVerifier gathers;
  ReductionVerifier reductions;
};

struct FSDPVerify : impl::FSDPVerifyBase<FSDPVerify> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verify();
  /// Units that fit the mesh, and a unit for each parameter at most.
  LogicalResult collectUnits(FSDPSymbols &symbols);
};

} // namespace

LogicalResult FunctionVerifier::run() {
  // Every rank runs the same function: without control flow all collectives
  // come in one order on all of them.
  if (!function.getBody().hasOneBlock())
    return function.emitError(
        "expects one block, so that collectives have one order on all ranks");
  for (Operation &op : function.getBody().front())
    if (failed(gathers.verifyUses(op)) || failed(visit(op)) ||
        failed(verifyToken(op)) || failed(verifyRegions(op)))
      return failure();
  if (failed(gathers.verifyReleased()))
    return failure();
  return reductions.verifyOptimizer(function);
}

LogicalResult FunctionVerifier::visit(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](nn::GetParameterOp get) { return gathers.onGetParameter(get); })
      .Case(
          [&](fsdp::AllGatherStartOp start) { return gathers.onGather(start); })
      .Case(
          [&](fsdp::AllGatherWaitOp wait) { return gathers.onGathered(wait); })
      .Case(
          [&](fsdp::GatherRowsStartOp start) { return gathers.onRows(start); })
      .Case([&](fsdp::ReleaseOp release) { return gathers.onRelease(release); })
      .Case([&](fsdp::FlatGradientsOp flat) { return reductions.onFlat(flat); })
      .Case(
          [&](fsdp::AccumulateOp sum) { return reductions.onAccumulate(sum); })
      .Case([&](fsdp::ReduceRowsStartOp start) {
        return reductions.onRows(start);
      })
      .Case<fsdp::ReduceScatterStartOp, fsdp::AllReduceGradientsStartOp>(
          [&](auto start) { return reductions.onReduction(start); })
      .Case<fsdp::ReduceScatterWaitOp, fsdp::AllReduceGradientsWaitOp>(
          [&](auto wait) { return reductions.onReduced(wait); })
      .Case([&](fsdp::MatrixDirectionOp direction) {
        return reductions.onDirection(direction);
      })
      .Case([&](fsdp::OptimizerStepOp step) {
        return failure(failed(gathers.onStep(step)) ||
                       failed(reductions.onStep(step)));
      })
      .Case([&](fsdp::AllGatherUpdatesStartOp start) {
        return reductions.onUpdates(start);
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult FunctionVerifier::verifyToken(Operation &op) {
  for (Value result : op.getResults()) {
    if (!isa<fsdp::TokenType>(result.getType()))
      continue;
    if (!result.hasOneUse()) {
      InFlightDiagnostic error = op.emitError("expects one wait, got ")
                                 << llvm::range_size(result.getUses());
      for (Operation *user : result.getUsers())
        error.attachNote(user->getLoc()) << "a wait is here";
      return error;
    }
    Operation *wait = *result.user_begin();
    if (wait->getBlock() != op.getBlock() ||
        !wait->hasTrait<fsdp::EndsCollective>()) {
      InFlightDiagnostic error =
          op.emitError("expects its token to go to a wait in the same block");
      error.attachNote(wait->getLoc()) << "it goes here";
      return error;
    }
  }
  return success();
}

LogicalResult FunctionVerifier::verifyRegions(Operation &op) {
  for (Region &region : op.getRegions()) {
    WalkResult result = region.walk([&](Operation *inner) {
      if (!isa<fsdp::FSDPDialect>(inner->getDialect()))
        return WalkResult::advance();
      inner->emitError(
          "stands in a region; collectives have no control flow around them");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult FSDPVerify::verify() {
  ModuleOp module = getOperation();
  FSDPSymbols symbols;
  SmallVector<fsdp::MeshOp> meshes =
      llvm::to_vector(module.getOps<fsdp::MeshOp>());
  if (meshes.size() != 1)
    return module.emitError("expects one fsdp.mesh, got ") << meshes.size();
  symbols.mesh = meshes[0];
  if (failed(collectUnits(symbols)))
    return failure();
  for (auto group : module.getOps<fsdp::GroupOp>())
    symbols.groups[group.getSymNameAttr()] = group;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(FunctionVerifier(function, symbols).run()))
      return failure();
  return success();
}

LogicalResult FSDPVerify::collectUnits(FSDPSymbols &symbols) {
  fsdp::MeshOp mesh = symbols.mesh;
  for (UnitOp unit : getOperation().getOps<UnitOp>()) {
    symbols.units.push_back(unit);
    symbols.unitNamed[unit.getSymNameAttr()] = unit;
    if (static_cast<int64_t>(unit.getShards()) != mesh.getShards()) {
      InFlightDiagnostic error = unit.emitError("has ")
                                 << unit.getShards()
                                 << " shards, the mesh cuts into "
                                 << mesh.getShards();
      error.attachNote(mesh.getLoc()) << "the mesh is here";
      return error;
    }
    if (unit.isTrained() && static_cast<int64_t>(unit.getOptimizerShards()) !=
                                mesh.getOptimizerShards()) {
      InFlightDiagnostic error = unit.emitError("has ")
                                 << unit.getOptimizerShards()
                                 << " optimizer slices, the mesh cuts "
                                 << "into " << mesh.getOptimizerShards();
      error.attachNote(mesh.getLoc()) << "the mesh is here";
      return error;
    }
    for (auto name : unit.getParameters().getAsRange<FlatSymbolRefAttr>())
      if (auto [entry, isNew] =
              symbols.unitOf.try_emplace(name.getAttr(), unit);
          !isNew) {
        InFlightDiagnostic error = unit.emitError("has ")
                                   << name
                                   << ", which is in another unit already";
        error.attachNote(entry->second.getLoc()) << "the other unit is here";
        return error;
      }
  }
  return success();
}

} // namespace shardc
