// Samples that lie in a file as one array.
#include "runtime/data/ArraySource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace shardc::runtime {

/// Integers widen where no value is lost, booleans are 0 and 1 of them (a
/// float mask may mean what is added); floats become the program's compute type.
static bool accepts(plan::DType expected, plan::DType got) {
  if (expected == got)
    return true;
  if (isFloat(expected) || isFloat(got))
    return isFloat(expected) && isFloat(got);
  if (got == plan::BOOL)
    return true;
  if (expected == plan::BOOL)
    return got == plan::UINT8;
  // Those without a sign fit where there is a bit more.
  return (isSigned(expected) || !isSigned(got)) &&
         elementSize(expected) > elementSize(got);
}

ArraySource::ArraySource(SampleType sampleType, std::string path,
                         Descriptor file, StoredArray array)
    : Source(std::move(sampleType)), path(std::move(path)),
      file(std::move(file)), array(std::move(array)) {
  std::vector<int64_t> expected = type.shape;
  expected.insert(expected.begin(), this->array.shape[0]);
  if (expected != this->array.shape)
    fail(name(), ": expects shape ", shapeText(expected), " for input ",
         type.input, ", got ", shapeText(this->array.shape));
  if (!accepts(type.dtype, this->array.dtype))
    fail(name(), ": expects ", dtypeName(type.dtype), " for input ", type.input,
         ", got ", dtypeName(this->array.dtype));
}

void ArraySource::read(int64_t first, int64_t count,
                       std::byte *destination) const {
  size_t size = elementSize(array.dtype);
  uint64_t begin = array.dataOffset + first * type.elements * size;
  size_t bytes = count * type.elements * size;
  if (array.dtype == type.dtype)
    return file.readAt(begin, destination, bytes, path);
  std::vector<std::byte> stored(bytes);
  file.readAt(begin, stored.data(), bytes, path);
  convertElements(stored.data(), array.dtype, destination, type.dtype,
                  count * type.elements);
}

} // namespace shardc::runtime
