// The ways to form units that the user spells out, and the blocks that two of
// them start from.
#include "passes/units/UnitPolicy.h"

#include "passes/units/AutoUnits.h"
#include "passes/units/Blocks.h"
#include "passes/units/ModuleScopes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace shardc;

namespace {

/// Collects parameters by the name of their unit.
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

  /// Returns the units, with what each costs.
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
