// What the use of a parameter says about how PyTorch's layer would initialise
// it.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_INITIALVALUES_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_INITIALVALUES_H

#include "frontend/onnx/parameters/Parameters.h"

namespace shardc::onnx {

/// Sets `init` of every parameter by its first use.
void setInitialValues(std::vector<Parameter> &parameters,
                      llvm::ArrayRef<Node> nodes, const ModelFile &file);

} // namespace shardc::onnx

#endif
