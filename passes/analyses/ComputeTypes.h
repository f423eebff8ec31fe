// Mixed precision: which float type each parameter has and each op computes in.
// docs/precision.md is the rule in words.
#ifndef SHARDC_PASSES_ANALYSES_COMPUTETYPES_H
#define SHARDC_PASSES_ANALYSES_COMPUTETYPES_H

#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/options/PrecisionOption.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace shardc {

/// Whether the op moves elements, so that its result has its operand's type.
bool isMove(mlir::Operation *op);

/// Of a module whose floats are all float32, before gradients.
class ComputeTypes {
public:
  /// An error is one line: a pattern that matches nothing, with what there is;
  /// or units whose types contradict each other.
  static llvm::Expected<ComputeTypes> find(mlir::ModuleOp module,
                                           const PrecisionOption &precision,
                                           llvm::ArrayRef<UnitPrecision> units);

  /// The type of a parameter's values.
  mlir::FloatType of(nn::ParameterOp parameter) const {
    return parameterTypes.lookup(parameter.getSymNameAttr());
  }
  mlir::FloatType of(mlir::StringAttr parameter) const {
    return parameterTypes.lookup(parameter);
  }
  /// The type that an op computes in: of its operands, where it is no
  /// `MixedTypes`, and of its first result.
  mlir::FloatType of(mlir::Operation *op) const;
  /// Whether the op computes in float32 whatever type its result is stored in:
  /// it is a part of an operator that is more than one op, which rounds its
  /// result once.
  bool isPart(mlir::Operation *op) const { return parts.contains(op); }

private:
  ComputeTypes(mlir::ModuleOp module, const PrecisionOption &precision);

  void readFunction(mlir::func::FuncOp function);
  void findLossHead(mlir::func::FuncOp function);
  llvm::Error findKept();
  llvm::Error giveUnitTypes(llvm::ArrayRef<UnitPrecision> units);
  llvm::Error agreeOnParameters();
  /// The parameters of a model, no buffers, that reach an operand as they are.
  llvm::SmallVector<mlir::StringAttr> weightsOf(mlir::Operation *op) const;
  bool isKept(mlir::Operation *op) const;
  /// Module paths of parameters, else names of nodes, for a message.
  std::string listModules() const;

  mlir::ModuleOp module;
  const PrecisionOption &precision;
  mlir::FloatType base, wide;               // of parameters; float32
  llvm::SmallVector<mlir::Operation *> ops; // that compute floats, in order
  llvm::DenseMap<mlir::StringAttr, nn::ParameterOp> parameters;
  llvm::DenseMap<mlir::StringAttr, mlir::FloatType> parameterTypes;
  llvm::DenseSet<mlir::StringAttr> chosen; // types that a unit option gave
  /// Parameters behind a value, through moves.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::StringAttr, 1>> behind;
  /// Floats made of constants, integers and buffers alone: positions, masks.
  llvm::DenseSet<mlir::Value> auxiliary;
  llvm::DenseSet<mlir::Operation *> head;    // of the loss
  llvm::DenseSet<mlir::Operation *> matched; // by a pattern of `keep`
  llvm::DenseSet<mlir::Operation *> parts;   // of operators
};

} // namespace shardc

#endif
