// What the families of library calls share.
#ifndef SHARDC_CODEGEN_LOWER_CALLMODEL_H
#define SHARDC_CODEGEN_LOWER_CALLMODEL_H

#include "codegen/lower/EntryBuilder.h"
#include "codegen/step/Workspaces.h"

namespace shardc {

/// nn::LibraryCall of an op whose entries the function `lower` emits.
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

// One function for each family.
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

/// Of one element.
inline int64_t bytesOf(mlir::Value tensor) {
  return step::elementBytes(mlir::getElementTypeOrSelf(tensor.getType()));
}

} // namespace shardc

#endif
