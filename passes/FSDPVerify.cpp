// fsdp-verify: what must hold between the fsdp ops of a step, whoever moved
// them last.
#include "passes/Passes.h"
#include "passes/analyses/ParameterUses.h"

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

/// A rank's number in mixed radix: the weight of each digit, and how many
/// values it has.
using MixedRadix = SmallVector<std::pair<int64_t, int64_t>, 2>;

/// Appends a less significant digit; two that are neighbours in the rank's
/// number, too, become one.
void append(MixedRadix &digits, int64_t stride, int64_t size) {
  if (size == 1)
    return;
  if (!digits.empty() && digits.back().first == stride * size)
    digits.back() = {stride, digits.back().second * size};
  else
    digits.push_back({stride, size});
}
void append(MixedRadix &digits, fsdp::GroupOp group) {
  append(digits, group.getStride(), group.getSize());
}

/// The coordinates in these dimensions as one number, which is that of a rank's
/// slice.
MixedRadix mixedRadixOf(fsdp::MeshOp mesh, ArrayRef<int64_t> over) {
  MixedRadix digits;
  for (int64_t dim : over) {
    int64_t stride = 1;
    for (int64_t inner : mesh.getDims().drop_front(dim + 1))
      stride *= inner;
    append(digits, stride, mesh.getDims()[dim]);
  }
  return digits;
}

MixedRadix mixedRadixOf(fsdp::GroupOp group) {
  MixedRadix digits;
  append(digits, group);
  return digits;
}

/// How far a unit's gradients are reduced at one place of the walk.
struct Reduced {
  Operation *flat = nullptr;
  Value value;            // flat gradient, or the slice of its sum
  int64_t summedOver = 1; // ranks
  int64_t slices = 1;     // that it was cut into
  SmallVector<fsdp::GroupOp, 2> groups; // that summed it
  MixedRadix slice;                     // which of them the rank has
  bool isAccumulated = false;
  fsdp::OptimizerStepOp step;
  Operation *gathersUpdates = nullptr;
};

