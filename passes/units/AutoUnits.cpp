// Places each parameter in the part of the model that uses it, then weighs
// parts.
#include "passes/units/AutoUnits.h"

#include "passes/units/Blocks.h"
#include "passes/units/SplitUnit.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <set>

using namespace llvm;
using namespace shardc;

namespace {

/// A stretch of the model between two uses, and the unit that it becomes.
struct Part {
  enum Kind { Embedding, Block, Between, Head, Whole, Long };

  Kind kind = Whole;
  std::string name;
  std::string reason; // without what it costs
  size_t repetition = 0;
  std::set<size_t> stretches; // in which its members are used
  std::vector<size_t> members;
};

class AutoUnits {
public:
  AutoUnits(const UnitModel &model, const UnitCosts &costs)
      : model(model), costs(costs), blocks(findBlocks(model)) {}

  std::vector<AssignedUnit> run() {
    place();
    if (costs.group.size > 1) {
      mergeBlocks();
      mergeEnds();
      mergeLong();
      split();
    }
    return finish();
  }

private:
  void findStretches();
  size_t stretchOf(size_t use) const;
  void place();
  void mergeBlocks();
  void mergeEnds();
  void mergeLong();
  void split();
  std::vector<Part> splitPart(const Part &part) const;
  std::vector<AssignedUnit> finish();

  double bytes(const Part &part) const {
    return bytesOf(model, part.members, costs.elementBytes);
  }
  double mostBytes() const { return costs.model.cluster.memory * mostOfMemory; }
  /// Whether a collective of this would be more latency than transfer.
  bool isSmall(double bytes) const {
    CollectiveTime time = costs.time(bytes);
    return time.transfer < time.latency;
  }
  std::string smallness(double bytes) const {
    CollectiveTime time = costs.time(bytes);
    return formatv("{0} would be {1} transfer under {2} latency",
                   costs.collective(), timeText(time.transfer),
                   timeText(time.latency))
        .str();
  }

