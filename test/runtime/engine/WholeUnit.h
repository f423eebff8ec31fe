// A unit's flat values, put together of what the ranks hold.
#ifndef SHARDC_TEST_RUNTIME_ENGINE_WHOLEUNIT_H
#define SHARDC_TEST_RUNTIME_ENGINE_WHOLEUNIT_H

#include "runtime/base/DType.h"
#include "runtime/engine/Executor.h"
#include "test/runtime/engine/HostRank.h"

#include <cstring>
#include <span>
#include <vector>

namespace shardc::runtime {

/// To be called by all ranks, with their optimizer slices of one unit (elements
/// of `T`): padding is there, too.
template <typename T>
std::vector<T> wholeUnit(Rank &rank, const plan::Unit &unit,
                         const Slice &slice) {
  std::vector<int64_t> words((unit.elements() * sizeof(T) + 7) / 8);
  if (rank.holders(unit).isFirst())
    rank.read(slice, 0, slice.elements,
              reinterpret_cast<std::byte *>(words.data()) +
                  slice.begin * sizeof(T));
  Segment segment{words.data(), int64_t(words.size()), plan::INT64};
  rank.communicator().allReduce({&segment, 1});
  std::vector<T> whole(unit.elements());
  std::memcpy(whole.data(), words.data(), whole.size() * sizeof(T));
  return whole;
}

} // namespace shardc::runtime

#endif
