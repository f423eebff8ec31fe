// Norms, sums over micro-batches, optimizer steps and metrics, as calls.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/bind/Bind.h"
#include "runtime/cpu/optimizer/Optimizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace shardc::runtime::cpu {

static std::span<int64_t, ExactSum::words> wordsOf(const Tensor &sum) {
  return std::span<int64_t, ExactSum::words>(sum.as<int64_t>(),
                                             ExactSum::words);
}

Task bindNorm(CpuDevice &device, const entry::GradientNorm &entry,
              GradientNorm::Reduced reduced) {
  auto norm = std::make_shared<GradientNorm>(entry.gradients, entry.rows,
                                             std::move(reduced));
  return [norm, &device, previous = entry.previous, result = entry.result] {
    std::optional<std::span<const int64_t, ExactSum::words>> before;
    if (previous)
      before = wordsOf(previous);
    norm->compute(device.numbers.clipNorm, device.pool, before,
                  wordsOf(result));
  };
}
Task bind(CpuDevice &device, const entry::GradientNorm &entry) {
  return bindNorm(device, entry, {});
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

/// The norm of the gradients, or nothing where the step is skipped.
static std::optional<double> finiteNorm(const Tensor &powerSum,
                                        const Tensor &loss,
                                        const StepNumbers &numbers) {
  if (!powerSum && numbers.clip > 0)
    fail("expects a norm to clip by, got none");
  double norm = powerSum ? rootOf(*powerSum.as<double>(), numbers.clipNorm) *
                               numbers.gradientFactor
                         : 0;
  if (!std::isfinite(norm) || (loss && !std::isfinite(*loss.as<double>())))
    return std::nullopt;
  return norm;
}

Task bind(CpuDevice &device, const entry::OptimizerStep &entry) {
  OptimizerStep step{entry.kind,      entry.master,   entry.gradient,
                     entry.states,    entry.ranges,   entry.copy,
                     entry.remainder, entry.direction};
  return [=, &device, powerSum = entry.norm, loss = entry.loss,
          skipped = entry.skipped] {
    if (auto norm = finiteNorm(powerSum, loss, device.numbers))
      step.run(device.numbers, *norm, device.pool);
    else
      *skipped.as<double>() = 1;
  };
}

Task bind(CpuDevice &device, const entry::MatrixDirection &entry) {
  return [=, &device] {
    if (auto norm = finiteNorm(entry.norm, entry.loss, device.numbers))
      return runDirection(entry, device.numbers, *norm, device.pool);
    std::byte *begin = entry.direction.data;
    std::fill_n(begin,
                entry.direction.elements() *
                    int64_t(elementSize(entry.direction.dtype)),
                std::byte(0));
  };
}

Task bind(CpuDevice &, const entry::Metric &entry) {
  return [value = entry.value, slot = entry.slot] {
    convertElements(value.data, value.dtype, slot.data, plan::FLOAT64, 1);
  };
}

} // namespace shardc::runtime::cpu
