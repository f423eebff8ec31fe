// fsdp-verify: what must hold between the fsdp ops of a step, whoever moved
// them last.
#include "passes/Passes.h"
#include "passes/analysis/ParameterUses.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPVERIFY
#include "passes/Passes.h.inc"

namespace {

using fsdp::UnitOp;

/// A unit's gathered buffer at one place of the walk.
struct Gathered {
  fsdp::AllGatherStartOp start;
  fsdp::AllGatherWaitOp wait;
};

/// How a unit's gradients are reduced and used.
struct Reduced {
  Operation *start = nullptr;
  Value result;
  fsdp::OptimizerStepOp step;
};

/// Checks one function in one walk over its ops.
class FunctionVerifier {
public:
  FunctionVerifier(func::FuncOp function, fsdp::MeshOp mesh,
                   ArrayRef<UnitOp> units,
                   const llvm::DenseMap<StringAttr, UnitOp> &unitOf)
      : function(function), mesh(mesh), unitOf(unitOf) {
    for (UnitOp unit : units)
      reductions.insert({unit.getSymNameAttr(), {}}),
          unitNamed[unit.getSymNameAttr()] = unit;
  }

  LogicalResult run() {
    // Every rank runs the same function: without control flow all collectives
    // come in one order on all of them.
    if (!function.getBody().hasOneBlock())
      return function.emitError(
          "expects one block, so that collectives have one order on all ranks");
    for (Operation &op : function.getBody().front()) {
      if (failed(verifyUses(op)))
        return failure();
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](nn::GetParameterOp get) { return onGetParameter(get); })
              .Case(
                  [&](fsdp::AllGatherStartOp start) { return onGather(start); })
              .Case(
                  [&](fsdp::AllGatherWaitOp wait) { return onGathered(wait); })
              .Case([&](fsdp::ReleaseOp release) { return onRelease(release); })
              .Case<fsdp::ReduceScatterStartOp, fsdp::AllReduceGradientsStartOp,
                    fsdp::FlatGradientsOp>(
                  [&](auto start) { return onReduction(start); })
              .Case([&](fsdp::OptimizerStepOp step) { return onStep(step); })
              .Default([](Operation *) { return success(); });
      if (failed(result) || failed(verifyToken(op)) ||
          failed(verifyRegions(op)))
        return failure();
    }
    for (auto &[name, gathered] : gathers)
      if (gathered.wait)
        return gathered.wait.emitError("gathers @")
               << name.getValue() << ", which is never released";
    return verifyOptimizer();
  }

