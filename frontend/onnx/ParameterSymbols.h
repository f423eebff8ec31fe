// Parameters as symbols of the module.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERSYMBOLS_H
#define SHARDC_FRONTEND_ONNX_PARAMETERSYMBOLS_H

#include "frontend/onnx/ImportedModel.h"

#include "mlir/IR/Builders.h"

namespace shardc::onnx {

/// Creates an nn.parameter for each parameter of the model; an error of one
/// line where one cannot be named or read.
llvm::Error createParameters(const ImportedModel &model,
                             mlir::OpBuilder &builder);

} // namespace shardc::onnx

#endif
