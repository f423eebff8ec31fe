// What a step takes from the run: the optimizer's numbers. Names and formulas
// are torch.optim's.
#ifndef SHARDC_RUNTIME_DEVICE_STEPNUMBERS_H
#define SHARDC_RUNTIME_DEVICE_STEPNUMBERS_H

#include <cmath>
#include <cstdint>

namespace shardc::runtime {

/// p of the norm of gradients: sum of |g|^p, and its p-th root; Inf: the
/// largest |g|.
enum class Norm { One, Two, Inf };

struct StepNumbers {
  int64_t step = 1; // counts optimizer steps from 1, over the whole run
  double learningRate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0;   // sgd, muon
  bool nesterov = false; // sgd, muon
  double clip = 0;       // largest gradient norm; 0: not clipped
  Norm clipNorm = Norm::Two;
  /// What gradients are multiplied by before anything is made of them: 1 /
  /// (loss scale * what they are divided by).
  double gradientFactor = 1;
  /// Which of the step's micro-batches runs. What belongs to the end of a step
  /// (optimizer, entries marked last) runs in the last only.
  int64_t microBatch = 0, microBatches = 1;

  bool beginsStep() const { return microBatch == 0; }
  bool endsStep() const { return microBatch + 1 == microBatches; }
};

/// In which micro-batches of a step an entry runs.
enum class Turn { Each, First, Last };
inline bool isDue(Turn turn, const StepNumbers &numbers) {
  return turn == Turn::Each || (turn == Turn::First && numbers.beginsStep()) ||
         (turn == Turn::Last && numbers.endsStep());
}

/// What a step takes from the run for one parameter.
struct ParameterNumbers {
  double learningRateScale = 1;
  double weightDecay = 0;
  /// What the learning rate of a whole matrix is multiplied by, for its size.
  double matrixScale = 1;
  bool operator==(const ParameterNumbers &) const = default;
};

/// The norm, given the sum of powers over all gradients.
inline double rootOf(double powerSum, Norm norm) {
  return norm == Norm::Two ? std::sqrt(powerSum) : powerSum;
}

} // namespace shardc::runtime

#endif
