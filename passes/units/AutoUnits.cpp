// Each parameter is placed in the segment of the model that uses it; then
// segments are merged and split by what they cost.
#include "passes/units/AutoUnits.h"

#include "passes/units/Segments.h"
#include "passes/units/SplitUnit.h"
#include "runtime/device/RowExchange.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <set>

using namespace llvm;
using namespace shardc;

namespace {

/// What becomes a unit: a segment, or what is used in several (`isLong`).
struct Part : Segment {
  bool isLong = false;
  std::set<size_t> segments; // in which its members are used
  std::vector<size_t> members;
};

class AutoUnits {
public:
  AutoUnits(const UnitModel &model, const UnitCosts &costs)
      : model(model), costs(costs), segments(model) {}

  std::vector<AssignedUnit> run() {
    place();
    if (costs.group.size > 1) {
      mergeBlocks();
      mergeEnds();
      mergeLong();
      split();
      partTable();
      splitFirst();
    }
    return finish();
  }

private:
  void place();
  void mergeBlocks();
  void mergeEnds();
  void mergeLong();
  void split();
  /// Returns whether rows of a parameter, looked up once, are less than it.
  bool isTableOfRows(size_t parameter) const;
  void partTable();
  void splitFirst();
  std::vector<Part> splitPart(const Part &part) const;
  std::vector<AssignedUnit> finish();