  const UnitModel &model;
  const UnitCosts &costs;
  std::vector<RepeatedBlock> blocks;
  /// Stretches by their first use: each block one, with what lies around.
  std::vector<std::pair<size_t, Part>> stretches;
  std::vector<Part> parts; // by first use, but for Long, which are last
};

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

void AutoUnits::findStretches() {
  auto add = [&](size_t start, Part::Kind kind, StringRef name,
                 StringRef reason, size_t repetition = 0) {
    Part part;
    part.kind = kind;
    part.name = name.str();
    part.reason = reason.str();
    part.repetition = repetition;
    stretches.emplace_back(start, std::move(part));
  };
  if (blocks.empty())
    return add(0, Part::Whole, "model",
               "the whole model: it has no repeated block");
  add(0, Part::Embedding, "embedding", "used before the first block");
  DenseMap<size_t, size_t> lastOf; // block of each repetition
  for (auto [index, block] : enumerate(blocks))
    lastOf[block.repetition] = index;
  for (auto [index, block] : enumerate(blocks)) {
    size_t first = model.uses.size(), last = 0;
    for (size_t member : block.members) {
      first = std::min(first, model.firstUse(member));
      last = std::max(last, model.firstUse(member));
    }
    add(first, Part::Block, block.name, block.which, block.repetition);
    // Up to the next block of its repetition, what is used is its own.
    bool goesOn = lastOf[block.repetition] != index;
    // Its parameters may be used again before it ends.
    DenseSet<size_t> members(block.members.begin(), block.members.end());
    size_t after = last + 1;
    while (after < model.uses.size() &&
           members.contains(model.uses[after].parameter))
      ++after;
    if (index + 1 == blocks.size())
      add(after, Part::Head, "head", "used after the last block");
    else if (!goesOn)
      add(after, Part::Between, "between",
          "used between two repetitions of blocks");
  }
  llvm::stable_sort(stretches, [](const auto &a, const auto &b) {
    return a.first < b.first;
  });
}

size_t AutoUnits::stretchOf(size_t use) const {
  auto next =
      llvm::upper_bound(stretches, use, [](size_t use, const auto &stretch) {
        return use < stretch.first;
      });
  return next - stretches.begin() - 1;
}

void AutoUnits::place() {
  findStretches();
  std::vector<std::set<size_t>> usedIn(model.parameters.size());
  for (auto [number, use] : enumerate(model.uses))
    usedIn[use.parameter].insert(stretchOf(number));
  // Blocks of names that interleave keep their own.
  std::vector<std::optional<size_t>> owner(model.parameters.size());
  StringMap<size_t> stretchOfBlock;
  for (auto [index, stretch] : enumerate(stretches))
    if (stretch.second.kind == Part::Block)
      stretchOfBlock[stretch.second.name] = index;
  for (const RepeatedBlock &block : blocks)
    for (size_t member : block.members)
      owner[member] = stretchOfBlock.lookup(block.name);
  Part tied, shared;
  for (auto [parameter, places] : enumerate(usedIn)) {
    if (places.size() == 1) {
      stretches[owner[parameter].value_or(*places.begin())]
          .second.members.push_back(parameter);
      continue;
    }
    const Part &first = stretches[*places.begin()].second,
               &last = stretches[*places.rbegin()].second;
    bool throughAll = first.kind == Part::Embedding && last.kind == Part::Head;
    Part &part = throughAll ? tied : shared;
    part.kind = Part::Long;
    part.name = throughAll ? "tied" : "shared";
    if (part.members.empty())
      part.reason =
          throughAll
              ? "tied: used before the first block and after the last, so it "
                "lives through all of them"
              : formatv("used in {0} places from {1} to {2}, so it lives "
                        "through them",
                        places.size(), first.name, last.name)
                    .str();
    part.members.push_back(parameter);
    part.stretches.insert(places.begin(), places.end());
  }
  for (auto [index, stretch] : enumerate(stretches))
    stretch.second.stretches = {index};
  for (auto &[_, part] : stretches)
    if (!part.members.empty())
      parts.push_back(std::move(part));
  for (Part *part : {&tied, &shared})
    if (!part->members.empty())
      parts.push_back(std::move(*part));
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// "layers.0..3" of layers.0 and layers.3; names that share no list are joined:
/// symbols that need no quotes.
std::string mergedName(StringRef first, StringRef last) {
  auto [list, number] = first.rsplit('.');
  auto [otherList, otherNumber] = last.rsplit('.');
  auto isNumber = [](StringRef text) {
    return !text.empty() && all_of(text, isDigit);
  };
  if (list == otherList && isNumber(number) && isNumber(otherNumber))
    return (first + ".." + otherNumber).str();
  return (first + "_" + last).str();
}

static void add(Part &to, const Part &from) {
  append_range(to.members, from.members);
  to.stretches.insert(from.stretches.begin(), from.stretches.end());
}

void AutoUnits::mergeBlocks() {
  std::vector<Part> result;
  for (size_t begin = 0, end; begin < parts.size(); begin = end) {
    end = begin + 1;
    if (parts[begin].kind != Part::Block) {
      result.push_back(std::move(parts[begin]));
      continue;
    }
    double total = bytes(parts[begin]);
    while (end < parts.size() && parts[end].kind == Part::Block &&
           parts[end].repetition == parts[begin].repetition)
      total += bytes(parts[end++]);
    size_t count = end - begin;
    double each = total / count;
    CollectiveTime time = costs.time(each);
    // So many that transfer is at least latency, within what a unit may have.
    size_t together = 1;
    if (isSmall(each))
      together = std::min({std::ceil(time.latency / time.transfer),
                           std::max(1.0, mostBytes() / each), double(count)});
    size_t groups = std::max<size_t>(1, count / together);
    for (size_t group = 0, from = begin; group < groups; ++group) {
      size_t to = begin + (group + 1) * count / groups;
      Part part = std::move(parts[from]);
      if (to - from > 1) {
        part.reason = formatv("merged {0} .. {1}: one {2}", part.name,
                              parts[to - 1].name, smallness(each))
                          .str();
        part.name = mergedName(part.name, parts[to - 1].name);
      }
      for (size_t next = from + 1; next < to; ++next)
        add(part, parts[next]);
      result.push_back(std::move(part));
      from = to;
    }
  }
  parts = std::move(result);
}

void AutoUnits::mergeEnds() {
  auto absorb = [&](size_t from, size_t into) {
    Part &small = parts[from], &large = parts[into];
    if (large.kind == Part::Long || bytes(small) + bytes(large) > mostBytes())
      return false;
    large.reason +=
        "; with " + small.name + ", whose " + smallness(bytes(small));
    large.name = from < into ? mergedName(small.name, large.name)
                             : mergedName(large.name, small.name);
    add(large, small);
    parts.erase(parts.begin() + from);
    return true;
  };
  for (size_t index = 0; index < parts.size();) {
    Part &part = parts[index];
    bool isEnd = part.kind == Part::Embedding || part.kind == Part::Between ||
                 part.kind == Part::Head;
    bool before = part.kind == Part::Head;
    if (isEnd && isSmall(bytes(part)) &&
        (before ? index > 0 && absorb(index, index - 1)
                : index + 1 < parts.size() && absorb(index, index + 1)))
      continue;
    ++index;
  }
}

/// Where all that uses a tied parameter has become one unit, it lives no longer
/// than that.
void AutoUnits::mergeLong() {
  for (size_t index = 0; index < parts.size();) {
    Part &part = parts[index];
    auto whole = llvm::find_if(parts, [&](const Part &other) {
      return part.kind == Part::Long && other.kind != Part::Long &&
             llvm::includes(other.stretches, part.stretches) &&
             bytes(part) + bytes(other) <= mostBytes();
    });
    if (whole == parts.end()) {
      ++index;
      continue;
    }
    whole->reason += "; with what is " + part.name + " inside it";
    add(*whole, part);
    parts.erase(parts.begin() + index);
  }
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

std::vector<Part> AutoUnits::splitPart(const Part &part) const {
  auto size = [&](ArrayRef<size_t> members) {
    return bytesOf(model, members, costs.elementBytes);
  };
  std::vector<UnitPiece> pieces = splitUnit(
      model, part.members, mostBytes(), size,
      [&](ArrayRef<size_t> members) { return isSmall(size(members)); });
  std::string share =
      formatv("{0} gathered would be {1:f1} % of {2}", bytesText(bytes(part)),
              100 * bytes(part) / costs.model.cluster.memory,
              bytesText(costs.model.cluster.memory))
          .str();
  if (pieces.size() == 1) {
    Part whole = part;
    whole.reason +=
        "; not split although " + share + ": almost all is one parameter";
    return {whole};
  }
  std::vector<Part> result;
  for (auto [index, piece] : enumerate(pieces)) {
    Part &next = result.emplace_back(part);
    next.name += ".part." + std::to_string(index);
    next.members = piece.members;
    next.reason += formatv("; split: {0}, part {1} of {2}", share, index + 1,
                           pieces.size())
                       .str();
    if (!piece.modules.empty())
      next.reason += " (" + join(piece.modules, ", ") + ")";
  }
  return result;
}

void AutoUnits::split() {
  std::vector<Part> result;
  for (Part &part : parts) {
    llvm::sort(part.members);
    if (bytes(part) > mostBytes())
      append_range(result, splitPart(part));
    else
      result.push_back(part);
  }
  parts = std::move(result);
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

std::vector<AssignedUnit> AutoUnits::finish() {
  for (Part &part : parts)
    llvm::sort(part.members);
  llvm::stable_sort(parts, [](const Part &a, const Part &b) {
    return a.members.front() < b.members.front();
  });
  if (parts.size() == 1)
    parts.front().name = "model";
  std::vector<AssignedUnit> units;
  StringSet<> names;
  for (const Part &part : parts) {
    std::string name = part.name;
    for (int suffix = 1; !names.insert(name).second; ++suffix)
      name = part.name + "." + std::to_string(suffix);
    units.push_back(
        {name,
         part.reason + "; " +
             costs.describe(bytes(part), flopsOf(model, part.members)),
         part.members});
  }
  return units;
}

} // namespace

std::vector<AssignedUnit> shardc::assignAuto(const UnitModel &model,
                                             const UnitCosts &costs) {
  if (model.parameters.empty())
    return {};
  return AutoUnits(model, costs).run();
}
