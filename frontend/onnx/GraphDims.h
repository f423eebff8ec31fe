// What the graph says of dims: its inputs, with symbolic ones bound, and its
// outputs.
#ifndef SHARDC_FRONTEND_ONNX_GRAPHDIMS_H
#define SHARDC_FRONTEND_ONNX_GRAPHDIMS_H

#include "frontend/onnx/file/ModelFile.h"

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

/// The symbolic dims that inputs begin with: the batch's.
std::vector<std::string> batchDims(const ModelFile &file);

/// Checks what is computed against what the graph declares of an output.
llvm::Error checkOutput(const ::onnx::ValueInfoProto &output,
                        mlir::RankedTensorType computed);

} // namespace shardc::onnx

#endif
