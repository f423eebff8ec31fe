// Segments begin where blocks do; a forward begins where the first block of a
// repetition is used again.
#include "passes/units/Segments.h"

#include "passes/units/UnitCosts.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace llvm;
using namespace shardc;

void Segments::findFirst() {
  std::vector<std::pair<size_t, Segment>> found = starting();
  llvm::stable_sort(
      found, [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto &[start, segment] : found) {
    starts.emplace_back(start, all.size());
    all.push_back(std::move(segment));
  }
}

std::vector<std::pair<size_t, Segment>> Segments::starting() {
  std::vector<std::pair<size_t, Segment>> found;
  auto add = [&](size_t start, Segment::Kind kind, StringRef name,
                 StringRef reason, size_t repetition = 0) {
    found.push_back({start, {kind, name.str(), reason.str(), repetition}});
  };
  if (blocks.empty()) {
    add(0, Segment::Whole, "model",
        "the whole model: it has no repeated block");
    return found;
  }
  add(0, Segment::Embedding, "embedding", "used before the first block");
  for (auto [index, block] : enumerate(blocks)) {
    firstOf.try_emplace(block.repetition, index);
    lastOf[block.repetition] = index;
  }
  for (auto [index, block] : enumerate(blocks)) {
    size_t first = model.uses.size(), last = 0;
    for (size_t member : block.members) {
      first = std::min(first, model.firstUse(member));
      last = std::max(last, model.firstUse(member));
    }
    add(first, Segment::Block, block.name, block.which, block.repetition);
    // What is used up to the next block of its repetition is the block's own.
    bool goesOn = lastOf[block.repetition] != index;
    // The block's parameters may be used again before it ends.
    DenseSet<size_t> members(block.members.begin(), block.members.end());
    size_t after = last + 1;
    while (after < model.uses.size() &&
           members.contains(model.uses[after].parameter))
      ++after;
    if (index + 1 == blocks.size())
      add(after, Segment::Head, "head", "used after the last block",
          block.repetition);
    else if (!goesOn)
      add(after, Segment::Between, "between",
          "used between two repetitions of blocks", block.repetition);
  }
  return found;
}

/// Whether most of a block is used from `use` on: alone a parameter that blocks
/// share, as equal ones that an exporter merged, is used after its first block,
/// too.
bool Segments::isUsedFrom(size_t use, const RepeatedBlock &block) const {
  DenseSet<size_t> used;
  for (; use < model.uses.size(); ++use)
    used.insert(model.uses[use].parameter);
  std::vector<size_t> again;
  copy_if(block.members, std::back_inserter(again),
          [&](size_t member) { return used.contains(member); });
  return 2 * bytesOf(model, again, 1) >= bytesOf(model, block.members, 1);
}

/// A forward begins anew where the first block of a repetition is used after
/// its last one, and before that with what is used before those blocks.
void Segments::findLaterForwards() {
  blockOf.assign(model.parameters.size(), std::nullopt);
  segmentOfBlock.assign(blocks.size(), 0);
  for (auto [index, block] : enumerate(blocks))
    for (size_t member : block.members)
      blockOf[member] = index;
  StringMap<size_t> byName;
  for (auto [index, segment] : enumerate(all)) {
    if (segment.kind == Segment::Block)
      byName[segment.name] = index;
    else if (segment.kind != Segment::Embedding)
      segmentAfter[segment.repetition] = index;
  }
  for (auto [index, block] : enumerate(blocks))
    segmentOfBlock[index] = byName.lookup(block.name);

  struct Forward {
    size_t begin, before;
  };
  std::vector<Forward> later;
  DenseSet<size_t> ended; // repetitions
  size_t lastBlockUse = 0;
  for (auto [number, use] : enumerate(model.uses)) {
    std::optional<size_t> block = blockOf[use.parameter];
    if (!block)
      continue;
    size_t repetition = blocks[*block].repetition;
    if (*block == firstOf[repetition] && ended.contains(repetition) &&
        isUsedFrom(number, blocks[*block])) {
      size_t before = segmentOfBlock[*block] - 1, begin = lastBlockUse + 1;
      while (begin < number &&
             of(model.firstUse(model.uses[begin].parameter)) != before)
        ++begin;
      later.push_back({begin, before});
      ended.clear();
    }
    if (*block == lastOf[repetition] && *block != firstOf[repetition])
      ended.insert(repetition);
    lastBlockUse = number;
  }
  // What comes first of a later forward is what ends the one before it.
  if (!later.empty())
    llvm::erase_if(starts, [&](const auto &start) {
      return start.first >= later.front().begin;
    });
  for (auto [index, forward] : enumerate(later))
    addForward(forward.begin,
               index + 1 < later.size() ? later[index + 1].begin
                                        : model.uses.size(),
               forward.before);
  llvm::stable_sort(starts);
}

/// Adds the starts of the segments that are used from `begin` to `end`, of
/// which `before` is the first.
void Segments::addForward(size_t begin, size_t end, size_t before) {
  starts.emplace_back(begin, before);
  struct Window {
    size_t first, last;
  };
  std::map<size_t, Window> windows; // of blocks
  DenseSet<size_t> seen;            // parameters
  for (size_t use = begin; use < end; ++use) {
    size_t parameter = model.uses[use].parameter;
    if (std::optional<size_t> block = blockOf[parameter];
        block && seen.insert(parameter).second)
      windows.try_emplace(*block, Window{use, use}).first->second.last = use;
  }
  for (auto [block, window] : windows) {
    starts.emplace_back(window.first, segmentOfBlock[block]);
    if (lastOf[blocks[block].repetition] != block)
      continue;
    size_t after = window.last + 1;
    while (after < end && blockOf[model.uses[after].parameter] == block)
      ++after;
    if (after < end)
      starts.emplace_back(after, segmentAfter[blocks[block].repetition]);
  }
}

size_t Segments::of(size_t use) const {
  auto next = llvm::upper_bound(starts, use, [](size_t use, const auto &start) {
    return use < start.first;
  });
  return std::prev(next)->second;
}
