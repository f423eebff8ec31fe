// What all formats of samples have in common.
#include "runtime/data/Source.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace shardc::runtime {

SampleType::SampleType(const plan::Input &input)
    : input(input.name()), dtype(input.tensor().dtype()),
      shape(input.tensor().shape().begin() +
                std::min(1, input.tensor().shape_size()),
            input.tensor().shape().end()),
      elements(1) {
  for (int64_t dim : shape)
    elements *= dim;
  bytes = elements * static_cast<int64_t>(elementSize(dtype));
}

std::string Source::where(int64_t sample, int64_t element) const {
  return name() + ": " + sampleText(type, sample, element);
}

void Source::store(std::span<const int64_t> ids, int64_t first,
                   std::byte *destination) const {
  for (size_t i = 0; type.dtype == plan::INT32 && i < ids.size(); ++i)
    if (auto at = static_cast<int64_t>(i);
        ids[i] != static_cast<int32_t>(ids[i]))
      fail(where(first + at / type.elements, at % type.elements), ": ", ids[i],
           " is no int32, as input ", type.input, " takes");
  for (size_t i = 0; type.dtype == plan::BOOL && i < ids.size(); ++i)
    if (auto at = static_cast<int64_t>(i); ids[i] != 0 && ids[i] != 1)
      fail(where(first + at / type.elements, at % type.elements), ": ", ids[i],
           " is neither 0 nor 1, as input ", type.input, " takes");
  convertElements(ids.data(), plan::INT64, destination, type.dtype, ids.size());
}

std::string sampleText(const SampleType &type, int64_t sample,
                       int64_t element) {
  std::vector<int64_t> position = type.shape;
  for (size_t axis = position.size(); axis-- > 0;) {
    int64_t dim = position[axis];
    position[axis] = element % dim;
    element /= dim;
  }
  return "sample " + std::to_string(sample) +
         (position.empty() ? "" : " at " + shapeText(position));
}

} // namespace shardc::runtime
