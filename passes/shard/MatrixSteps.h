// The end of a step of an optimizer that needs whole matrices: of fsdp-shard.
#ifndef SHARDC_PASSES_SHARD_MATRIXSTEPS_H
#define SHARDC_PASSES_SHARD_MATRIXSTEPS_H

#include "passes/shard/Reductions.h"
#include "passes/units/MatrixOwners.h"

#include "mlir/IR/SymbolTable.h"

#include <functional>
#include <vector>

namespace shardc::fsdp {

/// Units are updated as many at a time as there are ranks: matrices of one
/// shape, of which blocks of a model have one each, then go round evenly, and
/// memory holds no more of directions than that. While the matrices of one
/// batch are computed with, those of the next are on their way.
class MatrixSteps {
public:
  /// What is made of a whole matrix.
  using Formula = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                            mlir::Value matrix)>;

  /// `builder` stands where the optimizer's ops go.
  MatrixSteps(mlir::OpBuilder &builder, mlir::ModuleOp module,
              llvm::ArrayRef<Reduction> reductions, mlir::Value norm,
              int64_t ranks, llvm::StringRef optimizer, Formula formula)
      : builder(builder), symbols(module), reductions(reductions), norm(norm),
        ranks(ranks), owners(ranks), optimizer(optimizer),
        formula(std::move(formula)) {}
  void insert();

private:
  /// Units that go together, and how far they are.
  struct Batch {
    llvm::SmallVector<const Reduction *> members;
    llvm::SmallVector<mlir::Value> directions;
    llvm::SmallVector<int64_t> unitOf, offsets; // by matrix
    MatrixDeal deal;
    mlir::Value gathered, scattered; // tokens
  };

  /// The first elements and shapes of the unit's matrices.
  llvm::SmallVector<std::pair<int64_t, MatrixShape>> matricesOf(UnitOp unit);
  std::vector<Batch> batches();
  void begin(Batch &batch);
  void compute(Batch &batch);
  void end(Batch &batch);
  void step(const Reduction &reduction, mlir::Value direction);

  mlir::OpBuilder &builder;
  mlir::SymbolTable symbols;
  llvm::ArrayRef<Reduction> reductions;
  mlir::Value norm;
  int64_t ranks;
  MatrixOwners owners;
  llvm::StringRef optimizer;
  Formula formula;
};

} // namespace shardc::fsdp

#endif
