// Which values a training step has to know the gradient of.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_NEEDSGRADIENT_H
#define SHARDC_FRONTEND_NN_SUPPORT_NEEDSGRADIENT_H

#include "frontend/nn/NN.h"

namespace shardc::nn {

/// Whether gradients flow through `value` to a trainable parameter.
bool needsGradient(mlir::Value value);

} // namespace shardc::nn

#endif
