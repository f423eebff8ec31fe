// Trained parameters of a slice, in order.
#include "runtime/engine/TrainedParts.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/engine/ParameterStates.h"

#include <algorithm>

namespace shardc::runtime {

bool isWholeMatrix(const plan::Plan &plan, const plan::Parameter &parameter) {
  const Optimizer *optimizer = findOptimizer(plan.optimizer().kind());
  return optimizer && optimizer->takesMatrices() && parameter.trainable() &&
         parameter.optimizer().empty() && parameter.shape_size() == 2;
}

bool isRunning(const plan::Parameter &parameter) {
  return parameter.trainable() && parameter.optimizer() == runningStatistics;
}

std::string stateNameOf(const plan::Plan &plan,
                        const plan::Parameter &parameter, int index) {
  if (isRunning(parameter))
    return "";
  if (!isWholeMatrix(plan, parameter))
    return index < plan.optimizer().states_size()
               ? plan.optimizer().states(index)
               : "";
  const Optimizer *optimizer = findOptimizer(plan.optimizer().kind());
  return index == 0 ? std::string(optimizer->matrixState) : "";
}

std::vector<TrainedPart> trainedParts(const RankState &state,
                                      const plan::Unit &unit) {
  int64_t first = state.optimizerBegin(unit);
  int64_t last = first + state.optimizerElements(unit);
  std::vector<TrainedPart> parts;
  for (uint32_t index : unit.parameters()) {
    const plan::Parameter &parameter = state.plan.parameters(int(index));
    if (!parameter.trainable())
      continue;
    int64_t elements = 1;
    for (int64_t size : parameter.shape())
      elements *= size;
    int64_t begin = std::max(first, parameter.flat_offset());
    int64_t end = std::min(last, parameter.flat_offset() + elements);
    if (begin < end)
      parts.push_back({index, begin - first, end - first,
                       begin - parameter.flat_offset(),
                       isWholeMatrix(state.plan, parameter),
                       isRunning(parameter), begin - first});
  }
  std::sort(parts.begin(), parts.end(),
            [](const TrainedPart &a, const TrainedPart &b) {
              return a.begin < b.begin;
            });
  const Optimizer *optimizer = findOptimizer(state.plan.optimizer().kind());
  if (optimizer && optimizer->takesMatrices()) {
    int64_t place = 0;
    for (TrainedPart &part : parts) {
      part.laterStates = place;
      place += part.isMatrix ? 0 : part.end - part.begin;
    }
  }
  return parts;
}

Tensor stateVector(const RankState &state, const plan::Unit &unit, int index) {
  uint32_t buffer = unit.state_buffers(index);
  int64_t elements = state.optimizerElements(unit);
  if (index > 0 && buffer < uint32_t(state.plan.buffers_size()))
    elements =
        std::min(elements, state.plan.buffers(int(buffer)).bytes() /
                               int64_t(elementSize(unit.master_dtype())));
  return state.vectorOf(buffer, elements, unit.master_dtype(), "state_buffer");
}

} // namespace shardc::runtime
