// Norms, sums over micro-batches and optimizer steps: which elements of a
// unit's slice are trained, with which numbers.
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Bind.h"
#include "runtime/cpu/Optimizer.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::cpu {

Task bind(RankState &state, const plan::GradientNorm &entry) {
  std::vector<Tensor> gradients;
  std::vector<int64_t> slices(entry.slices().begin(), entry.slices().end());
  int64_t count = 1;
  for (int64_t level : slices)
    count *= level;
  for (const plan::Tensor &tensor : entry.gradients()) {
    Tensor gradient = state.resolve(tensor, "gradient");
    requireFloat(gradient, "gradient");
    requireContiguous(gradient, "gradient");
    if (count < 1 || gradient.elements() % count != 0)
      fail("expects gradients of ", count, " equal slices, got ",
           gradient.describe());
    gradients.push_back(gradient);
  }
  Tensor result = state.resolve(entry.result(), "result");
  requireDtype(result, plan::FLOAT64, "result");
  requireScalar(result, "result");
  auto norm =
      std::make_shared<GradientNorm>(std::move(gradients), std::move(slices));
  return [=, &state] {
    *result.as<double>() = norm->compute(state.numbers.clipNorm, state.pool);
  };
}

Task bind(RankState &state, const plan::Accumulate &entry) {
  Tensor value = state.resolve(entry.value(), "value");
  requireFloat(value, "value");
  requireContiguous(value, "value");
  if (!state.accumulates)
    return [] {};
  Tensor sum = state.resolve(entry.accumulator(), "accumulator");
  requireFloat(sum, "accumulator");
  requireContiguous(sum, "accumulator");
  if (sum.elements() != value.elements())
    fail("expects an accumulator of ", value.elements(), " elements, got ",
         sum.describe());
  return [=, &state] {
    const StepNumbers &numbers = state.numbers;
    if (numbers.microBatches == 1)
      return;
    if (numbers.microBatch == 0)
      assign(sum, value, state.pool);
    else if (numbers.microBatch + 1 < numbers.microBatches)
      accumulate(sum, value, state.pool);
    else
      accumulate(value, sum, state.pool);
  };
}

/// What of this rank's optimizer slice belongs to trained parameters: neither
/// padding nor frozen ones. Neighbours with equal numbers are one range.
static std::vector<Range> trainedRanges(const RankState &state,
                                        const plan::Unit &unit) {
  int64_t first = state.optimizerBegin(unit);
  int64_t last = first + state.optimizerElements(unit);
  std::vector<Range> ranges;
  for (uint32_t index : unit.parameters()) {
    const plan::Parameter &parameter = state.plan.parameters(index);
    if (!parameter.trainable())
      continue;
    int64_t elements = 1;
    for (int64_t size : parameter.shape())
      elements *= size;
    int64_t begin = std::max(first, parameter.flat_offset());
    int64_t end = std::min(last, parameter.flat_offset() + elements);
    if (begin < end)
      ranges.push_back(
          {begin - first, end - first, state.parameterNumbers[index]});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range &range : ranges)
    if (!merged.empty() && merged.back().end == range.begin &&
        merged.back().numbers == range.numbers)
      merged.back().end = range.end;
    else
      merged.push_back(range);
  return merged;
}

static OptimizerStep stepOf(RankState &state, const plan::OptimizerStep &entry,
                            const plan::Unit &unit) {
  int64_t elements = state.optimizerElements(unit);
  OptimizerStep step;
  int states = 0;
  if (!OptimizerStep::parse(state.plan.optimizer().kind(), step.kind, states))
    fail("expects the optimizer adamw, adam or sgd, got ",
         state.plan.optimizer().kind());
  if (unit.optimizer_shards() == 0)
    fail("unit ", unit.name(), " is not trained, but has an optimizer step");
  if (unit.state_buffers_size() != states)
    fail("expects ", states, " states of ", state.plan.optimizer().kind(),
         " for unit ", unit.name(), ", got ", unit.state_buffers_size());
  step.master = state.masterSlice(unit);
  requireFloat(step.master, "master");
  for (uint32_t buffer : unit.state_buffers())
    step.states.push_back(
        state.vectorOf(buffer, elements, unit.master_dtype(), "state_buffer"));
  step.gradient = state.resolve(entry.gradient(), "gradient");
  requireDtype(step.gradient, unit.gradient_dtype(), "gradient");
  requireFloat(step.gradient, "gradient");
  requireContiguous(step.gradient, "gradient");
  if (step.gradient.elements() != elements)
    fail("expects a gradient of ", elements, " elements, got ",
         step.gradient.describe());
  if (unit.master_dtype() != unit.dtype()) {
    step.copy = state.ownParameters(unit);
    requireFloat(step.copy, "parameter_buffer");
  }
  step.ranges = trainedRanges(state, unit);
  return step;
}

Task bind(RankState &state, const plan::OptimizerStep &entry) {
  uint32_t index = entry.unit();
  OptimizerStep step = stepOf(state, entry, state.unit(index));
  Tensor powerSum = SHARDC_BIND_FIELD(state, entry, norm);
  if (powerSum) {
    requireDtype(powerSum, plan::FLOAT64, "norm");
    requireScalar(powerSum, "norm");
  }
  state.gradients[index] = step.gradient;
  return [=, &state] {
    const StepNumbers &numbers = state.numbers;
    if (!powerSum && numbers.clip > 0)
      fail("expects a norm to clip by, got none");
    double norm = powerSum ? rootOf(*powerSum.as<double>(), numbers.clipNorm) *
                                 numbers.gradientFactor
                           : 0;
    // Both are sums over all ranks: all write, or none does.
    auto loss = state.reported.find("loss");
    if (!std::isfinite(norm) ||
        (loss != state.reported.end() && !std::isfinite(loss->second))) {
      state.skipped = true;
      return;
    }
    state.finishGathers(index);
    step.run(numbers, norm, state.pool);
  };
}

} // namespace shardc::runtime::cpu