private:
  /// A start has one wait, which the same block holds (after it, since the
  /// token dominates).
  LogicalResult verifyToken(Operation &op) {
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
          !isa<fsdp::AllGatherWaitOp, fsdp::ReduceScatterWaitOp,
               fsdp::AllReduceGradientsWaitOp, fsdp::AllReduceWaitOp>(wait)) {
        InFlightDiagnostic error =
            op.emitError("expects its token to go to a wait in the same block");
        error.attachNote(wait->getLoc()) << "it goes here";
        return error;
      }
    }
    return success();
  }

  LogicalResult verifyRegions(Operation &op) {
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

  /// No op reads a buffer that was released, through whatever views.
  LogicalResult verifyUses(Operation &op) {
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

  LogicalResult onGetParameter(nn::GetParameterOp get) {
    UnitOp unit = unitOf.lookup(get.getParameterAttr().getAttr());
    if (!unit)
      return success();
    InFlightDiagnostic error = get.emitError("reads ")
                               << get.getParameterAttr()
                               << " outside of its unit; gather "
                               << FlatSymbolRefAttr::get(unit);
    error.attachNote(unit.getLoc()) << "the unit is here";
    return error;
  }

  LogicalResult onGather(fsdp::AllGatherStartOp start) {
    StringAttr name = start.getUnitAttr().getAttr();
    if (unitNamed[name].getShards() == 1) {
      InFlightDiagnostic error = start.emitError("gathers ")
                                 << start.getUnitAttr()
                                 << ", which is not sharded; use fsdp.resident";
      error.attachNote(unitNamed[name].getLoc()) << "the unit is here";
      return error;
    }
    if (Gathered before = gathers.lookup(name); before.start) {
      InFlightDiagnostic error = start.emitError("gathers ")
                                 << start.getUnitAttr()
                                 << " again before its release";
      error.attachNote(before.start.getLoc()) << "gathered here";
      return error;
    }
    gathers[name].start = start;
    return success();
  }

  LogicalResult onGathered(fsdp::AllGatherWaitOp wait) {
    auto start = wait.getToken().getDefiningOp<fsdp::AllGatherStartOp>();
    gathers[start.getUnitAttr().getAttr()].wait = wait;
    for (Value parameter : wait.getParameters())
      gatheredBy[parameter] = wait;
    return success();
  }

  LogicalResult onRelease(fsdp::ReleaseOp release) {
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

  template <typename Op> LogicalResult onReduction(Op start) {
    FlatSymbolRefAttr name = start.getUnitAttr();
    UnitOp unit = unitNamed[name.getAttr()];
    StringRef expected =
        unit.getShards() > 1 ? fsdp::ReduceScatterStartOp::getOperationName()
        : mesh.getRanks() > 1
            ? fsdp::AllReduceGradientsStartOp::getOperationName()
            : fsdp::FlatGradientsOp::getOperationName();
    if (start->getName().getStringRef() != expected) {
      InFlightDiagnostic error = start.emitError("expects gradients of ")
                                 << name << " to go to " << expected;
      error.attachNote(unit.getLoc())
          << "the unit has " << unit.getShards() << " shards, the mesh "
          << mesh.getRanks() << " ranks";
      return error;
    }
    Reduced &reduced = reductions[name.getAttr()];
    if (reduced.start) {
      InFlightDiagnostic error = start.emitError("reduces gradients of ")
                                 << name << " twice";
      error.attachNote(reduced.start->getLoc()) << "reduced here";
      return error;
    }
    reduced.start = start;
    reduced.result = start->getResult(0);
    if (isa<fsdp::TokenType>(reduced.result.getType()) &&
        reduced.result.hasOneUse() &&
        reduced.result.user_begin()->getNumResults() == 1)
      reduced.result = reduced.result.user_begin()->getResult(0);
    return success();
  }

  LogicalResult onStep(fsdp::OptimizerStepOp step) {
    Reduced &reduced = reductions[step.getUnitAttr().getAttr()];
    if (reduced.step) {
      InFlightDiagnostic error = step.emitError("updates ")
                                 << step.getUnitAttr() << " twice";
      error.attachNote(reduced.step.getLoc()) << "updated here";
      return error;
    }
    reduced.step = step;
    if (step.getGradient() != reduced.result) {
      InFlightDiagnostic error =
          step.emitError("expects the reduced gradient of ")
          << step.getUnitAttr();
      if (Operation *other = step.getGradient().getDefiningOp())
        error.attachNote(other->getLoc()) << "the gradient comes from here";
      return error;
    }
    return success();
  }

  /// Where there is an optimizer, every unit is reduced and updated once, by
  /// one norm over all of them.
  LogicalResult verifyOptimizer() {
    if (llvm::none_of(reductions, [](auto &entry) {
          return entry.second.start || entry.second.step;
        }))
      return success();
    Value norm;
    llvm::SetVector<Value> results;
    bool sharded = false;
    for (auto &[name, reduced] : reductions) {
      if (!reduced.start)
        return function.emitError("expects a reduction of the gradients of @")
               << name.getValue();
      if (!reduced.step)
        return reduced.start->emitError("reduces gradients of @")
               << name.getValue() << ", which no fsdp.optimizer_step uses";
      results.insert(reduced.result);
      sharded |= unitNamed[name].getShards() > 1;
      if (norm && reduced.step.getSquaredNorm() != norm)
        return reduced.step.emitError(
            "expects the squared norm that the other steps have");
      norm = reduced.step.getSquaredNorm();
    }
    return verifyNorm(norm, results, sharded);
  }

  LogicalResult verifyNorm(Value norm, const llvm::SetVector<Value> &results,
                           bool sharded) {
    Location loc = norm.getLoc();
    auto wait = norm.getDefiningOp<fsdp::AllReduceWaitOp>();
    if (sharded != static_cast<bool>(wait))
      return emitError(loc)
             << (sharded ? "expects the squared norm of shards to be summed "
                           "over ranks"
                         : "expects a squared norm of whole gradients not to "
                           "be summed over ranks");
    if (wait)
      norm = wait.getToken()
                 .getDefiningOp<fsdp::AllReduceStartOp>()
                 .getValues()[cast<OpResult>(norm).getResultNumber()];
    auto squaredNorm = norm.getDefiningOp<fsdp::SquaredNormOp>();
    if (!squaredNorm)
      return emitError(loc, "expects the optimizer's squared norm to come from "
                            "fsdp.squared_norm");
    int64_t slices = sharded ? 1 : mesh.getRanks();
    if (static_cast<int64_t>(squaredNorm.getSlices()) != slices)
      return squaredNorm.emitError("expects ")
             << slices << " slices, got " << squaredNorm.getSlices();
    for (Value result : results)
      if (llvm::count(squaredNorm.getGradients(), result) != 1) {
        InFlightDiagnostic error =
            squaredNorm.emitError("expects every reduced gradient once");
        error.attachNote(result.getLoc())
            << "this one is there "
            << llvm::count(squaredNorm.getGradients(), result) << " times";
        return error;
      }
    if (squaredNorm.getGradients().size() != results.size())
      return squaredNorm.emitError("expects ")
             << results.size() << " reduced gradients, got "
             << squaredNorm.getGradients().size();
    return success();
  }

  FlatSymbolRefAttr unitName(fsdp::AllGatherWaitOp wait) {
    return wait.getToken()
        .getDefiningOp<fsdp::AllGatherStartOp>()
        .getUnitAttr();
  }

  func::FuncOp function;
  fsdp::MeshOp mesh;
  const llvm::DenseMap<StringAttr, UnitOp> &unitOf; // of a parameter
  llvm::DenseMap<StringAttr, UnitOp> unitNamed;
  llvm::MapVector<StringAttr, Gathered>
      gathers; // begun or there, not released yet
  llvm::DenseMap<Value, fsdp::AllGatherWaitOp> gatheredBy;
  llvm::DenseMap<Operation *, Operation *> releaseOf; // wait -> its release
  llvm::MapVector<StringAttr, Reduced> reductions;
};

struct FSDPVerify : impl::FSDPVerifyBase<FSDPVerify> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verify() {
    ModuleOp module = getOperation();
    SmallVector<fsdp::MeshOp> meshes =
        llvm::to_vector(module.getOps<fsdp::MeshOp>());
    if (meshes.size() != 1)
      return module.emitError("expects one fsdp.mesh, got ") << meshes.size();
    SmallVector<UnitOp> units = llvm::to_vector(module.getOps<UnitOp>());
    llvm::DenseMap<StringAttr, UnitOp> unitOf;
    for (UnitOp unit : units) {
      if (static_cast<int64_t>(unit.getShards()) != meshes[0].getShards()) {
        InFlightDiagnostic error = unit.emitError("has ")
                                   << unit.getShards()
                                   << " shards, the mesh cuts into "
                                   << meshes[0].getShards();
        error.attachNote(meshes[0].getLoc()) << "the mesh is here";
        return error;
      }
      for (auto name : unit.getParameters().getAsRange<FlatSymbolRefAttr>())
        if (auto [entry, isNew] = unitOf.try_emplace(name.getAttr(), unit);
            !isNew) {
          InFlightDiagnostic error = unit.emitError("has ")
                                     << name
                                     << ", which is in another unit already";
          error.attachNote(entry->second.getLoc()) << "the other unit is here";
          return error;
        }
    }
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(FunctionVerifier(function, meshes[0], units, unitOf).run()))
        return failure();
    return success();
  }
};

} // namespace
} // namespace shardc
