// nn-remat: backward computes again what is cheaper to compute than to keep.
// What that is stands in analysis/SavedValues.h; here ops are cloned.
#include "passes/Passes.h"
#include "passes/analysis/SavedValues.h"

#include "mlir/IR/IRMapping.h"

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

bool isLibraryCall(Operation *op) {
  return isa<nn::NNDialect>(op->getDialect()) && !isa<nn::KernelBody>(op);
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
      bool isCall = isLibraryCall(op);
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

  static bool isLook(Operation *op) {
    return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
           storageOf(op->getResult(0)) != op->getResult(0);
  }

  /// The value as an op of backward reads it that stands at the insertion
  /// point.
  Value inBackward(Value value, int64_t place) {
    Value storage = storageOf(value);
    Operation *producer = storage.getDefiningOp();
    if (!producer || !saved.isRecomputed(producer))
      return value;
    if (value == storage)
      return again(cast<OpResult>(storage), place);
    Operation *look = value.getDefiningOp();
    IRMapping mapping;
    mapping.map(look->getOperand(0), inBackward(look->getOperand(0), place));
    return builder.clone(*look, mapping)->getResult(0);
  }

  /// An op on one tensor becomes part of each kernel that reads its result,
  /// `place` being what no library call divides: it costs no traffic there.
  /// Others run once.
  static bool runsInEachKernel(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1;
  }

  Value again(OpResult result, int64_t place) {
    Operation *op = result.getOwner();
    if (!runsInEachKernel(op))
      place = shared;
    auto found = clones.find({op, place});
    if (found != clones.end())
      return found->second->getResult(result.getResultNumber());
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, inBackward(operand, place));
    Operation *clone = builder.clone(*op, mapping);
    clone->setDiscardableAttr("nn.recomputed", builder.getUnitAttr());
    clones[{op, place}] = clone;
    return clone->getResult(result.getResultNumber());
  }

  const SavedValues &saved;
  OpBuilder builder;
  SmallVector<Operation *> backward;
  llvm::DenseMap<std::pair<Operation *, int64_t>, Operation *> clones;
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
    if (policy != "cheap" && policy != "none") {
      module.emitError("remat ") << policy << ": there are cheap and none";
      return signalPassFailure();
    }
    llvm::Expected<Cluster> machine = Cluster::load(cluster);
    if (!machine) {
      module.emitError(llvm::toString(machine.takeError()));
      return signalPassFailure();
    }
    CostModel costs(std::move(*machine));
    SavedValues saved(train, costs);
    if (policy == "cheap")
      saved.recomputeCheap(movedPerSaved, mostTime);
    note(module, saved);
    Recomputer(train, saved).run();
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
    module->setAttr(
        "nn.remat",
        builder.getDictionaryAttr(
            {builder.getNamedAttr("policy", builder.getStringAttr(policy)),
             number("read_bytes", saved.bytesRead()),
             number("kept_bytes", saved.bytesKept()),
             number("recomputed_bytes", saved.recomputedBytes()),
             number("recomputed_flops", saved.recomputedFlops()),
             seconds("recomputed_seconds", saved.recomputedSeconds()),
             seconds("step_seconds", saved.stepSeconds())}));
  }
};

} // namespace
} // namespace shardc
