// Norms, sums over micro-batches and optimizer steps read a unit's slice:
// which of its elements are trained, and with which numbers, is found here.
#include "runtime/base/ExactSum.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"
#include "runtime/engine/TrainedParts.h"

namespace shardc::runtime {

/// Returns the ranges of those with equal numbers; neighbours are one.
static std::vector<entry::Range> trainedRanges(const RankState &state,
                                               const plan::Unit &unit) {
  std::vector<entry::Range> merged;
  for (const TrainedPart &part : trainedParts(state, unit)) {
    const ParameterNumbers &numbers = state.parameterNumbers[part.parameter];
    // Of matrices, and of what is none, alike: the later states of neighbours
    // are neighbours, too.
    if (!merged.empty() && merged.back().end == part.begin &&
        merged.back().isMatrix == part.isMatrix &&
        merged.back().numbers == numbers)
      merged.back().end = part.end;
    else
      merged.push_back(
          {part.begin, part.end, numbers, part.isMatrix, part.laterStates});
  }
  return merged;
}

/// Returns their rows, of one element where a parameter has one dim. Slices end
/// on rows, so what a mesh cuts all the same is a row of its own.
static std::vector<entry::Rows> trainedRows(const RankState &state,
                                            const plan::Unit &unit) {
  std::vector<entry::Rows> rows;
  for (const TrainedPart &part : trainedParts(state, unit)) {
    const plan::Parameter &parameter = state.plan.parameters(part.parameter);
    int64_t width = 1, begin = part.begin;
    for (int dim = 1; dim < parameter.shape_size(); ++dim)
      width *= parameter.shape(dim);
    if (int64_t cut = part.before % width) {
      int64_t rest = std::min(width - cut, part.end - begin);
      rows.push_back({begin, 1, rest});
      begin += rest;
    }
    if (int64_t whole = (part.end - begin) / width) {
      rows.push_back({begin, whole, width});
      begin += whole * width;
    }
    if (begin < part.end)
      rows.push_back({begin, 1, part.end - begin});
  }
  return rows;
}

/// Checks that a tensor can hold an ExactSum.
static void requireExactSum(const Tensor &sum, const char *name) {
  requireDtype(sum, plan::INT64, name);
  requireContiguous(sum, name);
  if (sum.elements() != runtime::ExactSum::words)
    fail("expects ", name, " to have ", runtime::ExactSum::words,
         " words, got ", sum.describe());
}

entry::GradientNorm resolve(const RankState &state,
                            const plan::GradientNorm &entry) {
  entry::GradientNorm norm;
  if (entry.units_size() != entry.gradients_size())
    fail("expects units for ", entry.gradients_size(), " gradients, got ",
         entry.units_size());
  for (int i = 0; i < entry.gradients_size(); ++i) {
    const plan::Unit &unit = state.unit(entry.units(i));
    Tensor gradient = state.resolve(entry.gradients(i), "gradient");
    requireFloat(gradient, "gradient");
    requireContiguous(gradient, "gradient");
    if (gradient.elements() != state.optimizerElements(unit))
      fail("expects a gradient of ", state.optimizerElements(unit),
           " elements of unit ", unit.name(), ", got ", gradient.describe());
    norm.gradients.push_back(gradient);
    norm.rows.push_back(trainedRows(state, unit));
  }
  norm.result = state.resolve(entry.result(), "result");
  requireExactSum(norm.result, "result");
  return norm;
}

entry::ExactSum resolve(const RankState &state, const plan::ExactSum &entry) {
  entry::ExactSum exact{state.resolve(entry.value(), "value"),
                        state.resolve(entry.sum(), "sum")};
  requireDtype(exact.value, plan::FLOAT64, "value");
  requireScalar(exact.value, "value");
  requireExactSum(exact.sum, "sum");
  return exact;
}

entry::RoundSum resolve(const RankState &state, const plan::RoundSum &entry) {
  entry::RoundSum round{state.resolve(entry.sum(), "sum"),
                        state.resolve(entry.value(), "value"), entry.norm()};
  requireExactSum(round.sum, "sum");
  requireDtype(round.value, plan::FLOAT64, "value");
  requireScalar(round.value, "value");
  return round;
}

std::optional<entry::Accumulate> resolve(const RankState &state,
                                         const plan::Accumulate &entry) {
  Tensor value = state.resolve(entry.value(), "value");
  requireSummable(value, "value");
  if (!state.accumulates)
    return std::nullopt;
  Tensor sum = state.resolve(entry.accumulator(), "accumulator");
  requireSummable(sum, "accumulator");
  if (sum.elements() != value.elements() ||
      (!isFloat(sum.dtype) || !isFloat(value.dtype)) &&
          sum.dtype != value.dtype)
    fail("expects an accumulator for ", value.describe(), ", got ",
         sum.describe());
  return entry::Accumulate{value, sum};
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
  step.remainder = state.remainder(unit);
  requireFloat(step.master, "master");
  for (int i = 0; i < states; ++i)
    step.states.push_back(stateVector(state, unit, i));
  step.gradient = state.resolve(entry.gradient(), "gradient");
  requireDtype(step.gradient, unit.gradient_dtype(), "gradient");
  requireFloat(step.gradient, "gradient");
  requireContiguous(step.gradient, "gradient");
  if (step.gradient.elements() != elements)
    fail("expects a gradient of ", elements, " elements, got ",
         step.gradient.describe());
  if (unit.master_dtype() != unit.dtype() && !step.remainder) {
    step.copy = state.ownParameters(unit);
    requireFloat(step.copy, "parameter_buffer");
  }
  step.ranges = trainedRanges(state, unit);
  step.direction = SHARDC_RESOLVE_FIELD(state, entry, direction);
  if (step.direction) {
    requireDtype(step.direction, directionType(unit), "direction");
    requireContiguous(step.direction, "direction");
    if (step.direction.elements() != elements)
      fail("expects a direction of ", elements, " elements, got ",
           step.direction.describe());
  }
  for (const entry::Range &range : step.ranges) {
    if (range.isMatrix && !step.direction)
      fail("unit ", unit.name(), " has matrices, but no direction");
    if (!range.isMatrix)
      for (int i = 1; i < states; ++i)
        if (range.laterStates + range.end - range.begin >
            step.states[i].elements())
          fail("state ", i, " of unit ", unit.name(), " has room for ",
               step.states[i].elements(), " elements, and needs ",
               range.laterStates + range.end - range.begin);
  }
  step.norm = SHARDC_RESOLVE_FIELD(state, entry, norm);
  if (step.norm) {
    requireDtype(step.norm, plan::FLOAT64, "norm");
    requireScalar(step.norm, "norm");
  }
  return step;
}

} // namespace shardc::runtime