  double bytes(const Part &part) const {
    return bytesOf(model, part.members, costs.elementBytes);
  }
  double mostBytes() const { return costs.model.cluster.memory * mostOfMemory; }
  /// Returns whether a collective of so many bytes would be more latency than
  /// transfer.
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
  Segments segments;
  std::vector<Part> parts; // by first use; those that are long are last
};

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

void AutoUnits::place() {
  std::vector<std::set<size_t>> usedIn(model.parameters.size());
  for (auto [number, use] : enumerate(model.uses))
    usedIn[use.parameter].insert(segments.of(number));
  std::vector<Part> placed;
  for (auto [index, segment] : enumerate(segments.inOrder()))
    placed.push_back({segment, false, {index}, {}});
  Part tied, shared;
  for (auto [parameter, places] : enumerate(usedIn)) {
    if (places.size() == 1) {
      // Blocks whose names interleave keep their own parameters.
      placed[segments.ofBlock(parameter).value_or(*places.begin())]
          .members.push_back(parameter);
      continue;
    }
    const Part &first = placed[*places.begin()],
               &last = placed[*places.rbegin()];
    bool throughAll =
        first.kind == Segment::Embedding && last.kind == Segment::Head;
    Part &part = throughAll ? tied : shared;
    part.isLong = true;
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
    part.segments.insert(places.begin(), places.end());
  }
  for (Part &part : placed)
    if (!part.members.empty())
      parts.push_back(std::move(part));
  for (Part *part : {&tied, &shared})
    if (!part->members.empty())
      parts.push_back(std::move(*part));
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Returns "layers.0..3" for layers.0 and layers.3. Names that share no list
/// are joined. The result is a symbol that needs no quotes.
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
  to.segments.insert(from.segments.begin(), from.segments.end());
}

void AutoUnits::mergeBlocks() {
  std::vector<Part> result;
  for (size_t begin = 0, end; begin < parts.size(); begin = end) {
    end = begin + 1;
    if (parts[begin].isLong || parts[begin].kind != Segment::Block) {
      result.push_back(std::move(parts[begin]));
      continue;
    }
    double total = bytes(parts[begin]);
    while (end < parts.size() && !parts[end].isLong &&
           parts[end].kind == Segment::Block &&
           parts[end].repetition == parts[begin].repetition)
      total += bytes(parts[end++]);
    size_t count = end - begin;
    double each = total / count;
    CollectiveTime time = costs.time(each);
    // So many blocks are merged that transfer is at least latency, within what
    // a unit may have.
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
    if (large.isLong || bytes(small) + bytes(large) > mostBytes())
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
    bool before = part.kind == Segment::Head;
    bool isEnd = !part.isLong && (before || part.kind == Segment::Embedding ||
                                  part.kind == Segment::Between);
    if (isEnd && isSmall(bytes(part)) &&
        (before ? index > 0 && absorb(index, index - 1)
                : index + 1 < parts.size() && absorb(index, index + 1)))
      continue;
    ++index;
  }
}

/// Merges a tied parameter into the unit that has all its uses, if there is
/// one: it lives no longer than that.
void AutoUnits::mergeLong() {
  for (size_t index = 0; index < parts.size();) {
    Part &part = parts[index];
    auto whole = llvm::find_if(parts, [&](const Part &other) {
      return part.isLong && !other.isLong &&
             llvm::includes(other.segments, part.segments) &&
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
  std::vector<UnitPart> cut = splitUnit(
      model, part.members, mostBytes(), size,
      [&](ArrayRef<size_t> members) { return isSmall(size(members)); });
  std::string share =
      formatv("{0} gathered would be {1:f1} % of {2}", bytesText(bytes(part)),
              100 * bytes(part) / costs.model.cluster.memory,
              bytesText(costs.model.cluster.memory))
          .str();
  if (cut.size() == 1) {
    Part whole = part;
    whole.reason +=
        "; not split although " + share + ": almost all is one parameter";
    return {whole};
  }
  std::vector<Part> result;
  for (auto [index, unitPart] : enumerate(cut)) {
    Part &next = result.emplace_back(part);
    next.name += ".part." + std::to_string(index);
    next.members = unitPart.members;
    next.reason +=
        formatv("; split: {0}, part {1} of {2}", share, index + 1, cut.size())
            .str();
    if (!unitPart.modules.empty())
      next.reason += " (" + join(unitPart.modules, ", ") + ")";
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

bool AutoUnits::isTableOfRows(size_t parameter) const {
  const UnitModel::Use &first = model.uses[model.firstUse(parameter)];
  ArrayRef<int64_t> shape = model.parameters[parameter].shape;
  int64_t ranks = costs.group.size;
  bool isOnce = llvm::count_if(model.uses, [&](const UnitModel::Use &use) {
                  return use.parameter == parameter;
                }) == 1;
  if (!isOnce || first.lookups < 0 || shape.size() != 2 || shape[1] == 0 ||
      shape[1] % ranks != 0)
    return false;
  RowExchange sizes;
  sizes.ranks = ranks;
  sizes.width = shape[1];
  sizes.sliceRows = divideCeil(shape[0], ranks);
  sizes.positions = first.lookups;
  sizes.elementBytes = costs.elementBytes;
  // Gradients are added in these types.
  sizes.sumBytes = std::max<int64_t>(4, costs.elementBytes);
  auto elements = static_cast<double>(model.elements(parameter));
  return RowExchange::isLess(
      static_cast<double>(sizes.gatherBytes() + sizes.reduceBytes()),
      elements * static_cast<double>(costs.elementBytes + sizes.sumBytes));
}

void AutoUnits::partTable() {
  auto embedding = llvm::find_if(parts, [](const Part &part) {
    return !part.isLong && part.kind == Segment::Embedding;
  });
  if (costs.replicated || embedding == parts.end() ||
      embedding->members.size() < 2 || std::next(embedding) == parts.end())
    return;
  auto table = llvm::find_if(
      embedding->members, [&](size_t member) { return isTableOfRows(member); });
  Part &block = *std::next(embedding);
  if (table == embedding->members.end() || block.isLong ||
      block.kind != Segment::Block)
    return;
  Part rest = *embedding;
  llvm::erase(rest.members, *table);
  if (bytes(rest) + bytes(block) > mostBytes())
    return;
  embedding->members = {*table};
  embedding->reason += "; the table alone, since its rows are to travel";
  block.reason += "; with what else is used before it";
  add(block, rest);
  llvm::sort(block.members);
}

/// Compute waits for the first block's gather, as nothing but an embedding is
/// before it, and for its reduction, as nothing follows. Where what it uses
/// first, about a quarter of it, computes for long enough to hide half of the
/// rest's gather, that is gathered and reduced apart.
void AutoUnits::splitFirst() {
  constexpr double quarter = 0.25, latencies = 4;
  auto block = llvm::find_if(parts, [](const Part &part) {
    return !part.isLong && part.kind == Segment::Block;
  });
  if (block == parts.end())
    return;
  CollectiveTime whole = costs.time(bytes(*block));
  if (whole.transfer < latencies * whole.latency)
    return;
  auto size = [&](ArrayRef<size_t> members) {
    return bytesOf(model, members, costs.elementBytes);
  };
  std::vector<UnitPart> cut = splitUnit(
      model, block->members, quarter * bytes(*block), size,
      [&](ArrayRef<size_t> members) { return isSmall(size(members)); });
  Part first = *block, rest = *block;
  first.members = cut.front().members;
  // A norm that is used last belongs to what it is for: computed again in
  // backward, it would have the first part gathered for that.
  while (first.members.size() > 1 &&
         size(first.members.back()) < bytes(*block) / 100)
    first.members.pop_back();
  llvm::erase_if(rest.members, [&](size_t member) {
    return llvm::is_contained(first.members, member);
  });
  double computes =
      costs.model.compute(flopsOf(model, first.members), costs.elementBytes);
  if (cut.size() < 2 || computes < costs.time(bytes(rest)).transfer / 2)
    return;
  first.name += ".part.0";
  first.reason += "; split: what the first block uses first";
  std::vector<std::string> modules = cut.front().modules;
  llvm::erase_if(modules, [&](const std::string &module) {
    return llvm::none_of(first.members, [&](size_t member) {
      return StringRef("." + model.parameters[member].path)
          .contains("." + module + ".");
    });
  });
  if (!modules.empty())
    first.reason += " (" + join(modules, ", ") + ")";
  rest.name += ".part.1";
  rest.reason += "; split: comes while " + first.name + " computes";
  *block = std::move(rest);
  parts.insert(block, std::move(first));
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
