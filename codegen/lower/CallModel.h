// Families of library calls differ in how an op becomes entries alone: this is
// the rest of an interface's model, and what they ask of tensors.
#ifndef SHARDC_CODEGEN_LOWER_CALLMODEL_H
#define SHARDC_CODEGEN_LOWER_CALLMODEL_H

#include "codegen/lower/EntryBuilder.h"
#include "codegen/step/Workspaces.h"

namespace shardc {

/// The model makes an op a nn::LibraryCall whose entries `lower` emits.
template <typename OpTy, void (*lower)(OpTy, EntryBuilder &)>
struct CallModel
    : nn::LibraryCall::ExternalModel<CallModel<OpTy, lower>, OpTy> {
  void lowerCall(mlir::Operation *op, EntryBuilder &entries) const {
    lower(mlir::cast<OpTy>(op), entries);
  }
};

template <typename OpTy, void (*lower)(OpTy, EntryBuilder &)>
void attachCall(mlir::MLIRContext *context) {
  OpTy::template attachInterface<CallModel<OpTy, lower>>(*context);
}

// Each family has one function.
void attachMatMulCalls(mlir::MLIRContext *context);
void attachAttentionCalls(mlir::MLIRContext *context);
void attachLossCalls(mlir::MLIRContext *context);
void attachIndexingCalls(mlir::MLIRContext *context);
void attachShapeCalls(mlir::MLIRContext *context);

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}

inline int64_t elementsOf(llvm::ArrayRef<int64_t> shape) {
  return mlir::ShapedType::getNumElements(shape);
}

/// Returns the bytes of one element.
inline int64_t bytesOf(mlir::Value tensor) {
  return nn::elementBytes(mlir::getElementTypeOrSelf(tensor.getType()));
}

} // namespace shardc

#endif
