// Decides which values of the forward pass are kept for the backward pass, and
// which are computed again there.
#ifndef SHARDC_PASSES_ANALYSES_SAVEDVALUES_H
#define SHARDC_PASSES_ANALYSES_SAVEDVALUES_H

#include "passes/analyses/ForwardRegions.h"
#include "passes/analyses/RecomputationCut.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace shardc {

/// What may run again.
struct RecomputationRules {
  /// Null: generated code. Library calls run again only inside of a region.
  std::function<bool(mlir::Operation *)> allows;
  ForwardRegions regions;
  /// Whether the library adds what is added to a product's result.
  bool fusesSums = false;
  /// The ranks that gather a unit which backward needs for this alone.
  RankGroup gatherers;
};

/// Everything up to the op that makes the loss, the function's first result, is
/// the forward pass.
mlir::Operation *lastForwardOp(mlir::func::FuncOp train);

/// What holds the elements of `value`: looks through views and broadcasts.
mlir::Value storageOf(mlir::Value value);

/// Positions in the backward pass.
struct BackwardSpan {
  int64_t first = -1, last = -1;
  bool isEmpty() const { return first < 0; }
  void add(BackwardSpan other);
};

/// A connected component: ops that read each other's results, or the same
/// values that would be kept for them alone. What they save and cost does not
/// depend on other components.
struct RecomputationComponent {
  llvm::SmallVector<mlir::Operation *> ops; // in their order
  int64_t savedBytes = 0;
  double seconds = 0;
};

/// What two prices close to each other bring.
struct RecomputationBracket {
  OpSet less, more;
};

/// Decides what to recompute, as a minimum cut: whatever backward reads must be
/// computable from what is kept, and every value that is kept costs its bytes,
/// all of which are alive when backward begins; every op that runs again costs
/// the bytes that could have been moved in its time, at a rate. (Cuts for
/// recomputation: Chen et al., arXiv:1604.06174, leave the choice open; as a
/// minimum cut it is PyTorch's AOTAutograd, functorch/_functorch/
/// partitioners.py.) Losses never run again.
class SavedValues {
public:
  /// Reads a function that nn-differentiate made. What parameters of a unit
  /// (`fsdp.unit`) are needed for can be computed again only while backward has
  /// them gathered anyway, or in a region, where a gather may be added.
  SavedValues(mlir::func::FuncOp train, const CostModel &costs,
              RecomputationRules rules);

  /// Recomputes what is cheap: bytes that are not kept at less than
  /// `movedPerSaved` times as many bytes of memory traffic (or their time), and
  /// in all at most `mostTime` of the step's arithmetic. Where all of it would
  /// take longer, what saves most bytes per second is recomputed, and of what
  /// saves equally many (a model's layers are alike) as much as there is time
  /// for, from the first layer on.
  void recomputeCheap(double movedPerSaved, double mostTime);

  /// Recomputes all that saves memory, whatever it takes.
  void recomputeAll();
  /// Recomputes what saves most memory in `share` of the step's arithmetic.
  void recomputeWithin(double share);
  /// Recomputes what takes the least time and leaves at most `bytes`; false, and
  /// `fewest` is what can be left, where nothing does.
  bool recomputeDownTo(int64_t bytes, int64_t &fewest);

  /// Whether backward does not find the results of `op`, but runs it again.
  bool isRecomputed(mlir::Operation *op) const {
    return recomputed.contains(op);
  }

  /// Bytes of the values that backward reads from forward: as differentiation
  /// leaves them, and after what was decided. Parameters, inputs and constants
  /// do not count.
  int64_t bytesRead() const;
  int64_t bytesKept() const { return bytesKeptWith(recomputed); }
  /// What running the recomputed ops once costs.
  int64_t recomputedFlops() const;
  int64_t recomputedBytes() const;
  /// Estimates by the machine's rates: the time of what runs again, and that of
  /// the step's own arithmetic.
  double recomputedSeconds() const { return secondsOf(recomputed); }
  double stepSeconds() const;
  /// Units that backward gathers for what runs again alone.
  int64_t extraGathers() const { return gathersFor(recomputed).size(); }

  /// Says of each value that backward is made from, in forward's order, what
  /// becomes of it and why: `again` where it is computed again, else it is kept.
  void explain(
      llvm::function_ref<void(mlir::Value, bool again, std::string)> say) const;

private:
  using Span = BackwardSpan;
  using Component = RecomputationComponent;
  using Bracket = RecomputationBracket;

