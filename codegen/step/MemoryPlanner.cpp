// Offsets for buffers of known size and lifetime.
#include "codegen/step/MemoryPlanner.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

namespace shardc::step {
namespace {

// No order is worth the square of more buffers than these.
constexpr size_t mostSearched = 6000;
// Above it, buffers that live longer than this are placed before the others.
constexpr int64_t shortSpan = 64;
// Where all orders take more than the bound by this part of it, others are
// tried, for so many pairs of buffers (about half a second).
constexpr double closeEnough = 0.005, workOfSearch = 4e8;
constexpr int mostTries = 200; // of each order

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
    Range range{lifetime.first, lifetime.last, offset, offset + lifetime.bytes};
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

/// Places the buffers in this order; none once that takes `limit` bytes. Then
/// `failed` is the place in the order of the buffer that took them.
std::optional<Placement> place(llvm::ArrayRef<Lifetime> buffers,
                               llvm::ArrayRef<int64_t> order, int64_t limit,
                               size_t *failed = nullptr) {
  Placement result;
  result.offsets.assign(buffers.size(), 0);
  PlacedBuffers placed;
  for (auto [index, buffer] : llvm::enumerate(order)) {
    int64_t size = buffers[buffer].bytes;
    int64_t offset = placed.bestGap(buffers[buffer], size);
    result.offsets[buffer] = offset;
    result.bytes = std::max(result.bytes, offset + size);
    if (result.bytes >= limit) {
      if (failed)
        *failed = index;
      return std::nullopt;
    }
    placed.insert(buffers[buffer], offset);
  }
  return result;
}

/// Tries orders in which buffers that found no room below the limit come
/// earlier, each half way to the front, for `work` pairs of buffers; keeps what
/// is better than `best`, until it takes `enough` bytes at most (squeaky wheel
/// optimization: Joslin and Clements, JAIR 10, 1999).
void improve(llvm::ArrayRef<Lifetime> buffers, llvm::SmallVector<int64_t> order,
             int64_t enough, double work, Placement &best) {
  for (int tried = 0; tried < mostTries && work > 0 && best.bytes > enough;
       ++tried) {
    size_t failed = 0;
    std::optional<Placement> better =
        place(buffers, order, best.bytes, &failed);
    size_t placed = better ? order.size() : failed + 1;
    work -= double(placed) * double(placed) / 2 + double(order.size());
    if (better) {
      best = std::move(*better);
      continue; // below that
    }
    if (failed == 0)
      return;
    std::rotate(order.begin() + failed / 2, order.begin() + failed,
                order.begin() + failed + 1);
  }
}

/// The bytes that no living buffer has, while time goes by.
class FreeBytes {
public:
  /// The start of the smallest gap between living buffers that has room, the
  /// first one of several; behind all others where there is none.
  int64_t take(int64_t size) {
    auto found = bySize.lower_bound({size, 0});
    if (found == bySize.end()) {
      int64_t offset = end;
      end += size;
      return offset;
    }
    auto [room, offset] = *found;
    erase(gaps.find(offset));
    if (room > size)
      insert(offset + size, offset + room);
    return offset;
  }

  void give(int64_t begin, int64_t size) {
    int64_t until = begin + size;
    if (auto behind = gaps.find(until); behind != gaps.end()) {
      until = behind->second;
      erase(behind);
    }
    if (auto next = gaps.lower_bound(begin); next != gaps.begin())
      if (auto before = std::prev(next); before->second == begin) {
        begin = before->first;
        erase(before);
      }
    if (until == end)
      end = begin;
    else
      insert(begin, until);
  }

private:
  void insert(int64_t begin, int64_t until) {
    gaps.emplace(begin, until);
    bySize.emplace(until - begin, begin);
  }
  void erase(std::map<int64_t, int64_t>::iterator gap) {
    bySize.erase({gap->second - gap->first, gap->first});
    gaps.erase(gap);
  }

