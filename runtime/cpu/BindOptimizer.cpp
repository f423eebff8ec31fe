// Norms and optimizer steps: which elements of a unit's slice are trained.
#include "runtime/ThreadPool.h"
#include "runtime/cpu/Bind.h"
#include "runtime/cpu/Optimizer.h"

#include <algorithm>

namespace shardc::runtime::cpu {

Task bind(RankState &state, const plan::SquaredNorm &entry) {
  std::vector<Tensor> gradients;
  int64_t slices = entry.slices();
  for (const plan::Tensor &tensor : entry.gradients()) {
    Tensor gradient = state.resolve(tensor, "gradient");
    requireFloat(gradient, "gradient");
    requireContiguous(gradient, "gradient");
    if (slices < 1 || gradient.elements() % slices != 0)
      fail("expects gradients of ", slices, " equal slices, got ",
           gradient.describe());
    gradients.push_back(gradient);
  }
  Tensor result = state.resolve(entry.result(), "result");
  requireDtype(result, plan::FLOAT64, "result");
  requireScalar(result, "result");
  auto norm = std::make_shared<SquaredNorm>(std::move(gradients), slices);
  return [=, &state] { *result.as<double>() = norm->compute(state.pool); };
}

/// What of this rank's slice belongs to trainable parameters: neither padding
/// nor frozen ones.
static std::vector<Range> trainableRanges(const RankState &state,
                                          const plan::Unit &unit) {
  int64_t first = state.sliceBegin(unit);
  int64_t last = first + state.sliceElements(unit);
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
      ranges.push_back({begin - first, end - first});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range &range : ranges)
    if (!merged.empty() && merged.back().end == range.begin)
      merged.back().end = range.end;
    else
      merged.push_back(range);
  return merged;
}

Task bind(RankState &state, const plan::OptimizerStep &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  int64_t elements = state.sliceElements(unit);
  OptimizerStep step;
  int states = 0;
  if (!OptimizerStep::parse(state.plan.optimizer().kind(), step.kind, states))
    fail("expects the optimizer adamw, adam or sgd, got ",
         state.plan.optimizer().kind());
  if (unit.state_buffers_size() != states)
    fail("expects ", states, " states of ", state.plan.optimizer().kind(),
         " for unit ", unit.name(), ", got ", unit.state_buffers_size());
  step.parameter = state.vectorOf(unit.parameter_buffer(), elements,
                                  unit.dtype(), "parameter_buffer");
  requireFloat(step.parameter, "parameter_buffer");
  for (uint32_t buffer : unit.state_buffers())
    step.states.push_back(
        state.vectorOf(buffer, elements, unit.dtype(), "state_buffer"));
  step.gradient = state.resolve(entry.gradient(), "gradient");
  requireDtype(step.gradient, unit.dtype(), "gradient");
  requireContiguous(step.gradient, "gradient");
  if (step.gradient.elements() != elements)
    fail("expects a gradient of ", elements, " elements, got ",
         step.gradient.describe());
  Tensor squaredNorm = SHARDC_BIND_FIELD(state, entry, squared_norm);
  if (squaredNorm) {
    requireDtype(squaredNorm, plan::FLOAT64, "squared_norm");
    requireScalar(squaredNorm, "squared_norm");
  }
  step.ranges = trainableRanges(state, unit);
  state.gradients[entry.unit()] = step.gradient;
  uint32_t index = entry.unit();
  return [=, &state] {
    if (!squaredNorm && state.numbers.clip > 0)
      fail("expects a squared_norm to clip by, got none");
    state.finishGathers(index);
    step.run(state.numbers, squaredNorm ? *squaredNorm.as<double>() : 0,
             state.pool);
  };
}

} // namespace shardc::runtime::cpu
