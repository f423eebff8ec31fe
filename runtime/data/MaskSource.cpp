// Attention masks that are made from ids.
#include "runtime/data/MaskSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace shardc::runtime {

MaskSource::MaskSource(SampleType sampleType, const Source &ids,
                       const SourceKeys &sourceKeys)
    : Source(std::move(sampleType)), ids(ids), causal(sourceKeys.causal),
      padding(sourceKeys.padding), documents(sourceKeys.documents) {
  const SampleType &other = ids.sampleType();
  size_t axes = type.shape.size();
  if ((other.dtype != plan::INT64 && other.dtype != plan::INT32) ||
      other.shape.size() != 1)
    fail("input ", type.input, " is made from the ids of input ", other.input,
         ", which takes ", dtypeName(other.dtype), " ", shapeText(other.shape),
         " of a sample; expects int64 or int32 of one axis");
  keys = other.elements;
  bool needsQueries = causal || documents;
  if (axes == 0 || type.shape.back() != keys ||
      (needsQueries && (axes < 2 || type.shape[axes - 2] != keys)))
    fail("input ", type.input, " takes ", shapeText(type.shape),
         " of a sample; a mask from the ", keys, " ids of input ", other.input,
         causal      ? ", which is causal,"
         : documents ? ", which keeps documents apart,"
                     : "",
         " ends in ",
         needsQueries ? shapeText(std::array{keys, keys})
                      : shapeText(std::array{keys}));
  queries = needsQueries ? keys : 1;
  repeats = type.elements / std::max<int64_t>(1, queries * keys);
}

/// The two values of a mask in its dtype: not attended, attended.
static std::array<std::array<std::byte, 8>, 2> valuesOf(plan::DType dtype) {
  std::array<std::array<std::byte, 8>, 2> values{};
  if (isFloat(dtype)) {
    // What converts to the lowest of 16 bits without becoming infinite.
    double lowest = dtype == plan::FLOAT64
                        ? std::numeric_limits<double>::lowest()
                    : dtype == plan::FLOAT16 ? -65504
                    : dtype == plan::BFLOAT16
                        ? -0x1.fep127
                        : double(std::numeric_limits<float>::lowest());
    convertElements(&lowest, plan::FLOAT64, values[0].data(), dtype, 1);
    return values; // attended: zero
  }
  int64_t one = 1;
  convertElements(&one, plan::INT64, values[1].data(), dtype, 1);
  return values;
}

void MaskSource::fill(const int64_t *ids, std::byte *destination) const {
  size_t size = elementSize(type.dtype);
  std::array<std::array<std::byte, 8>, 2> values = valuesOf(type.dtype);
  // The document of each key: as many end before it.
  std::vector<int64_t> document(keys, 0);
  for (int64_t key = 1; documents && key < keys; ++key)
    document[key] = document[key - 1] + (ids[key - 1] == *documents);
  for (int64_t query = 0; query < queries; ++query) {
    for (int64_t key = 0; key < keys; ++key) {
      bool attended = !(causal && key > query) &&
                      !(padding && ids[key] == *padding) &&
                      !(documents && document[key] != document[query]);
      std::memcpy(destination, values[attended].data(), size);
      destination += size;
    }
  }
}

void MaskSource::read(int64_t first, int64_t count,
                      std::byte *destination) const {
  const SampleType &other = ids.sampleType();
  std::vector<std::byte> stored(count * other.bytes);
  ids.read(first, count, stored.data());
  std::vector<int64_t> values(count * keys);
  convertElements(stored.data(), other.dtype, values.data(), plan::INT64,
                  count * keys);
  size_t bytes = queries * keys * elementSize(type.dtype);
  for (int64_t sample = 0; sample < count; ++sample) {
    fill(values.data() + sample * keys, destination);
    for (int64_t repeat = 1; repeat < repeats; ++repeat)
      std::memcpy(destination + repeat * bytes, destination, bytes);
    destination += type.bytes;
  }
}

} // namespace shardc::runtime
