// Where gradients are reduced in a step: of fsdp-shard.
#ifndef SHARDC_PASSES_SHARD_REDUCTIONS_H
#define SHARDC_PASSES_SHARD_REDUCTIONS_H

#include "passes/shard/Groups.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::fsdp {

/// A unit's gradients: complete after `ready`.
struct Reduction {
  UnitOp unit;
  llvm::SmallVector<mlir::Value> gradients;
  mlir::Operation *first = nullptr; // what makes one
  mlir::Operation *ready = nullptr;
  mlir::Operation *start = nullptr;  // the flat gradient, and what reduces it
  mlir::Operation *across = nullptr; // the same, over the outer dimension
  mlir::Value flat;                  // as far as it is reduced
  /// The last op that needs the unit's parameters as they were.
  mlir::Operation *lastUse = nullptr;
};

/// The reductions of a function's gradients, one for each trained unit.
class Reductions {
public:
  /// With `accumulatesFlat`, gradients of micro-batches are added up before
  /// they are reduced, else after.
  Reductions(mlir::func::FuncOp function, const Groups &groups,
             bool accumulatesFlat)
      : function(function), body(function.getBody().front()), groups(groups),
        accumulatesFlat(accumulatesFlat), builder(function.getContext()),
        token(TokenType::get(function.getContext())) {}

  /// Finds the gradients among the results of the function, none where it has
  /// no gradients at all. Reports an error where some lack.
  mlir::LogicalResult collect(llvm::ArrayRef<UnitOp> units);
  /// Inserts what begins each and what waits for it.
  void insert();
  /// Notes that an op needs the parameters of a unit.
  void addUse(UnitOp unit, mlir::Operation *op);

  /// In the order of the units.
  llvm::ArrayRef<Reduction> all() const { return reductions; }

private:
  void begin(Reduction &reduction);
  void end(Reduction &reduction);
  void endAcross(Reduction &reduction);
  mlir::Value accumulated(mlir::Value value, mlir::Type accumulator);

  mlir::func::FuncOp function;
  mlir::Block &body;
  Groups groups;
  bool accumulatesFlat;
  mlir::OpBuilder builder;
  TokenType token;
  llvm::SmallVector<Reduction> reductions;
};

} // namespace shardc::fsdp

#endif
