// All-reduces between processes. Short ones: every process brings what its
// members have to all others, and all combine it. Long ones: each node folds,
// its processes taking chunks in turn; the last node's result goes back along
// the nodes, and processes of a node read it from each other.
#include "runtime/comm/FoldExchange.h"

#include "runtime/base/DType.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// A message's cost is that of so many bytes.
constexpr int64_t shortBytes = 32 << 10;

int64_t bytesOf(const Segment &segment) {
  return segment.count * int64_t(elementSize(segment.dtype));
}

/// What a segment takes in a message with others: each begins where any type
/// may lie.
int64_t packedBytes(const Segment &segment) {
  return (bytesOf(segment) + 7) / 8 * 8;
}

/// Where the results of a segment go.
std::vector<std::byte *> placesOf(const std::vector<Contribution> &own,
                                  size_t segment) {
  std::vector<std::byte *> places;
  for (const Contribution &each : own) {
    const Segment &of = each.segments[segment];
    places.push_back(placeOf(of.data, of.running));
  }
  return places;
}

class ShortAllReduce final : public Exchange {
public:
  explicit ShortAllReduce(ExchangeContext context)
      : Exchange(std::move(context)) {}

private:
  std::vector<const void *> ownAddresses() const override { return {}; }
  void run() override;
  void combine();

  /// By side: what its members have, one behind the other.
  std::vector<std::vector<std::byte>> packs;
  int left = 0;
};

void ShortAllReduce::run() {
  int64_t bytes = 0;
  for (const Segment &segment : any().segments)
    bytes += packedBytes(segment);
  int sides = int(group().sides.size());
  packs.resize(sides);
  for (int side = 0; side < sides; ++side)
    packs[side].resize(bytes * group().sides[side].size());
  std::byte *to = packs[group().own].data();
  for (const Contribution &each : context.own)
    for (const Segment &segment : each.segments) {
      if (bytesOf(segment) > 0)
        std::memcpy(to, segment.data, bytesOf(segment));
      to += packedBytes(segment);
    }
  left = sides - 1;
  for (int side = 0; side < sides; ++side) {
    if (side == group().own || bytes == 0)
      continue;
    send(side, Carries, packs[group().own].data(),
         int64_t(packs[group().own].size()));
    receive(side, Carries, packs[side].data(), int64_t(packs[side].size()),
            [this] {
              if (--left == 0)
                combine();
            });
  }
  // The words that are here already were a barrier.
  if (bytes == 0 || sides == 1)
    combine();
}

void ShortAllReduce::combine() {
  int64_t offset = 0;
  for (size_t i = 0; i < any().segments.size(); ++i) {
    const Segment &segment = any().segments[i];
    std::vector<const std::byte *> sources;
    for (size_t side = 0; side < packs.size(); ++side) {
      int members = group().sides[side].size();
      int64_t bytes = int64_t(packs[side].size()) / members;
      for (int member = 0; member < members; ++member)
        sources.push_back(packs[side].data() + member * bytes + offset);
    }
    Unrounded unrounded{nullptr, !segment.running.ends};
    if (!segment.running.begins)
      unrounded.before = static_cast<const std::byte *>(segment.running.data);
    combineInRankOrder(placesOf(context.own, i), sources, segment.count,
                       segment.dtype, segment.combine, false, unrounded);
    offset += packedBytes(segment);
  }
  finishData();
}

class LongAllReduce final : public FoldExchange {
public:
  explicit LongAllReduce(ExchangeContext context)
      : FoldExchange(std::move(context)) {}

private:
  /// Of each member, for each segment: its elements, and where the result goes.
  std::vector<const void *> ownAddresses() const override {
    std::vector<const void *> all;
    for (const Contribution &each : context.own)
      for (const Segment &segment : each.segments) {
        all.push_back(segment.data);
        all.push_back(placeOf(segment.data, segment.running));
      }
    return all;
  }
  void run() override;
  std::vector<Message> awaitedFor(const Chunk &chunk) const override;
  void combine(Fold &fold) override;
  void folded() override { done(); }
  void done();
  /// The result of a chunk is in the first member's place: gives it to the
  /// others, and to the node before.
  void spread(const Chunk &chunk, bool wasFoldedHere);
  void readOthers();

  int nodes() const { return int(group().nodes.size()); }
  int ownNode() const { return group().nodeOf[group().own]; }
  const Segment &segmentOf(const Chunk &chunk) const {
    return any().segments[chunk.part];
  }
  static int64_t element(const Segment &of) { return elementSize(of.dtype); }
  /// Of a sum that is not rounded yet; the maximum is always one of the terms.
  static int64_t partialElement(const Segment &of) {
    return of.combine == Combine::Max
               ? element(of)
               : int64_t(elementSize(Communicator::sumType(of.dtype)));
  }
  static int64_t resultElement(const Segment &of) {
    return of.running.ends ? element(of) : partialElement(of);
  }
  /// The side that has a chunk, by its number among all, for a node.
  int folderOf(int node, size_t number) const {
    const GroupSides::Node &of = group().nodes[node];
    return of.begin + int(number % of.size());
  }
  /// Where a process's member has a chunk, or gets its result.
  const std::byte *addressOf(int side, int member, const Chunk &chunk) const {
    return addresses(side)[2 * (member * any().segments.size() + chunk.part)];
  }
  const std::byte *resultAt(int side, const Chunk &chunk) const {
    return addresses(side)[2 * chunk.part + 1] +
           chunk.begin * resultElement(segmentOf(chunk));
  }
  std::vector<std::byte *> resultsOf(const Chunk &chunk) const {
    std::vector<std::byte *> places = placesOf(context.own, chunk.part);
    for (std::byte *&each : places)
      each += chunk.begin * resultElement(segmentOf(chunk));
    return places;
  }
  std::vector<Chunk> all;
  int left = 1;   // chunks whose results are to come, and the folding
  int unread = 0; // sides of the node that have not ended theirs
  size_t reads = 0;
};