/// Whether two ranks can be in one group of both kinds: a group steps through
/// the digits from its stride on.
bool overlap(fsdp::GroupOp a, fsdp::GroupOp b) {
  return a.getStride() < b.getStride() * b.getSize() &&
         b.getStride() < a.getStride() * a.getSize();
}

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
    for (auto group :
         function->getParentOfType<ModuleOp>().getOps<fsdp::GroupOp>())
      groups[group.getSymNameAttr()] = group;
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
              .Case([&](fsdp::FlatGradientsOp flat) { return onFlat(flat); })
              .Case([&](fsdp::AccumulateOp sum) { return onAccumulate(sum); })
              .Case([&](fsdp::ReduceScatterStartOp start) {
                return onReduction(start, /*scatters=*/true);
              })
              .Case([&](fsdp::AllReduceGradientsStartOp start) {
                return onReduction(start, /*scatters=*/false);
              })
              .Case<fsdp::ReduceScatterWaitOp, fsdp::AllReduceGradientsWaitOp>(
                  [&](auto wait) { return onReduced(wait); })
              .Case([&](fsdp::OptimizerStepOp step) { return onStep(step); })
              .Case([&](fsdp::AllGatherUpdatesStartOp start) {
                return onUpdates(start);
              })
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
               fsdp::AllReduceGradientsWaitOp, fsdp::AllReduceWaitOp,
               fsdp::AllGatherUpdatesWaitOp>(wait)) {
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
    return verifySource(start);
  }

  /// What is gathered comes from the ranks that have it, in the order of their
  /// slices.
  LogicalResult verifySource(fsdp::AllGatherStartOp start) {
    fsdp::GroupOp over = group(start.getGroupAttr());
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

  LogicalResult onFlat(fsdp::FlatGradientsOp flat) {
    FlatSymbolRefAttr name = flat.getUnitAttr();
    Reduced &reduced = reductions[name.getAttr()];
    if (!unitNamed[name.getAttr()].isTrained())
      return flat.emitError("makes gradients of ")
             << name << ", which is frozen";
    if (reduced.flat) {
      InFlightDiagnostic error = flat.emitError("makes gradients of ")
                                 << name << " twice";
      error.attachNote(reduced.flat->getLoc()) << "made here";
      return error;
    }
    reduced.flat = flat;
    reduced.value = flat.getFlat();
    return success();
  }

  LogicalResult onAccumulate(fsdp::AccumulateOp sum) {
    for (auto &[name, reduced] : reductions) {
      if (reduced.value != sum.getValue())
        continue;
      if (reduced.isAccumulated)
        return sum.emitError("adds gradients of @")
               << name.getValue() << " over micro-batches a second time";
      reduced.isAccumulated = true;
      reduced.value = sum.getSum();
    }
    return success();
  }

  template <typename Start>
  LogicalResult onReduction(Start start, bool scatters) {
    FlatSymbolRefAttr name = start.getUnitAttr();
    Reduced &reduced = reductions[name.getAttr()];
    if (start.getFlat() != reduced.value) {
      InFlightDiagnostic error = start.emitError("expects the gradients of ")
                                 << name << " as far as they are reduced";
      if (reduced.value)
        error.attachNote(reduced.value.getLoc()) << "these";
      return error;
    }
    // Before gradients are added over micro-batches every one of them reduces,
    // after that only the last.
    if (start.getLast() != reduced.isAccumulated)
      return start.emitError("reduces gradients ")
             << (start.getLast() ? "of the last micro-batch alone, before they "
                                   "are added up"
                                 : "that are added up already in every "
                                   "micro-batch; expects 'last'");
    fsdp::GroupOp over = group(start.getGroupAttr());
    if (failed(verifySummedOnce(start, over, reduced.groups)))
      return failure();
    int64_t size = over.getSize();
    reduced.summedOver *= size;
    if (scatters) {
      reduced.slices *= size;
      append(reduced.slice, over);
    }
    reduced.value = Value(); // until the wait
    return success();
  }

  /// A sum over the same ranks again would count them several times.
  LogicalResult verifySummedOnce(Operation *start, fsdp::GroupOp over,
                                 SmallVectorImpl<fsdp::GroupOp> &groups) {
    for (fsdp::GroupOp before : groups)
      if (overlap(before, over))
        return start->emitError("sums over @")
               << over.getSymName() << " what is a sum over @"
               << before.getSymName() << " already";
    groups.push_back(over);
    return success();
  }

  template <typename Wait> LogicalResult onReduced(Wait wait) {
    Operation *start = wait.getToken().getDefiningOp();
    auto name = start->getAttrOfType<FlatSymbolRefAttr>("unit");
    reductions[name.getAttr()].value = wait->getResult(0);
    return success();
  }

  LogicalResult onStep(fsdp::OptimizerStepOp step) {
    FlatSymbolRefAttr name = step.getUnitAttr();
    Reduced &reduced = reductions[name.getAttr()];
    if (reduced.step) {
      InFlightDiagnostic error = step.emitError("updates ") << name << " twice";
      error.attachNote(reduced.step.getLoc()) << "updated here";
      return error;
    }
    reduced.step = step;
    if (step.getGradient() != reduced.value) {
      InFlightDiagnostic error =
          step.emitError("expects the reduced gradient of ") << name;
      if (Operation *other = step.getGradient().getDefiningOp())
        error.attachNote(other->getLoc()) << "the gradient comes from here";
      return error;
    }
    int64_t slices = unitNamed[name.getAttr()].getOptimizerShards();
    if (reduced.summedOver != mesh.getRanks() || reduced.slices != slices)
      return step.emitError("expects a gradient summed over ")
             << mesh.getRanks() << " ranks in " << slices
             << " slices, got one summed over " << reduced.summedOver
             << " ranks in " << reduced.slices;
    // The right number of slices, but which has the rank?
    if (reduced.slice != mixedRadixOf(mesh, mesh.getOptimizerDims()))
      return step.emitError("expects the gradient's slice of ")
             << name
             << " that the rank's optimizer has; it was scattered over other "
                "groups, or in another order, than the mesh's optimizer_dims";
    if (!reduced.isAccumulated)
      return step.emitError("expects a gradient that is added up over "
                            "micro-batches (fsdp.accumulate)");
    return success();
  }

  LogicalResult onUpdates(fsdp::AllGatherUpdatesStartOp start) {
    Reduced &reduced = reductions[start.getUnitAttr().getAttr()];
    if (!reduced.step)
      return start.emitError("gathers updates of ")
             << start.getUnitAttr() << " before its optimizer step";
    if (reduced.gathersUpdates) {
      InFlightDiagnostic error = start.emitError("gathers updates of ")
                                 << start.getUnitAttr() << " twice";
      error.attachNote(reduced.gathersUpdates->getLoc()) << "gathered here";
      return error;
    }
    reduced.gathersUpdates = start;
    MixedRadix updated = mixedRadixOf(
        mesh, mesh.getOptimizerDims().drop_front(mesh.getShardDims().size()));
    if (mixedRadixOf(group(start.getGroupAttr())) != updated)
      return start.emitError("gathers updates of ")
             << start.getUnitAttr() << " over " << start.getGroupAttr()
             << ", whose ranks are not those of the mesh's optimizer_dims "
                "behind shard_dims";
    return success();
  }

  /// Where there is an optimizer, every trained unit is reduced and updated
  /// once, by one norm over all of them.
  LogicalResult verifyOptimizer() {
    if (llvm::none_of(reductions, [](auto &entry) {
          return entry.second.flat || entry.second.step;
        }))
      return success();
    Value norm;
    llvm::SetVector<Value> results;
    for (auto &[name, reduced] : reductions) {
      UnitOp unit = unitNamed[name];
      if (!unit.isTrained())
        continue;
      if (!reduced.flat)
        return function.emitError("expects a reduction of the gradients of @")
               << name.getValue();
      if (!reduced.step)
        return reduced.flat->emitError("reduces gradients of @")
               << name.getValue() << ", which no fsdp.optimizer_step uses";
      if (!reduced.gathersUpdates &&
          unit.getOptimizerShards() != unit.getShards())
        return reduced.step.emitError("updates a part of the rank's slice of @")
               << name.getValue() << ", which no all_gather_updates completes";
      results.insert(reduced.step.getGradient());
      if (norm && reduced.step.getNorm() != norm)
        return reduced.step.emitError("expects the norm that the other steps "
                                      "have");
      norm = reduced.step.getNorm();
    }
    return norm ? verifyNorm(norm, results) : success();
  }

  /// The norm is summed over the ranks that hold different slices, and over all
  /// slices where a rank holds them all.
  LogicalResult verifyNorm(Value norm, const llvm::SetVector<Value> &results) {
    Location loc = norm.getLoc();
    int64_t summedOver = 1;
    SmallVector<fsdp::GroupOp, 2> summed;
    while (auto wait = norm.getDefiningOp<fsdp::AllReduceWaitOp>()) {
      auto start = wait.getToken().getDefiningOp<fsdp::AllReduceStartOp>();
      unsigned index = cast<OpResult>(norm).getResultNumber();
      if (!start.getNorms()[index])
        return start.emitError("sums value ")
               << index << " as no norm, but clips by it";
      fsdp::GroupOp over = group(start.getGroupAttr());
      if (failed(verifySummedOnce(start, over, summed)))
        return failure();
      summedOver *= over.getSize();
      norm = start.getValues()[index];
    }
    int64_t slices = mesh.getOptimizerShards();
    if (summedOver != slices)
      return emitError(loc)
             << "expects a norm of gradients in " << slices
             << " slices to be summed over as many ranks, got " << summedOver;
    auto partial = norm.getDefiningOp<fsdp::GradientNormOp>();
    if (!partial)
      return emitError(loc, "expects the optimizer's norm to come from "
                            "fsdp.gradient_norm");
    int64_t expected = mesh.getOptimizerDims().empty() ? mesh.getRanks() : 1;
    int64_t own = 1;
    for (int64_t level : partial.getSlices())
      own *= level;
    if (own != expected)
      return partial.emitError("expects ")
             << expected << " slices, got " << own;
    for (Value result : results)
      if (llvm::count(partial.getGradients(), result) != 1) {
        InFlightDiagnostic error =
            partial.emitError("expects every reduced gradient once");
        error.attachNote(result.getLoc())
            << "this one is there "
            << llvm::count(partial.getGradients(), result) << " times";
        return error;
      }
    if (partial.getGradients().size() != results.size())
      return partial.emitError("expects ")
             << results.size() << " reduced gradients, got "
             << partial.getGradients().size();
    return success();
  }

  fsdp::GroupOp group(FlatSymbolRefAttr name) {
    return groups.lookup(name.getAttr());
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
  llvm::DenseMap<StringAttr, fsdp::GroupOp> groups;
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
      if (unit.isTrained() && static_cast<int64_t>(unit.getOptimizerShards()) !=
                                  meshes[0].getOptimizerShards()) {
        InFlightDiagnostic error = unit.emitError("has ")
                                   << unit.getOptimizerShards()
                                   << " optimizer slices, the mesh cuts "
                                   << "into " << meshes[0].getOptimizerShards();
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
