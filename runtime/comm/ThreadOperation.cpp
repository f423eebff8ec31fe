// The work of collectives between threads: copies, and sums over all ranks'
// buffers in one pass.
#include "runtime/comm/ThreadOperation.h"
#include "runtime/base/DType.h"
#include "runtime/comm/RankOrderSum.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

/// Results of one rank from this size on are stored around the caches: what is
/// reduced is read again at the step's end, and what is gathered beside as much
/// from other ranks.
static constexpr int64_t streamedBytes = 2 << 20;

/// The bytes that a thread claims at a time are many beside the claim, and few
/// beside a core's cache.
static constexpr int64_t chunkBytes = 256 << 10;

static int64_t chunksOf(int64_t count, int64_t elementBytes) {
  return (count * elementBytes + chunkBytes - 1) / chunkBytes;
}

void ThreadOperation::reset() {
  arrived = 0;
  finished = 0;
  for (ChunkGroup &group : groups) {
    group.claimed = 0;
    group.done = 0;
  }
}

int ThreadOperation::groupCount() const {
  if (any().kind == Contribution::Kind::AllReduce)
    return 1;
  bool isCommon = any().kind == Contribution::Kind::AllGather &&
                  any().destination == contributions.back().destination;
  return isCommon ? 1 : int(groups.size());
}

int64_t ThreadOperation::chunksOfGroup() const {
  switch (any().kind) {
  case Contribution::Kind::AllGather:
    return int64_t(contributions.size()) * chunksOf(any().count, 1);
  case Contribution::Kind::AllToAll:
    return int64_t(contributions.size()); // senders
  case Contribution::Kind::ReduceScatter:
    return chunksOf(any().count, elementSize(any().dtype));
  default: {
    int64_t chunks = 0;
    for (const Segment &segment : any().segments)
      chunks += chunksOf(segment.count, elementSize(segment.dtype));
    return chunks;
  }
  }
}

void ThreadOperation::runChunk(int group, int64_t chunk) {
  switch (any().kind) {
  case Contribution::Kind::AllGather:
    return gatherChunk(group, chunk);
  case Contribution::Kind::AllToAll:
    // Each begins with its own, so that not all read one rank's at once.
    return parcelChunk(group, int((group + chunk) % contributions.size()));
  case Contribution::Kind::ReduceScatter:
    return scatterChunk(group, chunk);
  default:
    return allReduceChunk(chunk);
  }
}

/// Copies around the caches, where both lie as floats do.
static void stream(std::byte *to, const std::byte *from, int64_t bytes) {
  int64_t count = 0, element = sizeof(float);
  if ((uintptr_t(from) | uintptr_t(to)) % element == 0) {
    count = bytes / element;
    const auto *source = reinterpret_cast<const float *>(from);
    simd::loops<float>().sumAroundCaches(reinterpret_cast<float *>(to), &source,
                                         1, count);
  }
  std::memcpy(to + count * element, from + count * element,
              bytes - count * element);
}

void ThreadOperation::gatherChunk(int receiver, int64_t chunk) {
  int64_t chunksOfShard = chunksOf(any().count, 1);
  // The receiver's own shard is copied first: it is the one in its cache.
  int64_t sender =
      (receiver + chunk / chunksOfShard) % int64_t(contributions.size());
  int64_t begin = chunk % chunksOfShard * chunkBytes;
  const std::byte *from = contributions[sender].source + begin;
  std::byte *to =
      contributions[receiver].destination + sender * any().count + begin;
  if (from == to)
    return;
  int64_t bytes = std::min(chunkBytes, any().count - begin);
  if (any().count * int64_t(contributions.size()) < 4 * streamedBytes)
    std::memcpy(to, from, bytes);
  else
    stream(to, from, bytes);
}

void ThreadOperation::parcelChunk(int receiver, int sender) {
  copyParcels(contributions[sender], sender, contributions[receiver], receiver);
}

namespace {
/// Whose elements are combined, and where they go. `running` is that of one
/// rank, and like all others. A `reader` sees what the one destination gets.
struct Combination {
  std::vector<std::byte *> destinations;
  std::vector<const std::byte *> sources;
  int64_t count;
  plan::DType dtype;
  Combine combine;
  RunningSum running;
  ResultReader *reader = nullptr;
};
} // namespace

/// Computes one chunk and writes it to all destinations.
static void combineChunk(Combination of, int64_t chunk) {
  int64_t element = elementSize(of.dtype), size = chunkBytes / element;
  int64_t sumElement = elementSize(Communicator::sumType(of.dtype));
  int64_t begin = chunk * size, end = std::min(of.count, begin + size);
  for (std::byte *&destination : of.destinations)
    destination += begin * (of.running.ends ? element : sumElement);
  for (const std::byte *&source : of.sources)
    source += begin * element;
  Unrounded unrounded{nullptr, !of.running.ends};
  if (!of.running.begins)
    unrounded.before =
        static_cast<const std::byte *>(of.running.data) + begin * sumElement;
  bool isStreamed = of.count * element >= streamedBytes;
  auto combine = [&](std::span<std::byte *const> destinations, bool streamed) {
    combineInRankOrder(destinations, of.sources, end - begin, of.dtype,
                       of.combine, streamed, unrounded);
  };
  if (!of.reader)
    return combine(of.destinations, isStreamed);
  // What is read is in the cache for it, and streamed from there.
  int64_t bytes = (end - begin) * element;
  alignas(64) std::byte cached[chunkBytes];
  std::byte *seen = isStreamed ? cached : of.destinations[0];
  combine({&seen, 1}, false);
  of.reader->read(begin, {seen, size_t(bytes)});
  if (isStreamed)
    stream(of.destinations[0], seen, bytes);
}

void ThreadOperation::scatterChunk(int receiver, int64_t chunk) {
  int64_t slice = receiver * any().count * int64_t(elementSize(any().dtype));
  const Contribution &own = contributions[receiver];
  Combination combination{{placeOf(own.destination, own.running)},
                          {},
                          own.count,
                          own.dtype,
                          Combine::Sum,
                          own.running,
                          own.reader};
  for (const Contribution &contribution : contributions)
    combination.sources.push_back(contribution.source + slice);
  combineChunk(std::move(combination), chunk);
}

void ThreadOperation::allReduceChunk(int64_t chunk) {
  size_t index = 0;
  for (;; ++index) {
    const Segment &segment = any().segments[index];
    int64_t chunks = chunksOf(segment.count, elementSize(segment.dtype));
    if (chunk < chunks)
      break;
    chunk -= chunks;
  }
  // The running sums of all ranks are equal, so any of them is the first term.
  const Segment &segment = any().segments[index];
  Combination combination{
      {}, {}, segment.count, segment.dtype, segment.combine, segment.running};
  for (const Contribution &contribution : contributions) {
    const Segment &own = contribution.segments[index];
    auto *data = static_cast<std::byte *>(own.data);
    combination.sources.push_back(data);
    combination.destinations.push_back(placeOf(data, own.running));
  }
  combineChunk(std::move(combination), chunk);
}

} // namespace shardc::runtime
