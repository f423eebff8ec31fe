// A window of chunks that are on their way.
#include "runtime/comm/FoldExchange.h"

#include "runtime/base/DType.h"

#include <algorithm>

namespace shardc::runtime {

/// Of a message: many beside what a message costs, few beside the group's data,
/// so that nodes work at the same time.
static constexpr int64_t chunkBytes = 256 << 10;
/// What is read from another process and combined at a time: few beside a
/// core's cache.
static constexpr int64_t blockBytes = 64 << 10;
/// Chunks that are on their way through this process.
static constexpr size_t window = 8;

std::vector<FoldExchange::Chunk> FoldExchange::chunksOf(int part, int64_t count,
                                                        int64_t elementBytes) {
  std::vector<Chunk> chunks;
  int64_t size = chunkBytes / elementBytes;
  for (int64_t begin = 0; begin < count; begin += size)
    chunks.push_back({part, begin, std::min(size, count - begin)});
  return chunks;
}

void FoldExchange::fold(std::vector<Chunk> given) {
  chunks = std::move(given);
  if (chunks.empty())
    return folded();
  launch();
}

void FoldExchange::launch() {
  while (next < chunks.size() && folds.size() + leaving.size() < window) {
    if (unused.empty())
      unused.push_back(std::make_unique<Fold>());
    folds.push_back(std::move(unused.back()));
    unused.pop_back();
    Fold &fold = *folds.back();
    fold.chunk = chunks[next++];
    std::vector<Message> messages = awaitedFor(fold.chunk);
    fold.incoming.resize(messages.size());
    fold.awaited = int(messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
      fold.incoming[i].resize(messages[i].bytes);
      receive(messages[i].side, messages[i].role, fold.incoming[i].data(),
              messages[i].bytes, [this, &fold] {
                --fold.awaited;
                combineArrived();
              });
    }
    if (messages.empty())
      later([this] { combineArrived(); });
  }
}

void FoldExchange::combineArrived() {
  if (folds.empty() || folds.front()->awaited > 0)
    return;
  leaving.push_back(std::move(folds.front()));
  folds.pop_front();
  combine(*leaving.back());
  // Those behind it may have arrived before.
  if (!folds.empty() && folds.front()->awaited == 0)
    later([this] { combineArrived(); });
}

void FoldExchange::combined(Fold &fold) {
  auto is = [&](const std::unique_ptr<Fold> &each) {
    return each.get() == &fold;
  };
  auto found = std::ranges::find_if(leaving, is);
  unused.push_back(std::move(*found));
  leaving.erase(found);
  if (++ended == chunks.size())
    return folded();
  launch();
}

void FoldExchange::combineTerms(const Terms &terms,
                                std::vector<std::byte *> destinations,
                                int64_t count) {
  int64_t element = elementSize(terms.dtype);
  int64_t sumElement = elementSize(Communicator::sumType(terms.dtype));
  int64_t block = blockBytes / element;
  scratch.resize(group().size());
  std::vector<const std::byte *> sources(terms.sources.size());
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t size = std::min(block, count - begin);
    for (size_t i = 0; i < terms.sources.size(); ++i) {
      int member = terms.first + int(i), side = group().sideOf(member);
      const std::byte *from = terms.sources[i] + begin * element;
      sources[i] = from;
      if (side == group().own || !group().isNear(side))
        continue; // here, or come as a message
      scratch[member].resize(blockBytes);
      read(side, from, scratch[member].data(), size * element);
      sources[i] = scratch[member].data();
    }
    std::vector<std::byte *> to = destinations;
    for (std::byte *&each : to)
      each += begin * (terms.unrounded.after ? sumElement : element);
    Unrounded unrounded = terms.unrounded;
    if (unrounded.before)
      unrounded.before += begin * sumElement;
    if (terms.partial)
      sources.insert(sources.begin(), terms.partial + begin * element);
    combineInRankOrder(to, sources, size, terms.dtype, terms.combine,
                       /*streamed=*/false, unrounded);
    sources.resize(terms.sources.size());
  }
}

} // namespace shardc::runtime
