// nn-remat: backward computes again what is cheaper to compute than to keep.
// What that is stands in analyses/SavedValues.h; here ops are cloned.
#include "passes/Passes.h"
#include "passes/analyses/OpClasses.h"
#include "passes/analyses/SavedValues.h"
#include "passes/options/Mesh.h"
#include "passes/options/RematOption.h"
#include "passes/units/UnitModel.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <limits>

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNREMAT
#include "passes/Passes.h.inc"

namespace {

// What is saved is worth an eighth of the memory traffic that saves it: a norm
// that reads and writes its rows moves two bytes per byte, a product of two
// tensors three.
constexpr double movedPerSaved = 8;
// Of the step's arithmetic: more would show.
constexpr double mostTime = 0.01;

/// The unit of a parameter; nothing for a buffer.
std::optional<std::string> unitOf(nn::ParameterOp parameter) {
  auto unit = parameter->getAttrOfType<StringAttr>(nn::parameterUnitAttr);
  return unit ? std::optional(unit.str()) : std::nullopt;
}

/// What may run again under a policy that names it.
RecomputationRules rulesOf(const RematOption &option, func::FuncOp train) {
  RecomputationRules rules;
  if (option.kind == RematOption::Cheap || option.kind == RematOption::All ||
      option.kind == RematOption::None)
    return rules;
  Operation *lastForward = lastForwardOp(train);
  if (option.kind != RematOption::Scope) {
    rules.regions = ForwardRegions(train, lastForward, unitOf);
    rules.allows = [&option](Operation *op) {
      StringRef kind = classOf(op);
      if (option.kind == RematOption::Selective)
        return kind != "product" && kind != "attention";
      return option.kind != RematOption::Class ||
             llvm::is_contained(option.classes, kind);
    };
    return rules;
  }
  // One region per text that the expression matches, as --units scope: has it.
  llvm::Regex pattern(translatePattern(option.pattern));
  rules.regions = ForwardRegions(
      train, lastForward,
      [&](nn::ParameterOp parameter) -> std::optional<std::string> {
        if (!isModelParameter(parameter))
          return std::nullopt;
        SmallVector<StringRef> groups;
        return pattern.match(modulePath(parameter), &groups)
                   ? groups.front().str()
                   : "";
      });
  auto inside = std::make_shared<ForwardRegions>(rules.regions);
  rules.allows = [inside](Operation *op) { return inside->contains(op); };
  return rules;
}

/// Clones ops in front of what reads their results in backward.
class Recomputer {
public:
  Recomputer(func::FuncOp train, const SavedValues &saved)
      : saved(saved), builder(train.getContext()) {
    bool isBackward = false;
    Operation *lastForward = lastForwardOp(train);
    for (Operation &op : train.front()) {
      if (isBackward && !op.hasTrait<OpTrait::IsTerminator>())
        backward.push_back(&op);
      isBackward |= &op == lastForward;
    }
  }

  void run() {
    for (Operation *op : backward) {
      bool isCall = hasNoKernel(op);
      if (isCall)
        ++calls;
      // A view follows what reads it: the value is made no sooner.
      if (isLook(op))
        continue;
      builder.setInsertionPoint(op);
      for (OpOperand &operand : op->getOpOperands())
        operand.set(inBackward(operand.get(), isCall ? shared : calls));
    }
    for (Operation *op : llvm::reverse(backward))
      if (isLook(op) && op->use_empty())
        op->erase();
  }

private:
  /// Place of a clone that every later reader takes.
  static constexpr int64_t shared = -1;
  /// Clones of one op: a chain that is made again for each of many readers
  /// would cost its length each time.
  static constexpr int64_t mostClones = 16;

  static bool isLook(Operation *op) {
    return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
           storageOf(op->getResult(0)) != op->getResult(0);
  }

  /// An op on one tensor becomes part of each kernel that reads its result,
  /// `place` being what no library call divides: it costs no traffic there.
  /// Others run once, and so does one that many places ask for.
  int64_t placeOf(Operation *op, int64_t place) {
    if (place == shared || !op->hasTrait<OpTrait::Elementwise>() ||
        op->getNumOperands() != 1)
      return shared;
    if (clones.contains({op, place}))
      return place;
    return clonesOf[op] < mostClones ? place : shared;
  }

  /// A value that is being made again: what it is made of comes first.
  struct Open {
    OpResult value;
    int64_t place;
    IRMapping mapping;
    unsigned next = 0; // operand
  };

  /// The value if it is kept, or was made again already; null if it is to be
  /// made.
  Value known(Value value, int64_t place) {
    Value storage = storageOf(value);
    Operation *producer = storage.getDefiningOp();
    if (!producer || !saved.isRecomputed(producer))
      return value;
    if (value != storage)
      return {};
    auto found = clones.find({producer, placeOf(producer, place)});
    return found == clones.end() ? Value()
                                 : found->second->getResult(
                                       cast<OpResult>(value).getResultNumber());
  }

