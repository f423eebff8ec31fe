// Parts come to the host, and go from there.
#include "runtime/engine/SplitSlice.h"

#include "runtime/base/Error.h"
#include "runtime/base/SplitMaster.h"

#include <algorithm>
#include <vector>

namespace shardc::runtime {
namespace {

/// Elements at a time.
constexpr int64_t most = 1 << 20;

/// Some elements of a slice: where their parts lie, and room for these.
struct SplitPart {
  SplitPart(const Slice &slice, int64_t begin, int64_t count)
      : upper(slice.data + begin * 2), lower(slice.remainder + begin * 2),
        words(slice.remainder + splitLowerBytes(slice.elements) +
              begin / splitWord * 8),
        bit(int(begin % splitWord)), uppers(count), lowers(count),
        allWords((bit + count + splitWord - 1) / splitWord) {}

  std::byte *upper, *lower, *words;
  int bit;
  std::vector<unsigned short> uppers, lowers;
  std::vector<unsigned long long> allWords;
};

template <typename T> int64_t bytesOf(const std::vector<T> &values) {
  return int64_t(values.size() * sizeof(T));
}

/// Calls body(first, count) for parts of the range.
template <typename Body>
void forParts(const Slice &slice, int64_t begin, int64_t elements,
              const Body &body) {
  if (begin < 0 || elements < 0 || begin + elements > slice.elements)
    fail("elements ", begin, " to ", begin + elements, " of a slice of ",
         slice.elements);
  for (int64_t at = 0; at < elements; at += most)
    body(at, std::min(most, elements - at));
}

} // namespace

void readSplit(Device &device, const Slice &slice, int64_t begin,
               int64_t elements, float *values) {
  forParts(slice, begin, elements, [&](int64_t at, int64_t count) {
    SplitPart part(slice, begin + at, count);
    device.download(part.uppers.data(), part.upper, bytesOf(part.uppers));
    device.download(part.lowers.data(), part.lower, bytesOf(part.lowers));
    device.download(part.allWords.data(), part.words, bytesOf(part.allWords));
    joinFloats(part.uppers.data(), part.lowers.data(), part.allWords.data(),
               part.bit, count, values + at);
  });
}

void writeSplit(Device &device, const Slice &slice, int64_t begin,
                int64_t elements, const float *values) {
  forParts(slice, begin, elements, [&](int64_t at, int64_t count) {
    SplitPart part(slice, begin + at, count);
    // The first and the last have bits of others.
    device.download(part.allWords.data(), part.words, bytesOf(part.allWords));
    splitFloats(values + at, count, part.uppers.data(), part.lowers.data(),
                part.allWords.data(), part.bit);
    device.upload(part.upper, part.uppers.data(), bytesOf(part.uppers));
    device.upload(part.lower, part.lowers.data(), bytesOf(part.lowers));
    device.upload(part.words, part.allWords.data(), bytesOf(part.allWords));
  });
}

} // namespace shardc::runtime
