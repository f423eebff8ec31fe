// What the use of an initializer says about it: whether it is trained where
// nothing else tells, and how PyTorch's layer would initialise it.
#ifndef SHARDC_FRONTEND_ONNX_INITIALVALUES_H
#define SHARDC_FRONTEND_ONNX_INITIALVALUES_H

#include "frontend/onnx/Parameters.h"

namespace shardc::onnx {

/// Whether a float initializer of a model without metadata is a parameter
/// rather than a buffer or a constant. `reader`: the first node that reads it,
/// as input `input`; null where there is none.
bool looksTrainable(const Initializer &initializer,
                    const ::onnx::NodeProto *reader, int input);

/// Sets `init` of every parameter by its first use.
void setInitialValues(std::vector<Parameter> &parameters,
                      llvm::ArrayRef<Node> nodes, const ModelFile &file);

} // namespace shardc::onnx

#endif
