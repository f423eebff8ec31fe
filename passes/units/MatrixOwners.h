// Which rank makes what is made of a whole matrix. Knows sizes only; nothing of
// MLIR.
#ifndef SHARDC_PASSES_UNITS_MATRIXOWNERS_H
#define SHARDC_PASSES_UNITS_MATRIXOWNERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace shardc {

struct MatrixShape {
  int64_t rows = 0, columns = 0;
  bool operator==(const MatrixShape &) const = default;
};

/// What one step of a Newton-Schulz iteration multiplies and adds for such a
/// matrix, with s its shorter side and l its longer one: 4 s^2 l + 2 s^3.
double matrixCost(MatrixShape shape);

/// Who gets which matrix. A rank has its matrices in slots, which are the same
/// for all ranks, since all run one plan: several of one shape where a rank
/// gets several, and some that hold nothing where it gets fewer.
struct MatrixDeal {
  llvm::SmallVector<int64_t> owners; // by matrix: the rank
  llvm::SmallVector<int64_t> slots;  // by matrix: an index of slotShapes
  llvm::SmallVector<MatrixShape> slotShapes;
};

/// Deals matrices to ranks, some at a time, so that what each rank has to
/// compute is about the same over all of them. Of one shape every rank gets
/// equally many, as far as they go; those that are left, the costly ones first,
/// go to the ranks with the least work so far, one each at most. Of equal ranks
/// it is the first: a deal depends on shapes and ranks alone.
class MatrixOwners {
public:
  explicit MatrixOwners(int64_t ranks) : work(ranks) {}

  MatrixDeal deal(llvm::ArrayRef<MatrixShape> matrices);
  /// By rank, what was dealt to it so far.
  llvm::ArrayRef<double> loads() const { return work; }

private:
  /// The `count` ranks with the least work.
  std::vector<int64_t> leastLoaded(int64_t count) const;

  std::vector<double> work;
};

} // namespace shardc

#endif
