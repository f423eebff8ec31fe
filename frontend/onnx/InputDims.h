// The graph's inputs with their symbolic dims bound.
#ifndef SHARDC_FRONTEND_ONNX_INPUTDIMS_H
#define SHARDC_FRONTEND_ONNX_INPUTDIMS_H

#include "frontend/onnx/ModelFile.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"

namespace shardc::onnx {

struct GraphInput {
  std::string name;
  mlir::RankedTensorType type;
};

/// Binds every dim of every input; emits one error that lists what is unbound,
/// unknown or not supported.
mlir::FailureOr<llvm::SmallVector<GraphInput>>
bindInputs(mlir::MLIRContext *context, const ModelFile &file,
           const llvm::StringMap<int64_t> &dims);

} // namespace shardc::onnx

#endif
