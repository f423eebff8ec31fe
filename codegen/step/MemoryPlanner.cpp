// Offsets for buffers of known size and lifetime.
#include "codegen/step/MemoryPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace shardc::step {
namespace {

int64_t alignedSize(const Lifetime &buffer) {
  return llvm::alignTo(buffer.bytes, bufferAlignment);
}

/// The buffers that are placed so far, in the order of their offsets. A walk
/// over all of them costs less than to keep those apart that are alive at other
/// times: most of what a step keeps for backward is alive at once.
class PlacedBuffers {
public:
  /// The start of the smallest gap that has room for `size` bytes during
  /// `lifetime`; behind all others where there is none.
  int64_t bestGap(const Lifetime &lifetime, int64_t size) const {
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), end = 0;
    for (const Range &range : ranges) {
      if (range.last < lifetime.first || lifetime.last < range.first)
        continue;
      if (int64_t gap = range.begin - end; gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
        if (gap == size) // none is smaller
          break;
      }
      end = std::max(end, range.end);
    }
    return best >= 0 ? best : end;
  }

  void insert(const Lifetime &lifetime, int64_t offset) {
    Range range{lifetime.first, lifetime.last, offset,
                offset + alignedSize(lifetime)};
    ranges.insert(llvm::upper_bound(ranges, range,
                                    [](const Range &a, const Range &b) {
                                      return std::pair(a.begin, a.end) <
                                             std::pair(b.begin, b.end);
                                    }),
                  range);
  }

private:
  struct Range {
    int64_t first, last; // lifetime
    int64_t begin, end;  // bytes
  };
  std::vector<Range> ranges;
};

/// Places the buffers in this order; none once that takes `limit` bytes.
std::optional<Placement> place(llvm::ArrayRef<Lifetime> buffers,
                               llvm::ArrayRef<int64_t> order, int64_t limit) {
  Placement result;
  result.offsets.assign(buffers.size(), 0);
  PlacedBuffers placed;
  for (int64_t buffer : order) {
    int64_t size = alignedSize(buffers[buffer]);
    int64_t offset = placed.bestGap(buffers[buffer], size);
    result.offsets[buffer] = offset;
    result.bytes = std::max(result.bytes, offset + size);
    if (result.bytes >= limit)
      return std::nullopt;
    placed.insert(buffers[buffer], offset);
  }
  return result;
}

} // namespace

int64_t mostAlive(llvm::ArrayRef<Lifetime> buffers) {
  int64_t times = 0;
  for (const Lifetime &buffer : buffers)
    times = std::max(times, buffer.last + 1);
  std::vector<int64_t> change(times + 1);
  for (const Lifetime &buffer : buffers) {
    change[buffer.first] += alignedSize(buffer);
    change[buffer.last + 1] -= alignedSize(buffer);
  }
  int64_t alive = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, alive += bytes);
  return most;
}

Placement placeBuffers(llvm::ArrayRef<Lifetime> buffers) {
  int64_t times = 1;
  llvm::SmallVector<int64_t> live;
  for (auto [index, buffer] : llvm::enumerate(buffers))
    if (buffer.first <= buffer.last && buffer.bytes > 0) {
      live.push_back(index);
      times = std::max(times, buffer.last + 1);
    }
  Placement best;
  best.offsets.assign(buffers.size(), 0);
  if (live.empty())
    return best;
  llvm::SmallVector<Lifetime> alive;
  for (int64_t index : live)
    alive.push_back(buffers[index]);
  int64_t bound = mostAlive(alive);

  // The first key decides, the next ones break ties; the index makes every
  // order total.
  auto span = [&](int64_t i) { return buffers[i].last - buffers[i].first + 1; };
  auto size = [&](int64_t i) { return alignedSize(buffers[i]); };
  using Key = std::tuple<double, double, int64_t>;
  const std::function<Key(int64_t)> keys[] = {
      [&](int64_t i) { return Key{-double(size(i)), -double(span(i)), i}; },
      [&](int64_t i) {
        return Key{-double(size(i)) * span(i), -double(size(i)), i};
      },
      [&](int64_t i) {
        return Key{double(buffers[i].first), -double(size(i)), i};
      },
      [&](int64_t i) { return Key{-double(span(i)), -double(size(i)), i}; },
  };
  best.bytes = std::numeric_limits<int64_t>::max();
  for (const auto &key : keys) {
    auto keyed = llvm::map_to_vector(live, key);
    llvm::sort(keyed);
    auto order = llvm::map_to_vector(
        keyed, [](const Key &entry) { return std::get<int64_t>(entry); });
    if (auto better = place(buffers, order, best.bytes))
      best = std::move(*better);
    if (best.bytes == bound)
      break;
  }
  best.bound = bound;
  return best;
}

} // namespace shardc::step