  /// Whether backward has a value without its being kept: parameters, inputs,
  /// constants, and cheap conversions of these.
  bool isFree(mlir::Value storage) const { return free.contains(storage); }
  /// The unit of a parameter; null where it has none.
  mlir::StringAttr unitOf(mlir::StringAttr parameter) const;
  void findFreeValues();
  void findNeeds();
  /// Which ops may run again, from the last to the first.
  void findCandidates();
  bool mayRunAgain(mlir::Operation *op, Span span) const;
  bool isAllowed(mlir::Operation *op) const;
  /// Whether it lives no longer than backward of its region.
  bool isBounded(mlir::Operation *op) const {
    return rules.regions.contains(op) && !rules.regions.makesInput(op);
  }
  /// What the library adds to a product is not made apart from it.
  void findFusedSums();
  std::vector<ExtraGather> gathersFor(const OpSet &ops) const;
  /// Whether backward has the parameters that an op reads at a position.
  bool hasParametersAt(mlir::Operation *op, int64_t place) const;
  struct Choice {
    OpSet ops; // that run again
    llvm::DenseMap<mlir::Operation *, int64_t> firstReader;
  };
  double secondsOf(const OpSet &ops) const;
  /// Returns those of the ops for which `wanted` holds that backward requires.
  Choice requiredOps(llvm::function_ref<bool(mlir::Operation *)> wanted) const;
  /// Whether all of it can run where it is read first.
  bool hasParametersFor(const Choice &choice) const;
  /// The best choice when a second costs `bytesPerSecond`, without ops whose
  /// parameters are not there.
  OpSet chooseAt(double bytesPerSecond);
  using Wanted = llvm::DenseSet<mlir::Operation *>;
  /// What `choose` returns of a network, without ops whose parameters are not
  /// there. Times are estimated for ops that run `beside` those.
  OpSet choose(const OpSet &beside,
               llvm::function_ref<Wanted(RecomputationCut &)> choose);
  /// Generated code may become one kernel with any other; a library call only
  /// makes a kernel write what it reads where it was chosen.
  OpSet besideOf(const OpSet &chosen) const;

  /// Returns what `more` has and `less` has not, in components that save
  /// something, those first that save most per second.
  llvm::SmallVector<Component> componentsBetween(const OpSet &less,
                                                 const OpSet &more) const;
  /// Returns `less` and as many of the components as `seconds` allow.
  OpSet fillUp(const OpSet &less, const OpSet &more, double seconds) const;
  /// The same with as few of them as leave `bytes`.
  OpSet fillDown(const OpSet &less, const OpSet &more, int64_t bytes) const;
  /// Those between which `isMore` begins to hold: where it holds at `price`,
  /// which brings `there`; at any, or twice what the lowest one brings.
  Bracket bracketAt(double price, OpSet there,
                    llvm::function_ref<bool(const OpSet &)> isMore);
  Bracket bracketFor(llvm::function_ref<bool(const OpSet &)> isMore);

  mlir::func::FuncOp train;
  mlir::SymbolTable symbols; // of the module
  const CostModel &costs;
  RecomputationRules rules;
  mlir::Operation *lastForward;
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  int64_t flops = 0;
  int64_t elementBytes = 4;
  llvm::DenseSet<mlir::Value> free;
  /// The places where backward has a unit's parameters, by unit.
  llvm::StringMap<Span> gathered;
  /// Values of forward that ops of backward read, and where.
  llvm::MapVector<mlir::Value, Span> needs;
  OpSet candidates;
  /// Products whose one reader is an addition that the library makes.
  llvm::DenseSet<mlir::Value> inside;
  /// What is kept of forward where these run again, parameters, inputs and
  /// constants apart.
  llvm::SetVector<mlir::Value> keptWith(const OpSet &ops) const;
  int64_t bytesKeptWith(const OpSet &ops) const;
  std::string whyKept(mlir::Value value,
                      const llvm::SetVector<mlir::Value> &kept) const;

  /// The network of the candidates; null when they changed.
  std::unique_ptr<RecomputationCut> network;
  OpSet recomputed;
  /// For explain(): what might have run again but for parameters that are not
  /// gathered there, and but for the time of the step.
  OpSet withoutParameters, affordable;
  bool hasChosen = false;
  double budget = 0; // seconds for all that runs again
};

} // namespace shardc

#endif