  std::map<int64_t, int64_t> gaps; // begin -> end, none beside another
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t end = 0; // of what lives
};

/// What `place` makes of an order in which no buffer begins before the one
/// ahead of it: all that it could meet lives when it begins, so that gaps need
/// no search.
std::optional<Placement> placeByTime(llvm::ArrayRef<Lifetime> buffers,
                                     llvm::ArrayRef<int64_t> order,
                                     int64_t limit) {
  Placement result;
  result.offsets.assign(buffers.size(), 0);
  FreeBytes free;
  using Living = std::pair<int64_t, int64_t>; // last, buffer
  std::priority_queue<Living, std::vector<Living>, std::greater<>> living;
  for (int64_t buffer : order) {
    for (; !living.empty() && living.top().first < buffers[buffer].first;
         living.pop()) {
      int64_t ended = living.top().second;
      free.give(result.offsets[ended], buffers[ended].bytes);
    }
    int64_t size = buffers[buffer].bytes;
    int64_t offset = result.offsets[buffer] = free.take(size);
    result.bytes = std::max(result.bytes, offset + size);
    if (result.bytes >= limit)
      return std::nullopt;
    living.emplace(buffers[buffer].last, buffer);
  }
  return result;
}

/// Long-lived buffers at the bottom, as time goes by: what forward keeps for
/// backward is a stack. The others, of which few live at once, lie above all of
/// those that live meanwhile. Takes time in proportion to the buffers.
std::optional<Placement> placeInTwoLayers(llvm::ArrayRef<Lifetime> buffers,
                                          llvm::ArrayRef<int64_t> byTime,
                                          int64_t times, int64_t limit) {
  llvm::SmallVector<int64_t> longLived, shortLived;
  for (int64_t buffer : byTime)
    (buffers[buffer].last - buffers[buffer].first > shortSpan ? longLived
                                                              : shortLived)
        .push_back(buffer);
  std::optional<Placement> result = placeByTime(buffers, longLived, limit);
  if (!result)
    return std::nullopt;
  // Where the long-lived ones end at each time: the highest of them that lives.
  std::vector<int64_t> height(times, 0);
  auto endOf = [&](int64_t buffer) {
    return result->offsets[buffer] + buffers[buffer].bytes;
  };
  std::priority_queue<std::pair<int64_t, int64_t>> highest; // end, last
  auto next = longLived.begin();
  for (int64_t time = 0; time < times; ++time) {
    for (; next != longLived.end() && buffers[*next].first <= time; ++next)
      highest.emplace(endOf(*next), buffers[*next].last);
    while (!highest.empty() && highest.top().second < time)
      highest.pop();
    height[time] = highest.empty() ? 0 : highest.top().first;
  }

  std::map<int64_t, int64_t> living; // offset -> end
  std::priority_queue<std::pair<int64_t, int64_t>,
                      std::vector<std::pair<int64_t, int64_t>>, std::greater<>>
      ends; // last, offset
  for (int64_t buffer : shortLived) {
    const Lifetime &lifetime = buffers[buffer];
    for (; !ends.empty() && ends.top().first < lifetime.first; ends.pop())
      living.erase(ends.top().second);
    int64_t size = lifetime.bytes;
    int64_t offset = *std::max_element(height.begin() + lifetime.first,
                                       height.begin() + lifetime.last + 1);
    for (auto [begin, end] : living) {
      if (begin >= offset + size)
        break;
      offset = std::max(offset, end);
    }
    result->offsets[buffer] = offset;
    result->bytes = std::max(result->bytes, offset + size);
    if (result->bytes >= limit)
      return std::nullopt;
    living.emplace(offset, offset + size);
    ends.emplace(lifetime.last, offset);
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
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
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
  auto size = [&](int64_t i) { return buffers[i].bytes; };
  using Key = std::tuple<double, double, int64_t>;
  constexpr size_t byTime = 2;
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
  llvm::SmallVector<llvm::SmallVector<int64_t>> orders;
  for (auto [number, key] : llvm::enumerate(keys)) {
    // The others look at all that is placed for each buffer.
    if (live.size() > mostSearched && number != byTime)
      continue;
    auto keyed = llvm::map_to_vector(live, key);
    llvm::sort(keyed);
    auto order = llvm::map_to_vector(
        keyed, [](const Key &entry) { return std::get<int64_t>(entry); });
    if (auto better = number == byTime ? placeByTime(buffers, order, best.bytes)
                                       : place(buffers, order, best.bytes))
      best = std::move(*better);
    if (live.size() > mostSearched)
      if (auto better = placeInTwoLayers(buffers, order, times, best.bytes))
        best = std::move(*better);
    if (best.bytes == bound)
      break;
    orders.push_back(std::move(order));
  }
  auto enough = static_cast<int64_t>((1 + closeEnough) * double(bound));
  if (live.size() <= mostSearched)
    for (auto &order : orders)
      improve(buffers, std::move(order), enough,
              workOfSearch / double(orders.size()), best);
  best.bound = bound;
  return best;
}

} // namespace shardc::step
