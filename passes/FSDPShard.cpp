// fsdp-shard: parameters come from all-gathers, gradients go to
// reduce-scatters, the optimizer runs on shards.
#include "passes/Passes.h"
#include "passes/analysis/ParameterUses.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPSHARD
#include "passes/Passes.h.inc"

namespace {

using fsdp::PhaseKind;

/// The stretch of a phase in which a unit's parameters are needed.
struct Gather {
  Operation *first = nullptr; // ops that compute with them
  Operation *last = nullptr;
  Operation *start = nullptr;
  ValueRange parameters;
  Operation *release = nullptr;
};

/// A unit's gradients: complete after `ready`.
struct Reduction {
  fsdp::UnitOp unit;
  SmallVector<Value> gradients;
  Operation *ready = nullptr;
  Operation *start = nullptr;
  Value flat; // the rank's shard of their sum, or all of it
};

/// Rewrites one function.
class Sharder {
public:
  Sharder(func::FuncOp function, fsdp::MeshOp mesh,
          ArrayRef<fsdp::UnitOp> units, StringRef optimizer, int64_t prefetch)
      : function(function), mesh(mesh), units(units), optimizer(optimizer),
        prefetch(prefetch), builder(function.getContext()),
        body(function.getBody().front()),
        token(fsdp::TokenType::get(function.getContext())) {
    for (fsdp::UnitOp unit : units)
      for (auto [position, name] : llvm::enumerate(
               unit.getParameters().getAsRange<FlatSymbolRefAttr>()))
        slots[name.getAttr()] = {unit, position};
  }

  LogicalResult run() {
    Operation *terminator = body.getTerminator();
    if (terminator->getNumOperands() == 0)
      return function.emitError("expects @")
             << function.getName() << " to return the loss";
    loss = terminator->getOperand(0);
    if (failed(collectGradients()))
      return failure();
    SmallVector<ParameterUses::Use> uses = collectUses();
    insertResidents();
    insertGathers();
    placeStarts();
    rewriteUses(uses);
    insertReductions();
    finishStep();
    return success();
  }

private:
  /// Everything up to the op that makes the loss is forward.
  PhaseKind phaseOf(Operation *op) {
    Operation *lossOp = loss.getDefiningOp();
    return !lossOp || op == lossOp || op->isBeforeInBlock(lossOp)
               ? PhaseKind::forward
               : PhaseKind::backward;
  }

  /// Uses of parameters that are in units; notes the first and the last of each
  /// unit and phase.
  SmallVector<ParameterUses::Use> collectUses() {
    SmallVector<ParameterUses::Use> uses;
    ParameterUses all(function);
    for (const ParameterUses::Use &use : all.uses()) {
      auto slot = slots.find(use.parameter);
      if (slot == slots.end())
        continue;
      uses.push_back(use);
      Operation *op = use.operand->getOwner();
      Gather &gather = gathers[{slot->second.first, phaseOf(op)}];
      if (!gather.first)
        gather.first = op;
      gather.last = op;
    }
    return uses;
  }

  SmallVector<Type> parameterTypes(fsdp::UnitOp unit) {
    return unit.getParameterTypes(symbolTable);
  }

  /// Units that are not sharded lie on every rank.
  void insertResidents() {
    builder.setInsertionPointToStart(&body);
    for (fsdp::UnitOp unit : units) {
      if (unit.getShards() != 1)
        continue;
      fsdp::ResidentOp resident;
      for (PhaseKind phase : {PhaseKind::forward, PhaseKind::backward})
        if (auto gather = gathers.find({unit, phase});
            gather != gathers.end()) {
          if (!resident)
            resident = fsdp::ResidentOp::create(builder, unit.getLoc(),
                                                parameterTypes(unit),
                                                unit.getSymName());
          gather->second.parameters = resident.getResults();
        }
    }
  }

