// Whoever emits entries asks here which view of which buffer a tensor is, or
// for one that a library call can take.
#ifndef SHARDC_CODEGEN_LOWER_ENTRYBUILDER_H
#define SHARDC_CODEGEN_LOWER_ENTRYBUILDER_H

#include "codegen/lower/PlanBuilder.h"

namespace shardc {

class EntryBuilder {
public:
  using View = step::View;

  /// Returns where a tensor lies, as it is.
  View view(mlir::Value tensor) { return views.lookup(tensor); }
  void set(mlir::Value tensor, const View &view) { views[tensor] = view; }
  /// Returns where the producer of `result` writes it: its place in a gradient
  /// buffer, or a new buffer.
  View allocate(mlir::OpResult result);
  /// Returns whether `result` was given a place before its producer was
  /// lowered.
  bool hasPlace(mlir::Value result) const { return places.contains(result); }
  mlir::Value newBuffer(step::Kind kind, int64_t bytes, llvm::StringRef name);
  /// Returns scratch memory for one entry; `workspaces` knows how much it
  /// needs.
  View newWorkspace(int64_t bytes);
  const step::Workspaces &workspaces() const { return plan.workspaces(); }

  /// Returns the tensor in row-major contiguous form. It is copied at most once
  /// per phase.
  View contiguous(mlir::Value tensor);
  View copied(const View &source);
  /// Returns the value in memory that may be written over.
  View changeable(mlir::Value value);
  /// Returns heads [B, S, H, D] as attention's products read them: with a last
  /// dim of stride 1, and positions at least a row apart.
  View heads(mlir::Value tensor);
  /// Returns the tensor as a (batched) matrix for gemm; `transposed` flips
  /// where the memory holds the transpose.
  View matrix(mlir::Value tensor, llvm::ArrayRef<int64_t> shape,
              bool &transposed);

  /// Returns the memref of a view, which is an entry's operand.
  mlir::Value ref(const View &view);
  mlir::Value ref(std::optional<View> view);
  /// Creates an entry of the step dialect behind the last one.
  template <typename OpTy, typename... Args> OpTy emit(Args &&...args) {
    return OpTy::create(builder, location, std::forward<Args>(args)...);
  }
  mlir::Builder &attributes() { return builder; }

protected:
  /// What is emitted has the location `location` until it is set to another.
  EntryBuilder(PlanBuilder &plan, mlir::Location location);

  PlanBuilder &plan;
  mlir::OpBuilder builder;
  mlir::Location location;
  llvm::DenseMap<mlir::Value, View> views;
  /// A value that shall be written at some place has it here.
  llvm::DenseMap<mlir::Value, View> places;
  llvm::DenseMap<mlir::Value, View> copies;
};

} // namespace shardc

#endif
