// Where the samples of a rank's batch lie in the values of a function: of a
// value that has them, element i belongs to sample i / stride % samples.
#ifndef SHARDC_PASSES_ANALYSES_SAMPLESTRIDES_H
#define SHARDC_PASSES_ANALYSES_SAMPLESTRIDES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc {

class SampleStrides {
public:
  /// Follows the samples from the function's inputs and labels, whose first dim
  /// they are.
  explicit SampleStrides(mlir::func::FuncOp function);

  /// The samples of a rank's batch; 0 without inputs.
  int64_t samples() const { return count; }
  /// 0 where a value is no function of an input. Where the samples are lost
  /// from sight, they are taken to be outermost, if they divide the elements.
  int64_t strideOf(mlir::Value value) const;
  /// The same, but 0 where the samples are lost from sight as well.
  int64_t found(mlir::Value value) const { return places.lookup(value).stride; }
  /// The dim that has the samples; none where they are lost from sight.
  std::optional<size_t> dimOf(mlir::Value value) const;

private:
  /// A dim that has all samples, and how many of its positions one of them takes
  /// before the next begins.
  struct Place {
    size_t dim;
    int64_t inner;
  };
  /// 0 where samples were lost from sight; a reshape may give them no dim.
  struct Found {
    int64_t stride = 0;
    std::optional<Place> place;
  };

  void follow(mlir::Operation &op);
  Found at(mlir::Value value, size_t dim, Place place, int64_t size) const;
  Found moved(mlir::Operation &op, mlir::Value operand, Place place,
              mlir::Value result) const;
  std::optional<Place> placeOf(llvm::ArrayRef<int64_t> shape,
                               int64_t stride) const;
  Found outermost(mlir::Value value) const;

  int64_t count = 0;
  /// The values that depend on inputs.
  llvm::DenseMap<mlir::Value, Found> places;
};

} // namespace shardc

#endif