void LongAllReduce::run() {
  std::vector<Chunk> own;
  for (size_t i = 0; i < any().segments.size(); ++i) {
    const Segment &segment = any().segments[i];
    for (Chunk chunk :
         chunksOf(int(i), segment.count, partialElement(segment))) {
      chunk.number = all.size();
      all.push_back(chunk);
    }
  }
  for (size_t number = 0; number < all.size(); ++number) {
    if (folderOf(ownNode(), number) != group().own)
      continue;
    const Chunk &chunk = all[number];
    own.push_back(chunk);
    if (ownNode() + 1 == nodes())
      continue;
    ++left;
    receive(folderOf(ownNode() + 1, number), Returns, resultsOf(chunk)[0],
            chunk.count * resultElement(segmentOf(chunk)), [this, number] {
              spread(all[number], false);
              done();
            });
  }
  const GroupSides::Node &node = group().nodes[ownNode()];
  unread = node.size() - 1;
  for (int side = node.begin; side < node.end; ++side)
    if (side != group().own)
      receive(side, StartsSum, nullptr, 0, [this] {
        --unread;
        readOthers();
      });
  fold(std::move(own));
}

std::vector<FoldExchange::Message>
LongAllReduce::awaitedFor(const Chunk &chunk) const {
  if (ownNode() == 0)
    return {};
  return {{folderOf(ownNode() - 1, chunk.number), Carries,
           chunk.count * partialElement(segmentOf(chunk))}};
}

void LongAllReduce::combine(Fold &fold) {
  const Chunk &chunk = fold.chunk;
  const Segment &segment = segmentOf(chunk);
  const GroupSides::Node &node = group().nodes[ownNode()];
  Terms terms{group().sides[node.begin].begin,
              group().sides[node.end - 1].end,
              segment.dtype,
              segment.combine,
              {},
              {nullptr, !segment.running.ends}};
  for (int member = terms.first; member < terms.last; ++member) {
    int side = group().sideOf(member);
    const std::byte *begin =
        isOwn(member)
            ? static_cast<const std::byte *>(
                  ofMember(member).segments[chunk.part].data)
            : addressOf(side, member - group().sides[side].begin, chunk);
    terms.sources.push_back(begin + chunk.begin * element(segment));
  }
  bool isSum = segment.combine == Combine::Sum;
  if (!fold.incoming.empty() && !isSum)
    terms.partial = fold.incoming[0].data();
  else if (!fold.incoming.empty())
    terms.unrounded.before = fold.incoming[0].data();
  else if (!segment.running.begins)
    terms.unrounded.before =
        static_cast<const std::byte *>(segment.running.data) +
        chunk.begin * partialElement(segment);

  if (ownNode() + 1 == nodes()) {
    combineTerms(terms, resultsOf(chunk), chunk.count);
    spread(chunk, true);
    return combined(fold);
  }
  terms.unrounded.after = isSum;
  int64_t bytes = chunk.count * partialElement(segment);
  fold.outgoing.resize(bytes);
  combineTerms(terms, {fold.outgoing.data()}, chunk.count);
  send(folderOf(ownNode() + 1, chunk.number), Carries, fold.outgoing.data(),
       bytes, [this, &fold] { combined(fold); });
}

void LongAllReduce::spread(const Chunk &chunk, bool wasFoldedHere) {
  std::vector<std::byte *> places = resultsOf(chunk);
  int64_t bytes = chunk.count * resultElement(segmentOf(chunk));
  if (!wasFoldedHere)
    for (size_t i = 1; i < places.size(); ++i)
      std::memcpy(places[i], places[0], bytes);
  if (ownNode() > 0)
    send(folderOf(ownNode() - 1, chunk.number), Returns, places[0], bytes);
}

void LongAllReduce::done() {
  if (--left > 0)
    return;
  const GroupSides::Node &node = group().nodes[ownNode()];
  for (int side = node.begin; side < node.end; ++side)
    if (side != group().own)
      send(side, StartsSum, nullptr, 0);
  left = -1;
  readOthers();
}

/// Once all of the node's processes have the results of their chunks.
void LongAllReduce::readOthers() {
  if (left >= 0 || unread > 0)
    return;
  for (; reads < all.size(); ++reads) {
    int side = folderOf(ownNode(), reads);
    if (side == group().own)
      continue;
    const Chunk &chunk = all[reads];
    std::vector<std::byte *> places = resultsOf(chunk);
    int64_t bytes = chunk.count * resultElement(segmentOf(chunk));
    read(side, resultAt(side, chunk), places[0], bytes);
    for (size_t i = 1; i < places.size(); ++i)
      std::memcpy(places[i], places[0], bytes);
    ++reads;
    return later([this] { readOthers(); });
  }
  finishData();
}

} // namespace

std::unique_ptr<Exchange> allReduceExchange(ExchangeContext context) {
  int64_t bytes = 0;
  for (const Segment &segment : context.own[0].segments)
    bytes += bytesOf(segment);
  if (bytes <= shortBytes)
    return std::make_unique<ShortAllReduce>(std::move(context));
  return std::make_unique<LongAllReduce>(std::move(context));
}

} // namespace shardc::runtime
