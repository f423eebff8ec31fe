// Norms, sums over micro-batches and optimizer steps read a unit's slice:
// which of its elements are trained, and with which numbers, is found here.
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"

#include <algorithm>

namespace shardc::runtime {

entry::GradientNorm resolve(const RankState &state,
                            const plan::GradientNorm &entry) {
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
  return {std::move(gradients), std::move(slices), result};
}

std::optional<entry::Accumulate> resolve(const RankState &state,
                                         const plan::Accumulate &entry) {
  Tensor value = state.resolve(entry.value(), "value");
  requireFloat(value, "value");
  requireContiguous(value, "value");
  if (!state.accumulates)
    return std::nullopt;
  Tensor sum = state.resolve(entry.accumulator(), "accumulator");
  requireFloat(sum, "accumulator");
  requireContiguous(sum, "accumulator");
  if (sum.elements() != value.elements())
    fail("expects an accumulator of ", value.elements(), " elements, got ",
         sum.describe());
  return entry::Accumulate{value, sum};
}

/// Returns what of this rank's optimizer slice belongs to trained parameters:
/// neither padding nor frozen ones. Neighbours with equal numbers are one
/// range.
static std::vector<entry::Range> trainedRanges(const RankState &state,
                                               const plan::Unit &unit) {
  int64_t first = state.optimizerBegin(unit);
  int64_t last = first + state.optimizerElements(unit);
  std::vector<entry::Range> ranges;
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
            [](const entry::Range &a, const entry::Range &b) {
              return a.begin < b.begin;
            });
  std::vector<entry::Range> merged;
  for (const entry::Range &range : ranges)
    if (!merged.empty() && merged.back().end == range.begin &&
        merged.back().numbers == range.numbers)
      merged.back().end = range.end;
    else
      merged.push_back(range);
  return merged;
}

entry::OptimizerStep resolve(const RankState &state,
                             const plan::OptimizerStep &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  int64_t elements = state.optimizerElements(unit);
  entry::OptimizerStep step;
  const Optimizer *optimizer = findOptimizer(entry.kind());
  if (!optimizer)
    fail("expects the optimizer ", optimizerNames(), ", got '", entry.kind(),
         "'");
  if (entry.kind() != state.plan.optimizer().kind())
    fail("expects the plan's optimizer ", state.plan.optimizer().kind(),
         ", got ", entry.kind());
  if (unit.optimizer_shards() == 0)
    fail("unit ", unit.name(), " is not trained, but has an optimizer step");
  step.kind = optimizer->kind;
  auto states = std::ssize(optimizer->states());
  if (unit.state_buffers_size() != states)
    fail("expects ", states, " states of ", optimizer->name, " for unit ",
         unit.name(), ", got ", unit.state_buffers_size());
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
  step.norm = SHARDC_RESOLVE_FIELD(state, entry, norm);
  if (step.norm) {
    requireDtype(step.norm, plan::FLOAT64, "norm");
    requireScalar(step.norm, "norm");
  }
  return step;
}

} // namespace shardc::runtime
