// The optimizers: their names, their states, and the numbers that a run gives
// them. Compiler and runtime read this one table; the formulas are loops of
// runtime/simd/Kernels.cpp, which runtime/cpu/optimizer/Optimizer.cpp calls.
//
// This header includes nothing but the standard library, since the compiler
// includes it.
#ifndef SHARDC_RUNTIME_DEVICE_OPTIMIZERS_H
#define SHARDC_RUNTIME_DEVICE_OPTIMIZERS_H

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardc {

enum class OptimizerKind { AdamW, Adam, Sgd, Lion, AmsGrad, Adagrad, Muon };

struct Optimizer {
  OptimizerKind kind;
  /// What --optimizer and the plan call it.
  std::string_view name;
  /// Whose formula it is, for --help.
  std::string_view source;
  /// torch's names of its states. Each has as many elements as the trained
  /// parameters, in the type of the master weights; unused ones are empty.
  std::array<std::string_view, 3> stateNames;
  /// The numbers that a run may set, each with its value where the run sets
  /// none. An optimizer without a value has no such number.
  double weightDecay;
  std::optional<double> beta1, beta2, epsilon, momentum;
  /// Of an optimizer that needs whole matrices: what the first of its states is
  /// called of these, which have no other. All else is AdamW's, whose states
  /// come first in stateNames.
  std::string_view matrixState = {};

  constexpr bool takesMatrices() const { return !matrixState.empty(); }

  constexpr std::span<const std::string_view> states() const {
    size_t count = 0;
    while (count < stateNames.size() && !stateNames[count].empty())
      ++count;
    return {stateNames.data(), count};
  }
};

inline constexpr Optimizer optimizers[] = {
    {OptimizerKind::AdamW,
     "adamw",
     "torch.optim.AdamW",
     {"exp_avg", "exp_avg_sq"},
     0.01,
     0.9,
     0.999,
     1e-8,
     {}},
    {OptimizerKind::Adam,
     "adam",
     "torch.optim.Adam",
     {"exp_avg", "exp_avg_sq"},
     0,
     0.9,
     0.999,
     1e-8,
     {}},
    {OptimizerKind::Sgd,
     "sgd",
     "torch.optim.SGD",
     {"momentum_buffer"},
     0,
     {},
     {},
     {},
     0.0},
    // Chen et al., Symbolic Discovery of Optimization Algorithms,
    // arXiv:2302.06675, algorithm 2 and the betas of section 4.
    {OptimizerKind::Lion,
     "lion",
     "Lion (arXiv:2302.06675)",
     {"exp_avg"},
     0,
     0.9,
     0.99,
     {},
     {}},
    // Reddi et al., On the Convergence of Adam and Beyond, arXiv:1904.09237.
    {OptimizerKind::AmsGrad,
     "amsgrad",
     "torch.optim.AdamW(amsgrad=True)",
     {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     0.01,
     0.9,
     0.999,
     1e-8,
     {}},
    // Duchi et al., Adaptive Subgradient Methods, JMLR 12 (2011), in torch's
    // form: no decay of the learning rate, sums that begin at 0.
    {OptimizerKind::Adagrad,
     "adagrad",
     "torch.optim.Adagrad",
     {"sum"},
     0,
     {},
     {},
     1e-10,
     {}},
    // Keller Jordan et al., Muon: An optimizer for hidden layers in neural
    // networks (2024), in torch's form. The betas and epsilon are AdamW's.
    {OptimizerKind::Muon,
     "muon",
     "torch.optim.Muon, AdamW for what is no matrix",
     {"exp_avg", "exp_avg_sq"},
     0.1,
     0.9,
     0.999,
     1e-8,
     0.95,
     "momentum_buffer"}};

/// What updates running statistics, in the place of an optimizer's name: their
/// gradients are taken away from them, whatever the run's numbers are.
inline constexpr std::string_view runningStatistics = "running";

/// Null for an unknown name.
constexpr const Optimizer *findOptimizer(std::string_view name) {
  for (const Optimizer &optimizer : optimizers)
    if (optimizer.name == name)
      return &optimizer;
  return nullptr;
}

/// The names of the optimizers that `is` picks: "adamw, adam or sgd".
template <typename Predicate>
std::string optimizerNames(Predicate is, const char *last = " or ") {
  std::string text;
  size_t left = 0;
  for (const Optimizer &optimizer : optimizers)
    left += is(optimizer);
  for (const Optimizer &optimizer : optimizers) {
    if (!is(optimizer))
      continue;
    if (!text.empty())
      text += left == 1 ? last : ", ";
    text += optimizer.name;
    --left;
  }
  return text;
}
inline std::string optimizerNames() {
  return optimizerNames([](const Optimizer &) { return true; });
}

} // namespace shardc

#endif
