// Offsets for buffers of known size and lifetime.
#include "codegen/step/MemoryPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>
#include <tuple>
#include <vector>

namespace shardc::step {
namespace {

/// The buffers that are placed so far, by time: a segment tree whose nodes list
/// the lifetimes that cover them, so that a query visits what it finds and not
/// all that there is.
class PlacedBuffers {
public:
  explicit PlacedBuffers(int64_t times) {
    while (leaves < times)
      leaves *= 2;
    nodes.resize(2 * leaves);
  }

  void insert(int64_t buffer, const Lifetime &lifetime) {
    insert(1, 0, leaves - 1, buffer, lifetime);
  }

  /// Appends every placed buffer that is alive during `lifetime`, each at least
  /// once.
  void overlapping(const Lifetime &lifetime,
                   llvm::SmallVectorImpl<int64_t> &found) const {
    query(1, 0, leaves - 1, lifetime, found);
  }

private:
  struct Node {
    llvm::SmallVector<int64_t, 2> buffers;
    int64_t below = 0; // buffers listed in the subtree
  };

  void insert(int64_t node, int64_t from, int64_t to, int64_t buffer,
              const Lifetime &lifetime) {
    ++nodes[node].below;
    if (lifetime.first <= from && to <= lifetime.last) {
      nodes[node].buffers.push_back(buffer);
      return;
    }
    int64_t middle = from + (to - from) / 2;
    if (lifetime.first <= middle)
      insert(2 * node, from, middle, buffer, lifetime);
    if (lifetime.last > middle)
      insert(2 * node + 1, middle + 1, to, buffer, lifetime);
  }

  void query(int64_t node, int64_t from, int64_t to, const Lifetime &lifetime,
             llvm::SmallVectorImpl<int64_t> &found) const {
    if (!nodes[node].below || lifetime.last < from || to < lifetime.first)
      return;
    llvm::append_range(found, nodes[node].buffers);
    if (from == to)
      return;
    int64_t middle = from + (to - from) / 2;
    query(2 * node, from, middle, lifetime, found);
    query(2 * node + 1, middle + 1, to, lifetime, found);
  }

  int64_t leaves = 1;
  std::vector<Node> nodes;
};

int64_t alignedSize(const Lifetime &buffer) {
  return llvm::alignTo(buffer.bytes, bufferAlignment);
}

Placement place(llvm::ArrayRef<Lifetime> buffers, llvm::ArrayRef<int64_t> order,
                int64_t times) {
  Placement result;
  result.offsets.assign(buffers.size(), 0);
  PlacedBuffers placed(times);
  std::vector<int64_t> seenBy(buffers.size(), -1);
  llvm::SmallVector<int64_t> overlapping;
  llvm::SmallVector<std::pair<int64_t, int64_t>> taken; // [offset, end)

  for (int64_t buffer : order) {
    overlapping.clear();
    taken.clear();
    placed.overlapping(buffers[buffer], overlapping);
    for (int64_t other : overlapping)
      if (seenBy[other] != buffer) {
        seenBy[other] = buffer;
        int64_t offset = result.offsets[other];
        taken.push_back({offset, offset + alignedSize(buffers[other])});
      }
    llvm::sort(taken);

    int64_t size = alignedSize(buffers[buffer]);
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), end = 0;
    for (auto [offset, takenEnd] : taken) {
      if (int64_t gap = offset - end; gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, takenEnd);
    }
    result.offsets[buffer] = best >= 0 ? best : end;
    result.bytes = std::max(result.bytes, result.offsets[buffer] + size);
    placed.insert(buffer, buffers[buffer]);
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
    llvm::SmallVector<int64_t> order = live;
    llvm::sort(order, [&](int64_t a, int64_t b) { return key(a) < key(b); });
    Placement candidate = place(buffers, order, times);
    if (candidate.bytes < best.bytes)
      best = candidate;
    if (best.bytes == bound)
      break;
  }
  best.bound = bound;
  return best;
}

} // namespace shardc::step
