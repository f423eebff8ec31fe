// fsdp-shard: parameters come from all-gathers, gradients go to
// reduce-scatters, the optimizer runs on shards.
#include "passes/Passes.h"

#include "frontend/nn/support/Formula.h"
#include "passes/analyses/ParameterUses.h"
#include "passes/analyses/WholeMatrices.h"
#include "passes/options/PrefetchOption.h"
#include "passes/shard/FinishStep.h"
#include "passes/shard/Groups.h"
#include "passes/shard/Reductions.h"
#include "passes/shard/UseRegions.h"
#include "runtime/device/Optimizers.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPSHARD
#include "passes/Passes.h.inc"

namespace {

using fsdp::Groups;
using fsdp::PhaseKind;

/// The live range of a unit's gathered parameters: that of a phase, or of both
/// where they stay gathered in between.
struct Gather {
  Operation *first = nullptr; // ops that compute with them
  Operation *last = nullptr;
  Operation *start = nullptr;
  ValueRange parameters;
  Operation *release = nullptr;
};

/// Rewrites one function.
class Sharder {
public:
  Sharder(func::FuncOp function, fsdp::MeshOp mesh, Groups groups,
          ArrayRef<fsdp::UnitOp> units, fsdp::UpdateRule rule,
          const PrefetchOption &prefetch, bool accumulatesFlat);
  LogicalResult run();

private:
  /// Everything up to the op that makes the loss is forward.
  PhaseKind phaseOf(Operation *op);
  /// The live range that an op's use of a unit belongs to: a unit that stays
  /// gathered has one for both phases.
  PhaseKind phaseOf(fsdp::UnitOp unit, Operation *op);
  /// Uses of parameters that are in units; notes the first and the last of each
  /// unit, phase and region.
  SmallVector<ParameterUses::Use> collectUses();
  SmallVector<Type> parameterTypes(fsdp::UnitOp unit) {
    return unit.getParameterTypes(symbolTable);
  }

  /// Units that are not sharded lie on every rank.
  void insertResidents();
  /// Inserts start, wait and release around each live range; starts are still
  /// beside their waits.
  void insertGathers();
  /// Where backward gathers a unit within a smaller group: the slice for it,
  /// taken out of what forward gathered, before its release.
  Value keepSlice(fsdp::UnitOp unit, PhaseKind phase);
  fsdp::GroupOp reshardGroup(fsdp::UnitOp unit);
  /// Operation::moveBefore would make the block number all its ops again for
  /// the next isBeforeInBlock; an op taken out and put in numbers itself alone.
  void put(Operation *op, Block::iterator before);
  /// Moves each start before the wait of the gather so many places ahead, so
  /// that it runs under that unit's compute: but not before its own unit was
  /// released, and never past an earlier start. Units that were split from one
  /// group are used at one place.
  void placeStarts();
  /// Lets ops compute with the gathered parameters of their phase. Chains of
  /// views between a parameter and an op are made again per phase, where they
  /// are used first: a view of a released buffer would dangle.
  void rewriteUses(ArrayRef<ParameterUses::Use> uses);
  /// Statistics of all ranks are sums over the dimensions of the mesh.
  void sumOverRanks();

