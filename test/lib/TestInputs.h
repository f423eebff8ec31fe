// Values for the arguments of functions in tests, and the training step of such
// a function.
#ifndef SHARDC_TEST_LIB_TESTINPUTS_H
#define SHARDC_TEST_LIB_TESTINPUTS_H

#include "frontend/nn/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::test {

/// The same numbers on every machine: SplitMix64 (Steele, Lea and Flood,
/// OOPSLA 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// Uniform in [low, high).
  double uniform(double low, double high);

private:
  uint64_t state;
};

/// One tensor per argument. Floats are uniform in [-1, 1), integers in [0, 2),
/// or in the range of the argument's attribute `test.range = [low, high]`;
/// `test.values = dense<...>` gives them all.
llvm::SmallVector<nn::HostTensor> makeInputs(mlir::func::FuncOp function);

/// Appends to `module` a module in which @model is `function` with its float
/// arguments as trainable parameters @0, @1, ... (those with `test.constant`
/// stay arguments, as do integers), and returns the sum of its float results,
/// each element with a weight of its own.
mlir::ModuleOp makeModel(mlir::ModuleOp module, mlir::func::FuncOp function);

} // namespace shardc::test

#endif
