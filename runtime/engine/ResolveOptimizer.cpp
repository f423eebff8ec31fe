// Norms, sums over micro-batches and optimizer steps read a unit's slice:
// which of its elements are trained, and with which numbers, is found here.
#include "runtime/base/DType.h"
#include "runtime/base/ExactSum.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"
#include "runtime/engine/TrainedParts.h"

#include <algorithm>

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
        merged.back().isRunning == part.isRunning &&
        merged.back().numbers == numbers)
      merged.back().end = part.end;
    else
      merged.push_back({part.begin, part.end, numbers, part.isMatrix,
                        part.isRunning, part.laterStates});
  }
  return merged;
}

/// Returns their rows, but those of running statistics, of one element where a parameter has one dim. Slices end
/// on rows, so what a mesh cuts all the same is a row of its own.
static std::vector<entry::Rows> trainedRows(const RankState &state,
                                            const plan::Unit &unit) {
  std::vector<entry::Rows> rows;
  for (const TrainedPart &part : trainedParts(state, unit)) {
    if (part.isRunning)
      continue;
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
  norm.previous = SHARDC_RESOLVE_FIELD(state, entry, previous);
  if (norm.previous)
    requireExactSum(norm.previous, "previous");
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
  const bool areFloats = isFloat(sum.dtype) && isFloat(value.dtype);
  if (sum.elements() != value.elements() ||
      (!areFloats && sum.dtype != value.dtype))
    fail("expects an accumulator for ", value.describe(), ", got ",
         sum.describe());
  return entry::Accumulate{value, sum};
}

namespace {

/// Elements of an optimizer slice that a step updates.
struct SlicePart {
  int64_t begin, elements;

  /// Returns those of a tensor that has all of them.
  Tensor of(Tensor whole) const {
    whole.data += begin * int64_t(elementSize(whole.dtype));
    whole.shape = {elements};
    return whole;
  }
  /// Returns what the ranges have of them, counted from the first.
  std::vector<entry::Range> of(const std::vector<entry::Range> &whole) const {
    std::vector<entry::Range> own;
    for (entry::Range range : whole) {
      // In states behind the first, elements lie closer where there are
      // matrices, which have no parts.
      range.laterStates -= begin;
      int64_t end = std::min(range.end - begin, elements);
      range.begin -= begin;
      range.end = end;
      if (range.begin < 0) {
        range.laterStates -= range.begin;
        range.begin = 0;
      }
      if (range.begin < range.end)
        own.push_back(range);
    }
    return own;
  }
};

} // namespace

/// Returns what a transfer brought of master weights or state.
static Tensor stagedPart(const RankState &state, plan::DType dtype,
                         const plan::Tensor &tensor, const SlicePart &part,
                         const char *name) {
  Tensor staged = state.resolve(tensor, name);
  requireDtype(staged, dtype, name);
  requireContiguous(staged, name);
  if (staged.elements() != part.elements)
    fail("expects a ", name, " of ", part.elements, " elements, got ",
         staged.describe());
  return staged;
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
  step.gradient = state.resolve(entry.gradient(), "gradient");
  requireDtype(step.gradient, unit.gradient_dtype(), "gradient");
  requireFloat(step.gradient, "gradient");
  requireContiguous(step.gradient, "gradient");
  SlicePart part{entry.begin(), step.gradient.elements()};
  step.remainder = state.remainder(unit);
  bool canBePart = !step.remainder && !optimizer->takesMatrices();
  if (part.begin < 0 || part.begin > elements - part.elements ||
      (!canBePart && part.elements != elements))
    fail("expects a gradient of ", elements, " elements, got ",
         step.gradient.describe(), " from element ", part.begin, " on");
  if (entry.has_master()) {
    if (step.remainder)
      fail("unit ", unit.name(), " has no master weights apart");
    step.master =
        stagedPart(state, unit.master_dtype(), entry.master(), part, "master");
  } else {
    step.master = part.of(state.masterSlice(unit));
  }
  requireFloat(step.master, "master");
  if (entry.states_size() > 0 && entry.states_size() != states)
    fail("expects ", states, " states, got ", entry.states_size());
  for (int i = 0; i < states; ++i)
    step.states.push_back(entry.states_size() > 0
                              ? stagedPart(state, unit.master_dtype(),
                                           entry.states(i), part, "state")
                          : canBePart ? part.of(stateVector(state, unit, i))
                                      : stateVector(state, unit, i));
  if (unit.master_dtype() != unit.dtype() && !step.remainder) {
    step.copy = entry.has_parameters()
                    ? stagedPart(state, unit.dtype(), entry.parameters(), part,
                                 "parameters")
                    : part.of(state.ownParameters(unit));
    requireFloat(step.copy, "parameter_buffer");
  }
  step.ranges = part.of(trainedRanges(state, unit));
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
    if (!range.isMatrix && !range.isRunning)
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