  func::FuncOp function;
  fsdp::MeshOp mesh;
  Groups groups;
  ArrayRef<fsdp::UnitOp> units;
  fsdp::UpdateRule rule;
  PrefetchOption prefetch;
  OpBuilder builder;
  Block &body;
  fsdp::TokenType token;
  SymbolTableCollection symbolTable;
  Value loss;
  llvm::DenseMap<StringAttr, std::pair<fsdp::UnitOp, size_t>>
      slots; // parameter -> unit, position in it
  llvm::DenseMap<int64_t, fsdp::GroupOp> innerGroups; // by size, stride 1
  using Region = std::pair<std::pair<fsdp::UnitOp, PhaseKind>, int>;
  Region regionOf(fsdp::UnitOp unit, Operation *op);
  llvm::MapVector<Region, Gather> gathers;
  std::optional<fsdp::UseRegions> regions;
  llvm::DenseMap<Operation *, Value> keptSlices; // by unit
  fsdp::Reductions reductions;
};

Sharder::Sharder(func::FuncOp function, fsdp::MeshOp mesh, Groups groups,
                 ArrayRef<fsdp::UnitOp> units, fsdp::UpdateRule rule,
                 const PrefetchOption &prefetch, bool accumulatesFlat)
    : function(function), mesh(mesh), groups(std::move(groups)), units(units),
      rule(rule), prefetch(prefetch), builder(function.getContext()),
      body(function.getBody().front()),
      token(fsdp::TokenType::get(function.getContext())),
      reductions(function, this->groups, accumulatesFlat) {
  for (fsdp::UnitOp unit : units)
    for (auto [position, name] :
         llvm::enumerate(unit.getParameters().getAsRange<FlatSymbolRefAttr>()))
      slots[name.getAttr()] = {unit, position};
  for (auto group :
       function->getParentOfType<ModuleOp>().getOps<fsdp::GroupOp>())
    if (group.getStride() == 1)
      innerGroups.try_emplace(group.getSize(), group);
}

LogicalResult Sharder::run() {
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() == 0)
    return function.emitError("expects @")
           << function.getName() << " to return the loss";
  loss = terminator->getOperand(0);
  if (failed(reductions.collect(units)))
    return failure();
  SmallVector<ParameterUses::Use> uses = collectUses();
  insertResidents();
  insertGathers();
  placeStarts();
  rewriteUses(uses);
  sumOverRanks();
  for (auto &[key, gather] : gathers)
    reductions.addUse(key.first.first,
                      gather.release ? gather.release : gather.last);
  reductions.insert();
  fsdp::finishStep(function, mesh, groups, reductions.all(), rule);
  return success();
}

PhaseKind Sharder::phaseOf(Operation *op) {
  Operation *lossOp = loss.getDefiningOp();
  return !lossOp || op == lossOp || op->isBeforeInBlock(lossOp)
             ? PhaseKind::forward
             : PhaseKind::backward;
}

PhaseKind Sharder::phaseOf(fsdp::UnitOp unit, Operation *op) {
  if (unit.getReshard() == 1 &&
      gathers.contains({{unit, PhaseKind::forward}, 0}))
    return PhaseKind::forward;
  return phaseOf(op);
}

SmallVector<ParameterUses::Use> Sharder::collectUses() {
  SmallVector<ParameterUses::Use> uses;
  ParameterUses all(function);
  for (const ParameterUses::Use &use : all.uses()) {
    auto slot = slots.find(use.parameter);
    if (slot == slots.end())
      continue;
    uses.push_back(use);
  }
  SmallVector<fsdp::UnitUse> ofUnits;
  for (const ParameterUses::Use &use : uses) {
    Operation *op = use.operand->getOwner();
    ofUnits.push_back({slots[use.parameter].first, op, phaseOf(op)});
  }
  regions.emplace(ofUnits);
  for (const ParameterUses::Use &use : uses) {
    Operation *op = use.operand->getOwner();
    Gather &gather = gathers[regionOf(slots[use.parameter].first, op)];
    if (!gather.first)
      gather.first = op;
    gather.last = op;
  }
  return uses;
}

Sharder::Region Sharder::regionOf(fsdp::UnitOp unit, Operation *op) {
  return {{unit, phaseOf(unit, op)}, regions->of(unit, op)};
}

void Sharder::insertResidents() {
  builder.setInsertionPointToStart(&body);
  llvm::DenseMap<Operation *, ValueRange> residents; // by unit
  for (auto &[key, gather] : gathers) {
    fsdp::UnitOp unit = key.first.first;
    if (unit.getShards() != 1)
      continue;
    auto [place, isNew] = residents.try_emplace(unit);
    if (isNew)
      place->second =
          fsdp::ResidentOp::create(builder, unit.getLoc(), parameterTypes(unit),
                                   unit.getSymName())
              .getResults();
    gather.parameters = place->second;
  }
}

void Sharder::insertGathers() {
  for (auto &[key, gather] : gathers) {
    auto [unit, phase] = key.first;
    if (unit.getShards() == 1)
      continue;
    fsdp::GroupOp group = groups.parameters;
    Value kept = keepSlice(unit, phase);
    if (kept)
      group = reshardGroup(unit);
    builder.setInsertionPoint(gather.first);
    // An evaluation is one micro-batch, and each unit is used there once.
    bool first = unit.getStays() && function.getSymName() == "train";
    auto start = fsdp::AllGatherStartOp::create(
        builder, gather.first->getLoc(), token, unit.getSymName(), phase,
        group.getSymName(), kept, first);
    auto wait =
        fsdp::AllGatherWaitOp::create(builder, gather.first->getLoc(),
                                      parameterTypes(unit), start.getToken());
    gather.start = start;
    gather.parameters = wait.getResults();
    builder.setInsertionPointAfter(gather.last);
    gather.release = fsdp::ReleaseOp::create(
        builder, gather.last->getLoc(), unit.getSymName(), wait.getResults());
  }
}

