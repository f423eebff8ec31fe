// From whole parameters to the slices of a rank.
#include "runtime/weights/RankValues.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

namespace shardc::runtime {

/// Elements read at a time where they are kept in two types.
static constexpr int64_t pieceElements = 1 << 20;

/// readSlice, with the elements shared out to the rank's threads.
static void readShared(const plan::Plan &plan, const plan::Unit &unit,
                       Rank &rank, int64_t sliceBegin, int64_t sliceElements,
                       plan::DType dtype, const ParameterSource &source,
                       std::byte *slice) {
  constexpr int64_t leastElements = 1 << 16;
  auto size = static_cast<int64_t>(elementSize(dtype));
  std::mutex mutex;
  std::exception_ptr failure;
  rank.pool().forRanges(
      sliceElements, leastElements, [&](int64_t begin, int64_t end, int) {
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

static void readRounded(const plan::Plan &plan, const plan::Unit &unit,
                        Rank &rank, const ParameterSource &source) {
  plan::DType masterType = unit.master_dtype();
  auto masterSize = static_cast<int64_t>(elementSize(masterType));
  auto size = static_cast<int64_t>(elementSize(unit.dtype()));
  int64_t first = rank.sliceBegin(unit),
          last = first + rank.sliceElements(unit);
  int64_t ownFirst = rank.optimizerBegin(unit);
  int64_t ownLast = ownFirst + rank.optimizerElements(unit);
  std::byte *parameters = rank.parameterSlice(unit).data();
  std::byte *master = rank.masterSlice(unit).data();
  std::vector<std::byte> piece(std::min(pieceElements, last - first) *
                               masterSize);
  for (int64_t begin = first; begin < last; begin += pieceElements) {
    int64_t end = std::min(last, begin + pieceElements);
    readShared(plan, unit, rank, begin, end - begin, masterType, source,
               piece.data());
    convertElements(piece.data(), masterType,
                    parameters + (begin - first) * size, unit.dtype(),
                    end - begin);
    int64_t from = std::max(begin, ownFirst), to = std::min(end, ownLast);
    if (from < to)
      std::memcpy(master + (from - ownFirst) * masterSize,
                  piece.data() + (from - begin) * masterSize,
                  (to - from) * masterSize);
  }
}

void readInitialValues(const plan::Plan &plan, Rank &rank,
                       const ParameterSource &source) {
  for (const plan::Unit &unit : plan.units())
    if (unit.optimizer_shards() == 0 || unit.master_dtype() == unit.dtype())
      readShared(plan, unit, rank, rank.sliceBegin(unit),
                 rank.sliceElements(unit), unit.dtype(), source,
                 rank.parameterSlice(unit).data());
    else
      readRounded(plan, unit, rank, source);
}

} // namespace shardc::runtime
