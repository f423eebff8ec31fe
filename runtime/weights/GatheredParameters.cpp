// A question to all ranks, and the sum of their answers.
#include "runtime/weights/GatheredParameters.h"

#include "runtime/base/DType.h"

#include <algorithm>

namespace shardc::runtime {

GatheredParameters::GatheredParameters(const plan::Plan &plan, Rank &rank,
                                       Values values,
                                       const ParameterSource *initial,
                                       int state)
    : plan(plan), rank(rank), values(values), initial(initial), state(state) {}

GatheredParameters::Request
GatheredParameters::agree(const Request &asked) const {
  // Only the reader asks: the sum of the ranks' numbers is its question.
  int64_t numbers[3] = {asked.parameter + 1, asked.begin, asked.end};
  Segment segment{numbers, 3, plan::INT64};
  rank.communicator().allReduce({&segment, 1});
  return {numbers[0] - 1, numbers[1], numbers[2]};
}

plan::DType GatheredParameters::typeOf(const plan::Unit &unit) const {
  return values == Values::Gradients ? unit.gradient_dtype()
                                     : unit.master_dtype();
}

Slice GatheredParameters::sliceOf(const plan::Unit &unit,
                                  uint32_t parameter) const {
  switch (values) {
  case Values::Parameters:
    return rank.masterSlice(unit);
  case Values::Gradients:
    return rank.gradientSlice(plan.parameters(int(parameter)).unit());
  case Values::States:
    break;
  }
  return rank.stateSlice(unit, parameter, state);
}

std::vector<int64_t>
GatheredParameters::exchange(const Request &request) const {
  const plan::Parameter &parameter = plan.parameters(int(request.parameter));
  const plan::Unit &unit = plan.units(int(parameter.unit()));
  auto size = static_cast<int64_t>(elementSize(typeOf(unit)));
  int64_t bytes = (request.end - request.begin) * size;
  std::vector<int64_t> words((bytes + 7) / 8);
  // Ranks that hold the same slice would add it several times.
  if (rank.holders(unit).isFirst()) {
    Slice slice = sliceOf(unit, uint32_t(request.parameter));
    int64_t first = request.begin + parameter.flat_offset();
    int64_t last = request.end + parameter.flat_offset();
    int64_t begin = std::max(first, slice.begin);
    int64_t end = std::min(last, slice.begin + slice.elements);
    if (begin < end)
      rank.read(slice, begin - slice.begin, end - begin,
                reinterpret_cast<std::byte *>(words.data()) +
                    (begin - first) * size);
  }
  Segment segment{words.data(), int64_t(words.size()), plan::INT64};
  rank.communicator().allReduce({&segment, 1});
  return words;
}

void GatheredParameters::read(int parameter, int64_t begin, int64_t end,
                              plan::DType dtype, std::byte *destination) const {
  if (!plan.parameters(parameter).trainable() && initial)
    return initial->read(parameter, begin, end, dtype, destination);
  if (begin >= end)
    return;
  const plan::Unit &unit = plan.units(int(plan.parameters(parameter).unit()));
  std::vector<int64_t> words = exchange(agree({parameter, begin, end}));
  convertElements(words.data(), typeOf(unit), destination, dtype, end - begin);
}

void GatheredParameters::finish() const { agree({}); }

void GatheredParameters::serve() const {
  for (;;) {
    Request request = agree({});
    if (request.parameter < 0)
      return;
    exchange(request);
  }
}

} // namespace shardc::runtime