  /// The value as an op of backward reads it that stands at the insertion
  /// point. What is made again may be a chain as long as the model is deep.
  Value inBackward(Value value, int64_t place) {
    Value made = known(value, place);
    if (made)
      return made;
    SmallVector<Open, 4> open;
    auto enter = [&](Value next, int64_t at) {
      Operation *op = next.getDefiningOp();
      open.push_back({cast<OpResult>(next), isLook(op) ? at : placeOf(op, at),
                      IRMapping()});
    };
    enter(value, place);
    while (!open.empty()) {
      Open &current = open.back();
      Operation *op = current.value.getOwner();
      if (current.next < op->getNumOperands()) {
        Value operand = op->getOperand(current.next);
        if (current.mapping.contains(operand)) {
          ++current.next;
        } else if (Value there = known(operand, current.place)) {
          current.mapping.map(operand, there);
          ++current.next;
        } else {
          enter(operand, current.place);
        }
        continue;
      }
      Operation *clone = builder.clone(*op, current.mapping);
      if (!isLook(op)) {
        clone->setDiscardableAttr(nn::recomputedAttr, builder.getUnitAttr());
        clones[{op, current.place}] = clone;
        ++clonesOf[op];
      }
      made = clone->getResult(current.value.getResultNumber());
      open.pop_back();
      if (!open.empty()) {
        Open &reader = open.back();
        reader.mapping.map(reader.value.getOwner()->getOperand(reader.next++),
                           made);
      }
    }
    return made;
  }

  const SavedValues &saved;
  OpBuilder builder;
  SmallVector<Operation *> backward;
  llvm::DenseMap<std::pair<Operation *, int64_t>, Operation *> clones;
  llvm::DenseMap<Operation *, int64_t> clonesOf;
  /// Library calls so far.
  int64_t calls = 0;
};

struct NNRemat : impl::NNRematBase<NNRemat> {
  using NNRematBase::NNRematBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto train = module.lookupSymbol<func::FuncOp>("train");
    if (!train || train.getNumResults() == 0) {
      module.emitError("expects @train with its loss; run nn-differentiate "
                       "first");
      return signalPassFailure();
    }
    llvm::Expected<RematOption> option = RematOption::parse(policy);
    if (!option)
      return fail(option.takeError());
    if (option->kind == RematOption::Pareto)
      return fail(llvm::createStringError(
          "remat pareto compares policies, and is none: shardc runs them"));
    llvm::Expected<Cluster> machine = Cluster::load(cluster);
    if (!machine)
      return fail(machine.takeError());
    llvm::Expected<MeshShape> shape = parseMesh(mesh);
    if (!shape)
      return fail(shape.takeError());
    llvm::Expected<Sharding> sharding = resolveStrategy(strategy, *shape);
    if (!sharding)
      return fail(sharding.takeError());
    CostModel costs(std::move(*machine));
    RecomputationRules rules = rulesOf(*option, train);
    rules.fusesSums = fusesSums;
    rules.gatherers = {1, sharding->parameterShards(*shape)};
    if (option->kind == RematOption::Scope && rules.regions.isEmpty())
      return fail(llvm::createStringError(
          "--remat " + policy + ": matches no module of a parameter"));
    SavedValues saved(train, costs, std::move(rules));
    if (llvm::Error error = decide(*option, saved))
      return fail(std::move(error));
    note(module, saved);
    if (getContext().getRemarkEngine())
      explain(saved);
    Recomputer(train, saved).run();
  }

  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  llvm::Error decide(const RematOption &option, SavedValues &saved) {
    switch (option.kind) {
    case RematOption::None:
    case RematOption::Pareto:
      break;
    case RematOption::Cheap:
      saved.recomputeCheap(movedPerSaved, mostTime);
      break;
    case RematOption::All:
      saved.recomputeCheap(movedPerSaved,
                           std::numeric_limits<double>::infinity());
      break;
    case RematOption::Selective:
    case RematOption::Unit:
    case RematOption::Class:
    case RematOption::Scope:
      saved.recomputeAll();
      break;
    case RematOption::Time:
      saved.recomputeWithin(option.share);
      break;
    case RematOption::Budget: {
      int64_t fewest = 0;
      if (!saved.recomputeDownTo(static_cast<int64_t>(option.bytes), fewest))
        return llvm::createStringError(
            llvm::formatv("--remat {0}: backward keeps {1} at least; give it "
                          "that much, or each rank fewer samples",
                          policy, bytesText(static_cast<double>(fewest))));
      break;
    }
    }
    return llvm::Error::success();
  }

  void explain(const SavedValues &saved) {
    saved.explain([](Value value, bool again, std::string why) {
      Location place = value.getLoc();
      remark::RemarkOpts options =
          remark::RemarkOpts::name(again ? "again" : "kept")
              .category("nn-remat");
      auto note = again ? remark::passed(place, options)
                        : remark::missed(place, options);
      note << value.getDefiningOp()->getName().getStringRef().str() + " is " +
                  why;
    });
  }

  /// For the report.
  void note(ModuleOp module, const SavedValues &saved) {
    Builder builder(&getContext());
    auto number = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    auto seconds = [&](StringRef name, double value) {
      return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
    };
    SmallVector<NamedAttribute> notes = {
        builder.getNamedAttr("policy", builder.getStringAttr(policy)),
        number("read_bytes", saved.bytesRead()),
        number("kept_bytes", saved.bytesKept()),
        number("recomputed_bytes", saved.recomputedBytes()),
        number("recomputed_flops", saved.recomputedFlops()),
        seconds("recomputed_seconds", saved.recomputedSeconds()),
        seconds("step_seconds", saved.stepSeconds())};
    if (int64_t units = saved.extraGathers())
      notes.push_back(number("regathered_units", units));
    module->setAttr(nn::rematAttr, builder.getDictionaryAttr(notes));
  }
};

} // namespace
} // namespace shardc
