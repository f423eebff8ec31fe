// Samples that are drawn.
#include "runtime/data/SyntheticSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

namespace shardc::runtime {

SyntheticSource::SyntheticSource(const plan::Input &input, uint64_t seed)
    : Source(SampleType(input)), text(concat("synthetic:", seed)),
      stream(seed, "data." + input.name()),
      low(input.bounded() ? input.min_value() : 0),
      choices(input.bounded() ? static_cast<uint64_t>(input.max_value()) -
                                    static_cast<uint64_t>(low) + 1
                              : 2) {}

void SyntheticSource::read(int64_t first, int64_t count,
                           std::byte *destination) const {
  uint64_t begin = static_cast<uint64_t>(first) * type.elements;
  int64_t elements = count * type.elements;
  if (isFloat(type.dtype)) {
    std::vector<float> values(elements);
    stream.normal(0, 1, begin, values);
    return convertElements(values.data(), plan::FLOAT32, destination,
                           type.dtype, elements);
  }
  std::vector<int64_t> values(elements);
  for (int64_t i = 0; i < elements; ++i)
    values[i] = low + static_cast<int64_t>(stream.below(choices, begin + i));
  convertElements(values.data(), plan::INT64, destination, type.dtype,
                  elements);
}

} // namespace shardc::runtime