Value Sharder::keepSlice(fsdp::UnitOp unit, PhaseKind phase) {
  fsdp::GroupOp group = reshardGroup(unit);
  if (phase != PhaseKind::backward || !group)
    return {};
  const Gather *forward = nullptr; // the last one
  for (int region = 0;; ++region) {
    auto found = gathers.find({{unit, PhaseKind::forward}, region});
    if (found == gathers.end())
      break;
    forward = &found->second;
  }
  Value &kept = keptSlices[unit];
  if (!forward || kept)
    return kept;
  builder.setInsertionPoint(forward->release);
  kept = fsdp::KeepOp::create(
      builder, forward->release->getLoc(), unit.getFlatType(unit.getReshard()),
      unit.getSymName(), forward->parameters, group.getSymName());
  return kept;
}

fsdp::GroupOp Sharder::reshardGroup(fsdp::UnitOp unit) {
  if (unit.getReshard() == 1 || unit.getReshard() == unit.getShards())
    return {};
  return innerGroups.lookup(unit.getReshard());
}

void Sharder::put(Operation *op, Block::iterator before) {
  if (op->getIterator() == before)
    return;
  op->remove();
  body.getOperations().insert(before, op);
}

void Sharder::placeStarts() {
  SmallVector<Gather *> inOrder;
  for (auto &[key, gather] : gathers)
    if (gather.start)
      inOrder.push_back(&gather);
  llvm::DenseMap<Operation *, Operation *> released; // by unit, so far
  Operation *lastStart = nullptr;
  SmallVector<Gather *> places; // the first gather of each
  std::pair<Attribute, PhaseKind> before;
  for (Gather *gather : inOrder) {
    auto start = cast<fsdp::AllGatherStartOp>(gather->start);
    Operation *unit =
        symbolTable.lookupNearestSymbolFrom(function, start.getUnitAttr());
    std::pair place(unit->getAttr(fsdp::gatheredWithAttr), start.getPhase());
    if (!place.first || place != before)
      places.push_back(gather);
    before = place;
    if (int64_t depth = start.getPhase() == PhaseKind::forward
                            ? prefetch.forward
                            : prefetch.backward;
        depth > 0) {
      int64_t here = places.size() - 1;
      Gather *ahead = places[std::max<int64_t>(here - depth, 0)];
      put(start, ahead->parameters.front().getDefiningOp()->getIterator());
    }
    for (Operation *bound : {released.lookup(unit), lastStart})
      if (bound && start->isBeforeInBlock(bound))
        put(start, std::next(bound->getIterator()));
    released[unit] = gather->release;
    lastStart = start;
  }
}

void Sharder::rewriteUses(ArrayRef<ParameterUses::Use> uses) {
  llvm::DenseMap<std::pair<Value, std::pair<int, int>>, Value> made;
  llvm::SetVector<Operation *> replaced;
  for (const ParameterUses::Use &use : uses) {
    Operation *op = use.operand->getOwner();
    auto [unit, position] = slots[use.parameter];
    Region region = regionOf(unit, op);
    SmallVector<Operation *> chain; // from the use to the parameter
    for (Operation *link = use.operand->get().getDefiningOp(); link;
         link = isa<nn::GetParameterOp>(link)
                    ? nullptr
                    : link->getOperand(0).getDefiningOp())
      chain.push_back(link);
    replaced.insert(chain.rbegin(), chain.rend());
    Value value = gathers[region].parameters[position];
    builder.setInsertionPoint(op);
    for (Operation *link : llvm::reverse(ArrayRef(chain).drop_back())) {
      // Made again in backward even where the parameters stay: a kernel's
      // cast is cheaper than memory held between the phases.
      Value &copy = made[{link->getResult(0),
                          {static_cast<int>(phaseOf(op)), region.second}}];
      if (!copy) {
        IRMapping mapping;
        mapping.map(link->getOperand(0), value);
        copy = builder.clone(*link, mapping)->getResult(0);
      }
      value = copy;
    }
    use.operand->set(value);
  }
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
  // Parameters that nothing computes with.
  function.walk([&](nn::GetParameterOp get) {
    if (get->use_empty() && slots.contains(get.getParameterAttr().getAttr()))
      get.erase();
  });
}

