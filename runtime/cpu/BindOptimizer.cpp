// Norms, sums over micro-batches, optimizer steps and metrics, as calls.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/Bind.h"
#include "runtime/cpu/Optimizer.h"

#include <bit>
#include <cmath>

namespace shardc::runtime::cpu {

static std::span<int64_t, ExactSum::words> wordsOf(const Tensor &sum) {
  return std::span<int64_t, ExactSum::words>(sum.as<int64_t>(),
                                             ExactSum::words);
}

Task bind(CpuDevice &device, const entry::GradientNorm &entry) {
  auto norm = std::make_shared<GradientNorm>(entry.gradients, entry.rows);
  return [norm, &device, result = entry.result] {
    norm->compute(device.numbers.clipNorm, device.pool, wordsOf(result));
  };
}

Task bind(CpuDevice &, const entry::ExactSum &entry) {
  return [=] {
    ExactSum sum;
    sum.add(*entry.value.as<double>());
    sum.store(wordsOf(entry.sum));
  };
}

Task bind(CpuDevice &device, const entry::RoundSum &entry) {
  return [=, &device] {
    auto words = wordsOf(entry.sum);
    *entry.value.as<double>() =
        entry.norm && device.numbers.clipNorm == Norm::Inf
            ? std::bit_cast<double>(words[0])
            : ExactSum(words).round();
  };
}

Task bind(CpuDevice &device, const entry::Accumulate &entry) {
  return [value = entry.value, sum = entry.accumulator, &device] {
    const StepNumbers &numbers = device.numbers;
    if (numbers.microBatches == 1)
      return;
    if (numbers.microBatch == 0)
      assign(sum, value, device.pool);
    else if (!numbers.endsStep())
      accumulate(sum, value, device.pool);
    else
      accumulate(value, sum, device.pool);
  };
}

Task bind(CpuDevice &device, const entry::OptimizerStep &entry) {
  OptimizerStep step{entry.kind,      entry.master, entry.gradient,
                     entry.remainder, entry.states, entry.ranges,
                     entry.copy};
  return [=, &device, powerSum = entry.norm, loss = entry.loss,
          skipped = entry.skipped] {
    const StepNumbers &numbers = device.numbers;
    if (!powerSum && numbers.clip > 0)
      fail("expects a norm to clip by, got none");
    double norm = powerSum ? rootOf(*powerSum.as<double>(), numbers.clipNorm) *
                                 numbers.gradientFactor
                           : 0;
    if (!std::isfinite(norm) || (loss && !std::isfinite(*loss.as<double>()))) {
      *skipped.as<double>() = 1;
      return;
    }
    step.run(numbers, norm, device.pool);
  };
}

Task bind(CpuDevice &, const entry::Metric &entry) {
  return [value = entry.value, slot = entry.slot] {
    convertElements(value.data, value.dtype, slot.data, plan::FLOAT64, 1);
  };
}

} // namespace shardc::runtime::cpu
