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

private:
  void follow(mlir::Operation &op);

  int64_t count = 0;
  /// The values that depend on inputs; 0 where samples were lost from sight.
  llvm::DenseMap<mlir::Value, int64_t> strides;
};

} // namespace shardc

#endif