void Sharder::sumOverRanks() {
  for (auto op : llvm::make_early_inc_range(body.getOps<fsdp::RankSumOp>())) {
    builder.setInsertionPoint(op);
    Location loc = op.getLoc();
    Value sum = op.getInput();
    for (auto [group, normIsPartial] : groups.ofDims) {
      if (!group)
        continue;
      auto start = fsdp::AllReduceStartOp::create(
          builder, loc, token, ValueRange(sum), phaseOf(op), group.getSymName(),
          ArrayRef(false));
      sum = fsdp::AllReduceWaitOp::create(
                builder, loc, TypeRange(sum.getType()), start.getToken())
                .getSums()[0];
    }
    op.replaceAllUsesWith(sum);
    op.erase();
  }
}

struct FSDPShard : impl::FSDPShardBase<FSDPShard> {
  using FSDPShardBase::FSDPShardBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto meshes = module.getOps<fsdp::MeshOp>();
    auto train = module.lookupSymbol<func::FuncOp>("train");
    if (meshes.empty() || !train) {
      module.emitError("expects fsdp.mesh and @train; run nn-differentiate and "
                       "fsdp-form-units first");
      return signalPassFailure();
    }
    if (!findOptimizer(optimizer)) {
      module.emitError("optimizer ")
          << optimizer << ": expected " << optimizerNames();
      return signalPassFailure();
    }
    auto depths = PrefetchOption::parse(prefetch);
    if (!depths) {
      module.emitError(llvm::toString(depths.takeError()));
      return signalPassFailure();
    }
    if (accumulate.empty())
      accumulate = (*meshes.begin()).getOptimizerDims().empty() ? "unsharded"
                                                                : "sharded";
    if (accumulate != "sharded" && accumulate != "unsharded") {
      module.emitError("accumulate ")
          << accumulate << ": there are sharded and unsharded";
      return signalPassFailure();
    }
    if (failed(markMatrices()) || failed(checkUpdate()))
      return signalPassFailure();
    SmallVector<fsdp::UnitOp> units =
        llvm::to_vector(module.getOps<fsdp::UnitOp>());
    module->setAttr(fsdp::accumulateAttr,
                    StringAttr::get(&getContext(), accumulate));
    Groups groups = fsdp::groupsOf(module, *meshes.begin());
    for (func::FuncOp function :
         {train, module.lookupSymbol<func::FuncOp>("eval")})
      if (function &&
          failed(Sharder(function, *meshes.begin(), groups, units,
                         {optimizer, newtonSchulzSteps, update == "backward"},
                         *depths, accumulate == "unsharded")
                     .run()))
        return signalPassFailure();
  }

private:
  /// Whether units can be updated where `update` says.
  LogicalResult checkUpdate() {
    ModuleOp module = getOperation();
    if (update == "step")
      return success();
    if (update != "backward")
      return module.emitError("update ")
             << update << ": there are step and backward";
    if (findOptimizer(optimizer)->takesMatrices())
      return module.emitError("update backward: ")
             << optimizer
             << " takes whole matrices, whose directions are made when all "
                "gradients are there; update step does that";
    for (auto unit : module.getOps<fsdp::UnitOp>())
      if (unit.getElementType().isF16() || unit.getGradientType().isF16())
        return unit.emitError("update backward: gradients in float16 are "
                              "scaled, and a step is skipped where their norm "
                              "is not finite, which is not known yet; expects "
                              "--precision with another type, or update step");
    return success();
  }
  /// Says of what is no matrix to the optimizer that AdamW updates it.
  LogicalResult markMatrices() {
    ModuleOp module = getOperation();
    if (!findOptimizer(optimizer)->takesMatrices())
      return success();
    auto forward = module.lookupSymbol<func::FuncOp>("eval");
    FailureOr<llvm::DenseSet<Operation *>> found = wholeMatrices(
        module, forward ? forward : module.lookupSymbol<func::FuncOp>("train"),
        llvm::to_vector(matrices));
    if (failed(found))
      return failure();
    for (auto parameter : module.getOps<nn::ParameterOp>())
      if (parameter.getTrainable() && !found->contains(parameter) &&
          !parameter->hasAttr(nn::optimizerAttr))
        parameter->setAttr(nn::optimizerAttr,
                           StringAttr::get(&getContext(), "adamw"));
    return success();
  }
};

} // namespace
} // namespace shardc
