// What a loss makes of sums over a batch: whether it is the mean of what each
// sample gives by itself, so that the mean over ranks is that of all samples, or
// divides by such sums, takes roots of them, or compares samples.
#ifndef SHARDC_PASSES_ANALYSES_SAMPLESUMS_H
#define SHARDC_PASSES_ANALYSES_SAMPLESUMS_H

#include "passes/analyses/SampleStrides.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace shardc {

class SampleSums {
public:
  /// Looks at what the function's first result, the loss, is made of.
  explicit SampleSums(mlir::func::FuncOp function);

  /// How a sum over the samples of a rank's batch (a mean, or a loss) is used
  /// otherwise than by adding it up, in the order of the function.
  struct Use {
    mlir::Operation *sum = nullptr;
    /// Whether a value of a sample is computed from it: the gradient that
    /// reaches the sum is then another on each rank.
    bool meetsSamples = false;
    /// Whether a trained parameter is applied to such a value, as behind the statistics
    /// of a batch norm: it is part of the model then, not of the loss.
    bool isStatistic = false;
    /// Whether it is used together with values whose samples were lost from
    /// sight: what they would be in one process is not known.
    bool isLost = false;
    /// What one process with the batches of all ranks has, if that is the sum
    /// over ranks times this: 1 for a sum, 1 / ranks for a mean; 0 where uses
    /// differ. This is the use with two batches, `fourfold` that with four.
    double factor(const Use &fourfold, int64_t ranks) const;
    /// What a number of the graph multiplies it with before each of its uses
    /// that do not add up, and before the loss; a mean is a sum divided by what
    /// is added.
    llvm::SmallVector<double, 2> multipliers;
  };
  std::vector<Use> uses() const;

  /// Ops whose results depend on several samples of a batch at a time and are no
  /// sums: products of samples with each other, softmaxes over them.
  llvm::ArrayRef<mlir::Operation *> mixing() const { return mixes; }

  int64_t samples() const { return strides.samples(); }

  /// The graph's numbers that meet sums otherwise than as their factors: what is
  /// divided by a sum, or added to it, as tensors, and how many elements of a sum
  /// are added up. In one process they are the same, unless they are numbers of a
  /// batch.
  llvm::ArrayRef<mlir::Attribute> constants() const { return numbers; }

private:
  using Ops = llvm::SmallSetVector<mlir::Operation *, 2>;
  enum class Kind {
    None,    // the same whatever the batch is
    Sample,  // each element is of one sample
    Sum,     // of sums over samples
    Unknown, // samples were lost from sight
  };
  /// What is known of a value.
  struct Fact {
    Kind kind = Kind::None;
    /// The sums that it is made of, and those of them that it is made of by
    /// addition alone: the mean over ranks of it is that of all samples.
    Ops sums, added;
    /// Of a sample's value, or a sum of such: the sums that were met on the way
    /// and may be statistics of the model.
    Ops met;
    bool isOfParameters = false; // of None: of trained ones
  };

  const Fact &of(mlir::Value value) const;
  Use &use(mlir::Operation *sum);
  bool isTrained(mlir::Operation &op) const;
  void findNumbers(mlir::Operation &op);
  void finish();
  using Seen = llvm::DenseMap<mlir::Value, llvm::SmallVector<double, 1>>;
  void measure(mlir::Value value, double multiplier, Use &use,
               Seen &seen) const;
  void follow(mlir::Operation &op);
  Fact factOf(mlir::Operation &op);
  Fact ofReduction(mlir::Operation &op, const Fact &operand);
  Fact ofProduct(mlir::Operation &op);
  Fact ofLoss(mlir::Operation &op);
  Fact ofSamples(mlir::Operation &op);
  Fact sum(mlir::Operation &op, Fact fact);
  Fact mixed(mlir::Operation &op);
  bool isAdding(mlir::Operation &op) const;
  /// All that the operands are made of; sums are used by more than additions.
  Fact joined(mlir::Operation &op, Kind kind);
  Fact merged(mlir::Operation &op, Kind kind) const;
  std::optional<size_t> sampleDim(mlir::Value value) const;

  SampleStrides strides;
  llvm::DenseSet<mlir::StringAttr> trainable;
  mlir::Value loss;
  llvm::SetVector<mlir::Operation *> behind; // the loss
  llvm::DenseMap<mlir::Value, Fact> facts;
  /// By sum; those that are used by more than additions.
  llvm::MapVector<mlir::Operation *, Use> found;
  llvm::SmallVector<mlir::Operation *> mixes;
  llvm::SmallVector<mlir::Attribute> numbers;
};

} // namespace shardc

#endif
