// An element, again and again.
#include "runtime/data/ConstantSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Text.h"

#include <cstring>

namespace shardc::runtime {

ConstantSource::ConstantSource(const plan::Input &input, int64_t value)
    : Source(SampleType(input)), text(concat("constant:", value)),
      element(elementSize(type.dtype)) {
  if (isFloat(type.dtype)) {
    auto number = static_cast<float>(value);
    convertElements(&number, plan::FLOAT32, element.data(), type.dtype, 1);
  } else {
    convertElements(&value, plan::INT64, element.data(), type.dtype, 1);
  }
}

void ConstantSource::read(int64_t, int64_t count,
                          std::byte *destination) const {
  for (int64_t i = 0; i < count * type.elements;
       ++i, destination += element.size())
    std::memcpy(destination, element.data(), element.size());
}

} // namespace shardc::runtime
