// Reductions as all-gathers, and sums in plain loops.
#include "test/runtime/comm/ShuffledCommunicator.h"

#include "runtime/base/DType.h"
#include "test/runtime/comm/Elements.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include <cstring>
#include <utility>

namespace shardc::runtime {

Communicator &ShuffledCommunicator::group(int64_t stride, int64_t size) {
  Communicator &group = ranks.group(stride, size);
  if (&group == &ranks)
    return *this;
  std::unique_ptr<ShuffledCommunicator> &shuffled = groups[&group];
  if (!shuffled)
    shuffled = std::make_unique<ShuffledCommunicator>(group);
  return *shuffled;
}

Communicator::Ticket ShuffledCommunicator::startAllGather(const void *shard,
                                                          void *gathered,
                                                          int64_t bytes) {
  return ranks.startAllGather(shard, gathered, bytes);
}

namespace {

void requireReducible(plan::DType dtype) {
  if (!Communicator::isReducible(dtype))
    fail("expects floats, int64 or int32 to add up over ranks, got ",
         dtypeName(dtype));
}
size_t bytesOf(const Segment &segment) {
  return size_t(segment.count) * elementSize(segment.dtype);
}
void append(std::vector<std::byte> &to, const void *from, size_t bytes) {
  auto *begin = static_cast<const std::byte *>(from);
  to.insert(to.end(), begin, begin + bytes);
}
/// The word that ranks must agree about.
void append(std::vector<std::byte> &to, uint64_t word) {
  append(to, &word, sizeof word);
}
uint64_t mixed(uint64_t word, uint64_t value) {
  return (word ^ value) * 0x9E3779B97F4A7C15u;
}
uint64_t wordOf(const RunningSum &running) {
  return 1 + 2 * running.begins + 4 * running.ends;
}

/// The combination of element `i` of every rank, from the rank `first`
/// downwards.
template <typename T>
SumOf<T> combined(const std::byte *all, size_t stride, int ranks, int first,
                  Combine combine, int64_t i) {
  SumOf<T> total{};
  for (int k = 0; k < ranks; ++k) {
    T element;
    std::memcpy(&element,
                all + ((first - k + ranks) % ranks) * stride +
                    size_t(i) * sizeof(T),
                sizeof(T));
    auto value = SumOf<T>(element);
    if (k == 0)
      total = value;
    else if (combine == Combine::Max)
      total = total != total || total >= value ? total : value;
    else if constexpr (std::is_integral_v<T>)
      __builtin_add_overflow(total, value, &total); // wraps around
    else
      total += value;
  }
  return total;
}

/// Adds element `i` to what was added before, and puts it where it belongs.
template <typename T> void put(SumOf<T> total, const Segment &to, int64_t i) {
  auto *sums = static_cast<SumOf<T> *>(to.running.data);
  if (!to.running.begins) {
    if constexpr (std::is_integral_v<T>)
      __builtin_add_overflow(total, sums[i], &total);
    else
      total += sums[i];
  }
  if (to.running.ends)
    static_cast<T *>(to.data)[i] = T(total);
  else
    sums[i] = total;
}

} // namespace

Communicator::Ticket ShuffledCommunicator::startReduceScatter(
    const void *flat, void *shard, int64_t count, plan::DType dtype,
    RunningSum running, ResultReader *reader) {
  requireReducible(dtype);
  Reduction reduction;
  Segment segment{shard, count, dtype, Combine::Sum, running};
  append(reduction.own, mixed(mixed(wordOf(running), count), dtype));
  append(reduction.own, flat, bytesOf(segment) * size());
  reduction.results.push_back(
      {segment, sizeof(uint64_t) + bytesOf(segment) * rank(), reader});
  return start(std::move(reduction));
}

Communicator::Ticket
ShuffledCommunicator::startAllReduce(std::span<const Segment> segments) {
  Reduction reduction;
  uint64_t word = 2;
  for (const Segment &segment : segments) {
    requireReducible(segment.dtype);
    word = mixed(mixed(mixed(word, segment.count), segment.dtype),
                 segment.combine == Combine::Max);
    word = mixed(word, wordOf(segment.running));
  }
  append(reduction.own, word);
  for (const Segment &segment : segments) {
    reduction.results.push_back({segment, reduction.own.size()});
    append(reduction.own, segment.data, bytesOf(segment));
  }
  return start(std::move(reduction));
}

Communicator::Ticket ShuffledCommunicator::start(Reduction moved) {
  auto reduction = std::make_unique<Reduction>(std::move(moved));
  reduction->all.resize(reduction->own.size() * size());
  Ticket ticket =
      ranks.startAllGather(reduction->own.data(), reduction->all.data(),
                           int64_t(reduction->own.size()));
  reductions.emplace(ticket, std::move(reduction));
  return ticket;
}

void ShuffledCommunicator::combine(Ticket ticket, Reduction &reduction) const {
  if (std::exchange(reduction.isDone, true))
    return;
  size_t stride = reduction.own.size();
  for (int other = 0; other < size(); ++other)
    if (std::memcmp(reduction.all.data() + other * stride, reduction.own.data(),
                    sizeof(uint64_t)) != 0)
      fail("rank ", rank(), " and rank ", other,
           " disagree about a collective: all-reduce of ", stride, " bytes");
  int first = int(ticket % uint64_t(size()));
  for (const auto &[segment, from, reader] : reduction.results) {
    withElement(segment.dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < segment.count; ++i)
        put<T>(combined<T>(reduction.all.data() + from, stride, size(), first,
                           segment.combine, i),
               segment, i);
    });
    if (reader)
      reader->read(
          0, {static_cast<const std::byte *>(segment.data), bytesOf(segment)});
  }
}

void ShuffledCommunicator::wait(Ticket ticket) {
  ranks.wait(ticket);
  if (auto found = reductions.find(ticket); found != reductions.end())
    combine(ticket, *found->second);
}

void ShuffledCommunicator::finish(Ticket ticket) {
  auto found = reductions.find(ticket);
  if (found == reductions.end())
    return ranks.finish(ticket);
  // Before the others' leave to go: one that throws has not finished.
  wait(ticket);
  ranks.finish(ticket);
  reductions.erase(found);
}

void runShuffledRanks(int ranks,
                      const std::function<void(Communicator &)> &body) {
  runRanksAsThreads(ranks, [&](Communicator &communicator) {
    ShuffledCommunicator shuffled(communicator);
    body(shuffled);
  });
}

} // namespace shardc::runtime
