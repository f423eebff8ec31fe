// The optimizers that a device can run, as the plan names them.
#ifndef SHARDC_RUNTIME_DEVICE_OPTIMIZERS_H
#define SHARDC_RUNTIME_DEVICE_OPTIMIZERS_H

#include <optional>
#include <string_view>

namespace shardc::runtime {

enum class OptimizerKind { AdamW, Adam, Sgd };

/// None for an unknown name.
inline std::optional<OptimizerKind> optimizerOf(std::string_view name) {
  if (name == "adamw")
    return OptimizerKind::AdamW;
  if (name == "adam")
    return OptimizerKind::Adam;
  if (name == "sgd")
    return OptimizerKind::Sgd;
  return std::nullopt;
}

/// Tensors of state per element of a trained parameter.
inline int statesOf(OptimizerKind kind) {
  return kind == OptimizerKind::Sgd ? 1 : 2;
}

} // namespace shardc::runtime

#endif
