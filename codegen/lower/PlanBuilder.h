// A PlanBuilder makes the part of a step.plan that outlives a step: storage of
// units, inputs, constants, and parameters that no unit holds.
#ifndef SHARDC_CODEGEN_LOWER_PLANBUILDER_H
#define SHARDC_CODEGEN_LOWER_PLANBUILDER_H

#include "codegen/Target.h"
#include "codegen/step/Step.h"
#include "codegen/step/View.h"
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace shardc {

/// The layout says where each parameter lies in its unit's flat buffer.
struct UnitLayout {
  struct Member {
    nn::ParameterOp parameter;
    int64_t offset; // elements
  };
  fsdp::UnitOp op;
  llvm::SmallVector<Member> members;

  mlir::Type elementType() { return op.getElementType(); }
  mlir::Type gradientType() { return op.getGradientType(); }
  /// Returns the parameter's view, or its gradient's, in a buffer that holds
  /// the whole unit in elements of a type.
  static step::View view(mlir::Value flat, const Member &member,
                         mlir::Type elementType);
};

class PlanBuilder {
public:
  /// Creates an empty plan at the end of the module.
  PlanBuilder(mlir::ModuleOp module, const Target &target);

  /// Allocates storage for every unit of the module, and for the parameters
  /// that the functions read but no unit holds: one unit per element type,
  /// whole on every rank. Fails on a unit whose symbols do not resolve.
  mlir::LogicalResult addUnits(llvm::ArrayRef<mlir::func::FuncOp> functions);

  /// Returns the buffer that the run fills for a function argument; functions
  /// share the inputs of one name.
  mlir::FailureOr<step::View> input(mlir::BlockArgument argument);
  /// Returns a constant's buffer; equal constants share it.
  step::View constant(mlir::ElementsAttr value, mlir::Location loc);
  /// Returns a parameter that is whole on every rank.
  mlir::FailureOr<step::View> resident(mlir::FlatSymbolRefAttr parameter,
                                       mlir::Location loc);

  /// Returns where micro-batches add a value up.
  step::View accumulator(mlir::RankedTensorType type, llvm::StringRef name,
                         mlir::Location loc);

  UnitLayout *unit(llvm::StringRef name);
  /// Returns the rank's slice of a unit's parameters.
  mlir::Value storage(llvm::StringRef unit) { return storages.lookup(unit); }
  /// Returns the unit whose parameters or gradients a buffer holds, or nothing.
  llvm::StringRef unitOf(mlir::Value buffer) { return owners.lookup(buffer); }
  void setUnit(mlir::Value buffer, llvm::StringRef unit) {
    owners[buffer] = unit;
  }

  /// Creates a program at the end of the plan.
  step::ProgramOp addProgram(llvm::StringRef name, mlir::Location loc);
  /// Returns how many ranks a group has.
  int64_t ranksOf(llvm::StringRef group) const;
  /// Returns how many ranks the mesh has.
  int64_t ranks() const;
  const step::Workspaces &workspaces() const { return target.workspaces(); }
  /// Returns whether a kernel may take the view as it is.
  bool isAligned(const step::View &view) const {
    return view.offset % target.argumentAlignment() == 0;
  }

private:
  mlir::Value buffer(int64_t bytes, llvm::StringRef name, mlir::Location loc,
                     step::Kind kind = step::Kind::persistent);
  mlir::Value buffer(mlir::RankedTensorType type, llvm::StringRef name,
                     mlir::Location loc,
                     step::Kind kind = step::Kind::persistent);
  mlir::LogicalResult addLayout(fsdp::UnitOp unit);
  void addResidentUnits(llvm::ArrayRef<mlir::func::FuncOp> functions);
  /// Says on `input` what a run must check of integers that are used as
  /// positions.
  void boundIntegers(step::InputOp input, mlir::BlockArgument argument);

  const Target &target;
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  step::PlanOp plan;
  mlir::OpBuilder builder;
  bool hasPrograms = false;
  llvm::MapVector<llvm::StringRef, UnitLayout> units;
  llvm::StringMap<mlir::Value> storages;
  llvm::DenseMap<mlir::Value, llvm::StringRef> owners;
  llvm::StringMap<step::InputOp> inputs;
  llvm::DenseMap<mlir::Attribute, step::View> constants;
  llvm::StringMap<step::View> residents;
};

} // namespace shardc

#endif
