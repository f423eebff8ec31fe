// From whole parameters to the slices of a rank, chunk by chunk through the
// host's memory.
#include "runtime/weights/RankValues.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

namespace shardc::runtime {

/// Elements that are read at a time.
static constexpr int64_t chunkElements = 4 << 20;

/// readSlice, with the elements shared out to the rank's threads.
static void readShared(const plan::Plan &plan, const plan::Unit &unit,
                       Rank &rank, int64_t sliceBegin, int64_t sliceElements,
                       plan::DType dtype, const ParameterSource &source,
                       std::byte *slice) {
  constexpr int64_t leastElements = 1 << 16;
  auto size = static_cast<int64_t>(elementSize(dtype));
  std::mutex mutex;
  std::exception_ptr failure;
  rank.device().onHost(
      sliceElements, leastElements, [&](int64_t begin, int64_t end) {
        try {
          readSlice(plan, unit, sliceBegin + begin, end - begin, dtype, source,
                    slice + begin * size);
        } catch (...) { // may not leave the thread
          std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
  if (failure)
    std::rethrow_exception(failure);
}

void readSliceValues(const plan::Plan &plan, const plan::Unit &unit, Rank &rank,
                     const Slice &slice, const ParameterSource &source) {
  std::vector<std::byte> chunk;
  for (int64_t begin = 0; begin < slice.elements; begin += chunkElements) {
    int64_t count = std::min(slice.elements - begin, chunkElements);
    chunk.resize(count * elementSize(slice.dtype));
    readShared(plan, unit, rank, slice.begin + begin, count, slice.dtype,
               source, chunk.data());
    rank.write(slice, begin, count, chunk.data());
  }
}

void readInitialValues(const plan::Plan &plan, Rank &rank,
                       const ParameterSource &source) {
  std::vector<std::byte> chunk, rounded;
  for (const plan::Unit &unit : plan.units()) {
    Slice slice = rank.parameterSlice(unit), master = rank.masterSlice(unit);
    bool isRounded = master && master.dtype != slice.dtype;
    plan::DType dtype = isRounded ? master.dtype : slice.dtype;
    auto size = static_cast<int64_t>(elementSize(dtype));
    int64_t last = slice.begin + slice.elements;
    for (int64_t begin = slice.begin; begin < last; begin += chunkElements) {
      int64_t count = std::min(last - begin, chunkElements);
      chunk.resize(count * size);
      readShared(plan, unit, rank, begin, count, dtype, source, chunk.data());
      if (!isRounded) {
        rank.write(slice, begin - slice.begin, count, chunk.data());
        continue;
      }
      rounded.resize(count * elementSize(slice.dtype));
      convertElements(chunk.data(), dtype, rounded.data(), slice.dtype, count);
      rank.write(slice, begin - slice.begin, count, rounded.data());
      int64_t from = std::max(begin, master.begin);
      int64_t to = std::min(begin + count, master.begin + master.elements);
      if (from < to)
        rank.write(master, from - master.begin, to - from,
                   chunk.data() + (from - begin) * size);
    }
  }
}

} // namespace shardc::runtime
