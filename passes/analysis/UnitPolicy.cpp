// The ways to form units that the user spells out, and the blocks that two of
// them start from.
#include "passes/analysis/UnitPolicy.h"

#include "passes/analysis/AutoUnits.h"
#include "passes/analysis/ModuleScopes.h"
#include "passes/analysis/RepeatedRuns.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace shardc;

double shardc::bytesOf(const UnitModel &model, ArrayRef<size_t> members,
                       int64_t elementBytes) {
  double bytes = 0;
  for (size_t member : members)
    bytes += double(model.elements(member)) * elementBytes;
  return bytes;
}

double shardc::flopsOf(const UnitModel &model, ArrayRef<size_t> members) {
  double flops = 0;
  for (size_t member : members)
    flops += model.flops(member);
  return flops;
}

std::string UnitCosts::describe(double bytes, double flops) const {
  if (group.size == 1)
    return bytesText(bytes) + ", no communication";
  CollectiveTime seconds = time(bytes);
  return formatv("{0} {1} over {2} ranks: {3} transfer, {4} latency; forward "
                 "computes {5}",
                 collective(), bytesText(bytes), group.size,
                 timeText(seconds.transfer), timeText(seconds.latency),
                 timeText(model.compute(flops, elementBytes)))
      .str();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Blocks from runs of equal uses.
static std::vector<RepeatedBlock>
blocksByStructure(const UnitModel &model, size_t UnitModel::Use::*kind) {
  SmallVector<size_t> kinds;
  SmallVector<int64_t> weights;
  for (auto [number, use] : enumerate(model.uses)) {
    kinds.push_back(use.*kind);
    weights.push_back(model.firstUse(use.parameter) == number
                          ? model.elements(use.parameter)
                          : 0);
  }
  std::vector<RepeatedBlock> blocks;
  SmallVector<RepeatedRun> runs =
      findRepeatedRuns(kinds, weights, [&](size_t piece, size_t border) {
        return model.crossing(piece, border);
      });
  for (auto [repetition, run] : enumerate(runs))
    for (size_t piece = 0; piece < run.count; ++piece) {
      RepeatedBlock block;
      block.name = "block." + std::to_string(blocks.size());
      block.which = formatv("block {0} of {1}, which are equal in structure",
                            piece + 1, run.count)
                        .str();
      block.repetition = repetition;
      size_t start = run.start + piece * run.period;
      for (size_t use = start; use < start + run.period; ++use)
        if (size_t parameter = model.uses[use].parameter;
            model.firstUse(parameter) == use)
          block.members.push_back(parameter);
      if (!block.members.empty())
        blocks.push_back(std::move(block));
    }
  return blocks;
}

std::vector<RepeatedBlock> shardc::findBlocks(const UnitModel &model) {
  auto covered = [&](ArrayRef<RepeatedBlock> blocks) {
    double elements = 0;
    for (const RepeatedBlock &block : blocks)
      elements += bytesOf(model, block.members, 1);
    return elements;
  };
  std::vector<RepeatedBlock> named;
  std::map<std::string, size_t> lists;
  for (const NamedBlock &block : findNamedBlocks(model.parameters))
    named.push_back(
        {block.name,
         formatv("block {0} of {1} ({2})", block.number + 1, block.of,
                 block.name)
             .str(),
         lists.try_emplace(block.list, lists.size()).first->second,
         std::vector<size_t>(block.members.begin(), block.members.end())});
  llvm::stable_sort(named, [](const RepeatedBlock &a, const RepeatedBlock &b) {
    return a.members.front() < b.members.front();
  });
  std::vector<RepeatedBlock> found =
      blocksByStructure(model, &UnitModel::Use::kind);
  if (found.empty() && named.empty())
    found = blocksByStructure(model, &UnitModel::Use::looseKind);
  return covered(found) / 2 > covered(named) ? found : named;
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

namespace {

/// Collects parameters by name of their unit.
class Grouping {
public:
  Grouping(const UnitModel &model, const UnitCosts &costs)
      : model(model), costs(costs) {}

  void add(StringRef name, const Twine &reason, size_t parameter) {
    auto [entry, isNew] = indices.try_emplace(name, units.size());
    if (isNew)
      units.push_back({name.str(), reason.str(), {}});
    units[entry->second].members.push_back(parameter);
  }

  /// The units, with what each costs.
  std::vector<AssignedUnit> take() {
    for (AssignedUnit &unit : units)
      unit.reason += "; " + costs.describe(bytesOf(model, unit.members,
                                                   costs.elementBytes),
                                           flopsOf(model, unit.members));
    return std::move(units);
  }

private:
  const UnitModel &model;
  const UnitCosts &costs;
  StringMap<size_t> indices;
  std::vector<AssignedUnit> units;
};

std::vector<AssignedUnit> assignBlocks(const UnitModel &model,
                                       const UnitCosts &costs) {
  std::vector<RepeatedBlock> blocks = findBlocks(model);
  std::vector<const RepeatedBlock *> blockOf(model.parameters.size());
  for (const RepeatedBlock &block : blocks)
    for (size_t member : block.members)
      blockOf[member] = &block;
  Grouping grouping(model, costs);
  for (auto [parameter, block] : enumerate(blockOf))
    if (block)
      grouping.add(block->name, block->which, parameter);
    else
      grouping.add("root",
                   blocks.empty() ? "the whole model: it has no repeated block"
                                  : "in no repeated block",
                   parameter);
  return grouping.take();
}

std::vector<AssignedUnit> assignSizes(const UnitModel &model, double limit,
                                      const UnitCosts &costs) {
  Grouping grouping(model, costs);
  double filled = 0;
  size_t part = 0;
  std::string reason = "parameters in order of use, up to " + bytesText(limit);
  for (auto [parameter, _] : enumerate(model.parameters)) {
    double bytes = bytesOf(model, {parameter}, costs.elementBytes);
    if (filled > 0 && bytes > 0 && filled + bytes > limit) {
      ++part;
      filled = 0;
    }
    filled += bytes;
    grouping.add("part." + std::to_string(part), reason, parameter);
  }
  return grouping.take();
}

Expected<std::vector<AssignedUnit>> assignClasses(const UnitModel &model,
                                                  ArrayRef<std::string> wanted,
                                                  const UnitCosts &costs) {
  if (model.classes.empty())
    return createStringError(
        "--units class: the model's file does not tell its modules' classes "
        "(PyTorch's dynamo exporter writes them); use block or scope:REGEX");
  StringMap<int64_t> matched;
  Grouping grouping(model, costs);
  for (auto [parameter, entry] : enumerate(model.parameters)) {
    // The innermost module counts, as where wrapped modules nest.
    std::optional<std::string> unit;
    std::string unitClass;
    forEachModule(entry.path, [&](StringRef module) {
      auto known = model.classes.find(module.str());
      if (known == model.classes.end())
        return;
      StringRef full = known->second, shortName = shortClassName(full);
      for (const std::string &name : wanted)
        if (name == full || name == shortName) {
          ++matched[name];
          unit = module.str();
          unitClass = name;
        }
    });
    if (unit)
      grouping.add(*unit, "module of class " + unitClass, parameter);
    else
      grouping.add("root", "in no module of the classes given", parameter);
  }
  for (const std::string &name : wanted)
    if (!matched.contains(name)) {
      std::string known;
      for (auto &[other, count] : countClasses(model))
        known += (known.empty() ? "" : ", ") + other + " (" +
                 std::to_string(count) + ")";
      return createStringError("--units class:" + name +
                               ": no module with parameters is of this class; "
                               "there are " +
                               known);
    }
  return grouping.take();
}

Expected<std::vector<AssignedUnit>> assignScopes(const UnitModel &model,
                                                 StringRef pattern,
                                                 const UnitCosts &costs) {
  Regex regex(translatePattern(pattern));
  Grouping grouping(model, costs);
  bool any = false;
  for (auto [parameter, entry] : enumerate(model.parameters)) {
    SmallVector<StringRef> matches;
    if (regex.match(entry.path, &matches) && !matches[0].empty()) {
      any = true;
      grouping.add(matches[0], "matches scope:" + pattern, parameter);
    } else {
      grouping.add("root", "does not match scope:" + pattern, parameter);
    }
  }
  if (!any)
    return createStringError("--units scope:" + pattern +
                             ": matches no parameter; there are " +
                             describeScopes(model.parameters));
  return grouping.take();
}

} // namespace

Expected<std::vector<AssignedUnit>>
shardc::assignUnits(const UnitModel &model, const UnitsOption &option,
                    const UnitCosts &costs) {
  switch (option.kind) {
  case UnitsOption::Auto:
    return assignAuto(model, costs);
  case UnitsOption::Block:
    return assignBlocks(model, costs);
  case UnitsOption::Size:
    return assignSizes(model, option.bytes, costs);
  case UnitsOption::Class:
    return assignClasses(model, option.classes, costs);
  case UnitsOption::Scope:
    return assignScopes(model, option.pattern, costs);
  case UnitsOption::One:
    break;
  }
  Grouping grouping(model, costs);
  for (auto [parameter, _] : enumerate(model.parameters))
    grouping.add("model", "the whole model, as --units one asks", parameter);
  return grouping.take();
}