  /// Start, wait and release around each stretch; starts stand beside their
  /// waits still.
  void insertGathers() {
    for (auto &[key, gather] : gathers) {
      auto [unit, phase] = key;
      if (unit.getShards() == 1)
        continue;
      builder.setInsertionPoint(gather.first);
      auto start = fsdp::AllGatherStartOp::create(
          builder, gather.first->getLoc(), token, unit.getSymName(), phase);
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

  /// Moves each start before the wait of the gather `prefetch` places ahead, so
  /// that it runs under that unit's compute: but not before its own unit was
  /// released, and never past an earlier start.
  void placeStarts() {
    SmallVector<Gather *> inOrder;
    for (auto &[key, gather] : gathers)
      if (gather.start)
        inOrder.push_back(&gather);
    llvm::DenseMap<Operation *, Operation *>
        released; // unit -> its release so far
    Operation *lastStart = nullptr;
    for (auto [index, gather] : llvm::enumerate(inOrder)) {
      Operation *start = gather->start;
      if (prefetch > 0) {
        Gather *ahead =
            inOrder[index >= static_cast<size_t>(prefetch) ? index - prefetch
                                                           : 0];
        start->moveBefore(ahead->parameters.front().getDefiningOp());
      }
      Operation *unit = symbolTable.lookupNearestSymbolFrom(
          function, cast<fsdp::AllGatherStartOp>(start).getUnitAttr());
      for (Operation *bound : {released.lookup(unit), lastStart})
        if (bound && start->isBeforeInBlock(bound))
          start->moveAfter(bound);
      released[unit] = gather->release;
      lastStart = start;
    }
  }

  /// Lets ops compute with the gathered parameters of their phase. Chains of
  /// views between a parameter and an op are made again per phase, where they
  /// are used first: a view of a released buffer would dangle.
  void rewriteUses(ArrayRef<ParameterUses::Use> uses) {
    llvm::DenseMap<std::pair<Value, int>, Value> made;
    llvm::SetVector<Operation *> replaced;
    for (const ParameterUses::Use &use : uses) {
      Operation *op = use.operand->getOwner();
      auto [unit, position] = slots[use.parameter];
      PhaseKind phase = phaseOf(op);
      SmallVector<Operation *> chain; // from the use to the parameter
      for (Operation *link = use.operand->get().getDefiningOp(); link;
           link = isa<nn::GetParameterOp>(link)
                      ? nullptr
                      : link->getOperand(0).getDefiningOp())
        chain.push_back(link);
      replaced.insert(chain.rbegin(), chain.rend());
      Value value = gathers[{unit, phase}].parameters[position];
      builder.setInsertionPoint(op);
      for (Operation *link : llvm::reverse(ArrayRef(chain).drop_back())) {
        Value &copy = made[{link->getResult(0), static_cast<int>(phase)}];
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

  /// One gradient per parameter of each unit, from the results of the function.
  LogicalResult collectGradients() {
    llvm::DenseMap<StringAttr, Value> gradientOf;
    for (unsigned index = 1; index < function.getNumResults(); ++index)
      if (auto name = function.getResultAttrOfType<FlatSymbolRefAttr>(
              index, "nn.gradient_of"))
        gradientOf[name.getAttr()] = body.getTerminator()->getOperand(index);
    if (gradientOf.empty())
      return success();
    for (fsdp::UnitOp unit : units) {
      Reduction &reduction = reductions.emplace_back();
      reduction.unit = unit;
      for (auto name : unit.getParameters().getAsRange<FlatSymbolRefAttr>()) {
        Value gradient = gradientOf.lookup(name.getAttr());
        if (!gradient)
          return function.emitError("expects a result with nn.gradient_of = ")
                 << name << ", a parameter of " << unit.getSymName();
        reduction.gradients.push_back(gradient);
        Operation *op = gradient.getDefiningOp();
        if (op && (!reduction.ready || reduction.ready->isBeforeInBlock(op)))
          reduction.ready = op;
      }
    }
    return success();
  }

  /// Each unit's reduction begins when its last gradient is there, and is
  /// waited for before the next but one begins: two flat gradients are alive,
  /// and one is on its way while the next is computed.
  void insertReductions() {
    SmallVector<Reduction *> inOrder;
    for (Reduction &reduction : reductions)
      inOrder.push_back(&reduction);
    auto isReadyBefore = [](Reduction *a, Reduction *b) {
      if (a->ready == b->ready)
        return a < b; // neighbours in one vector: the order of the units
      return !a->ready || (b->ready && a->ready->isBeforeInBlock(b->ready));
    };
    llvm::sort(inOrder, isReadyBefore);
    for (auto [index, reduction] : llvm::enumerate(inOrder)) {
      Operation *after = reduction->ready;
      if (index > 0 && inOrder[index - 1]->ready == reduction->ready)
        after = inOrder[index - 1]->start;
      after ? builder.setInsertionPointAfter(after)
            : builder.setInsertionPointToStart(&body);
      begin(*reduction);
      if (index >= 2) {
        builder.setInsertionPoint(reduction->start);
        end(*inOrder[index - 2]);
      }
    }
    builder.setInsertionPoint(body.getTerminator());
    for (Reduction *reduction : ArrayRef(inOrder).take_back(2))
      end(*reduction);
  }

  void begin(Reduction &reduction) {
    fsdp::UnitOp unit = reduction.unit;
    Location loc = reduction.ready ? reduction.ready->getLoc() : unit.getLoc();
    if (unit.getShards() > 1)
      reduction.start = fsdp::ReduceScatterStartOp::create(
          builder, loc, token, unit.getSymName(), reduction.gradients);
    else if (mesh.getRanks() > 1)
      reduction.start = fsdp::AllReduceGradientsStartOp::create(
          builder, loc, token, unit.getSymName(), reduction.gradients);
    else
      reduction.start =
          fsdp::FlatGradientsOp::create(builder, loc, unit.getFlatType(),
                                        unit.getSymName(), reduction.gradients);
  }

  void end(Reduction &reduction) {
    fsdp::UnitOp unit = reduction.unit;
    Location loc = reduction.start->getLoc();
    Value result = reduction.start->getResult(0);
    if (unit.getShards() > 1)
      reduction.flat = fsdp::ReduceScatterWaitOp::create(
          builder, loc, unit.getShardType(), result);
    else if (mesh.getRanks() > 1)
      reduction.flat = fsdp::AllReduceGradientsWaitOp::create(
          builder, loc, unit.getFlatType(), result);
    else
      reduction.flat = result;
  }

  /// Norm, the one all-reduce, metrics and the optimizer, in place of the
  /// results.
  void finishStep() {
    Operation *terminator = body.getTerminator();
    Location loc = terminator->getLoc();
    builder.setInsertionPoint(terminator);
    auto doubles = RankedTensorType::get({}, builder.getF64Type());
    bool training = !reductions.empty(), alone = mesh.getRanks() == 1;
    // Where every rank has all gradients the norm needs no communication.
    bool normIsPartial = false;
    Value norm;
    if (training) {
      SmallVector<Value> flats;
      for (Reduction &reduction : reductions) {
        flats.push_back(reduction.flat);
        normIsPartial |= reduction.unit.getShards() > 1;
      }
      norm = fsdp::SquaredNormOp::create(builder, loc, doubles, flats,
                                         normIsPartial ? 1 : mesh.getRanks());
    }
    Value total = loss;
    if (!alone) {
      // One collective has one element type, and more digits cost nothing here.
      if (total.getType() != doubles)
        total = nn::CastOp::create(builder, loc, doubles, total);
      SmallVector<Value> values = {total};
      if (normIsPartial)
        values.push_back(norm);
      auto start = fsdp::AllReduceStartOp::create(
          builder, loc, token, values,
          training ? PhaseKind::optimizer : PhaseKind::forward);
      auto wait = fsdp::AllReduceWaitOp::create(
          builder, loc, TypeRange(ValueRange(values)), start.getToken());
      total = wait.getSums()[0];
      if (normIsPartial)
        norm = wait.getSums()[1];
    }
    fsdp::ReportOp::create(builder, loc, "loss", total);
    if (training)
      fsdp::ReportOp::create(builder, loc, "squared_norm", norm);
    for (Reduction &reduction : reductions)
      fsdp::OptimizerStepOp::create(builder, reduction.unit.getLoc(),
                                    reduction.unit.getSymName(), reduction.flat,
                                    norm, optimizer);

    func::ReturnOp::create(builder, loc);
    terminator->erase();
    (void)function.eraseResults(
        llvm::BitVector(function.getNumResults(), true));
  }

  func::FuncOp function;
  fsdp::MeshOp mesh;
  ArrayRef<fsdp::UnitOp> units;
  StringRef optimizer;
  int64_t prefetch;
  OpBuilder builder;
  Block &body;
  fsdp::TokenType token;
  SymbolTableCollection symbolTable;
  Value loss;
  llvm::DenseMap<StringAttr, std::pair<fsdp::UnitOp, size_t>>
      slots; // parameter -> unit, position in it
  llvm::MapVector<std::pair<fsdp::UnitOp, PhaseKind>, Gather> gathers;
  SmallVector<Reduction> reductions; // in the order of the units
};

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
    if (optimizer != "adamw" && optimizer != "adam" && optimizer != "sgd") {
      module.emitError("optimizer ")
          << optimizer << ": there are adamw, adam and sgd";
      return signalPassFailure();
    }
    if (prefetch < 0) {
      module.emitError("prefetch ")
          << prefetch
          << ": expected the number of units to gather ahead, 0 or more";
      return signalPassFailure();
    }
    SmallVector<fsdp::UnitOp> units =
        llvm::to_vector(module.getOps<fsdp::UnitOp>());
    for (func::FuncOp function :
         {train, module.lookupSymbol<func::FuncOp>("eval")})
      if (function &&
          failed(Sharder(function, *meshes.begin(), units, optimizer, prefetch)
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace shardc
