// Samples that another input has.
#include "runtime/data/CopiedSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace shardc::runtime {

static bool isInteger(plan::DType dtype) {
  return dtype == plan::INT64 || dtype == plan::INT32;
}

CopiedSource::CopiedSource(SampleType sampleType, const Source &source,
                           std::optional<Replaced> replaced)
    : Source(std::move(sampleType)), source(source), replaced(replaced) {
  const SampleType &other = source.sampleType();
  if (type.elements != other.elements)
    fail("input ", type.input, " takes ", shapeText(type.shape),
         " of a sample, and input ", other.input,
         ", whose values it is given, ", shapeText(other.shape));
  bool fits = other.dtype == type.dtype ||
              (isInteger(type.dtype) && isInteger(other.dtype)) ||
              (isFloat(type.dtype) && isFloat(other.dtype));
  if (!fits)
    fail("input ", type.input, " takes ", dtypeName(type.dtype), ", and input ",
         other.input, ", whose values it is given, ", dtypeName(other.dtype));
  if (replaced && !isInteger(type.dtype))
    fail("input ", type.input, " takes ", dtypeName(type.dtype),
         ", and ignore=ID is for integers");
}

void CopiedSource::read(int64_t first, int64_t count,
                        std::byte *destination) const {
  const SampleType &other = source.sampleType();
  if (!replaced && other.dtype == type.dtype)
    return source.read(first, count, destination);
  std::vector<std::byte> values(count * other.bytes);
  source.read(first, count, values.data());
  int64_t elements = count * type.elements;
  if (!isInteger(type.dtype))
    return convertElements(values.data(), other.dtype, destination, type.dtype,
                           elements);
  std::vector<int64_t> ids(elements);
  convertElements(values.data(), other.dtype, ids.data(), plan::INT64,
                  elements);
  if (replaced)
    std::ranges::replace(ids, replaced->from, replaced->to);
  store(ids, first, destination);
}

} // namespace shardc::runtime
