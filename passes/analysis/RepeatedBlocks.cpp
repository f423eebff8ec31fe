// Repeated blocks by module path, and by the sequence of shapes where paths are
// missing.
#include "passes/analysis/RepeatedBlocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

using namespace llvm;
using namespace shardc;

namespace {

/// A way to group: of each parameter its block (index into `names`), or nullopt
/// for the root.
struct Partition {
  SmallVector<std::optional<size_t>> blockOf;
  SmallVector<std::string> names;
  SmallVector<std::string> reasons;
  int64_t covered = 0; // elements in blocks
};

int64_t elementsOf(const BlockParameter &parameter) {
  int64_t elements = 1;
  for (int64_t size : parameter.shape)
    elements *= size;
  return elements;
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

/// What a member of a module list consists of: (path below the member, shape),
/// sorted.
using Signature = std::vector<std::pair<std::string, SmallVector<int64_t>>>;

struct ModuleList {
  std::string prefix; // "layers." or ""
  std::map<int64_t, SmallVector<size_t>> members;
  int64_t covered = 0; // elements of members that have a twin
};

/// Every "prefix.N.rest" of every path; a path may be in several lists, one
/// inside the other.
std::map<std::string, ModuleList>
findModuleLists(ArrayRef<BlockParameter> parameters) {
  std::map<std::string, ModuleList> lists;
  for (auto [index, parameter] : enumerate(parameters)) {
    StringRef path = parameter.path;
    for (size_t start = 0, dot;
         (dot = path.find('.', start)) != StringRef::npos; start = dot + 1) {
      int64_t number;
      StringRef component = path.slice(start, dot);
      if (component.empty() || !all_of(component, isDigit) ||
          component.getAsInteger(10, number))
        continue;
      std::string prefix = path.take_front(start).str();
      ModuleList &list = lists[prefix];
      list.prefix = prefix;
      list.members[number].push_back(index);
    }
  }
  return lists;
}

/// Elements of the members that equal another one, by names and (`withShapes`)
/// shapes.
int64_t coveredElements(const ModuleList &list,
                        ArrayRef<BlockParameter> parameters, bool withShapes) {
  struct Twins {
    int64_t count = 0, elements = 0;
  };
  std::map<Signature, Twins> twins;
  for (const auto &[number, members] : list.members) {
    Signature signature;
    int64_t elements = 0;
    size_t skip = list.prefix.size() + std::to_string(number).size();
    for (size_t index : members) {
      signature.emplace_back(parameters[index].path.substr(skip),
                             withShapes ? parameters[index].shape
                                        : SmallVector<int64_t>());
      elements += elementsOf(parameters[index]);
    }
    // A list of bare weights (an embedding beside a head) is no list of blocks.
    if (signature.size() < 2)
      continue;
    llvm::sort(signature);
    Twins &entry = twins[signature];
    ++entry.count;
    entry.elements += elements;
  }
  int64_t covered = 0;
  for (const auto &[signature, entry] : twins)
    if (entry.count >= 2)
      covered += entry.elements;
  return covered;
}

/// Lists worth units, none inside another.
SmallVector<ModuleList> chooseLists(std::map<std::string, ModuleList> lists,
                                    ArrayRef<BlockParameter> parameters,
                                    bool withShapes) {
  SmallVector<ModuleList> candidates;
  for (auto &[prefix, list] : lists)
    if ((list.covered = coveredElements(list, parameters, withShapes)) > 0)
      candidates.push_back(std::move(list));
  // Of lists that cover the same, the outer one has the shorter prefix.
  llvm::sort(candidates, [](const ModuleList &a, const ModuleList &b) {
    return std::tuple(-a.covered, a.prefix.size(), StringRef(a.prefix)) <
           std::tuple(-b.covered, b.prefix.size(), StringRef(b.prefix));
  });
  SmallVector<ModuleList> chosen;
  for (ModuleList &list : candidates) {
    auto nested = [&](const ModuleList &other) {
      return StringRef(list.prefix).starts_with(other.prefix) ||
             StringRef(other.prefix).starts_with(list.prefix);
    };
    if (none_of(chosen, nested) &&
        list.covered >= candidates.front().covered / 10)
      chosen.push_back(list);
  }
  return chosen;
}

Partition partitionByName(ArrayRef<BlockParameter> parameters) {
  Partition partition;
  partition.blockOf.resize(parameters.size());
  for (const NamedBlock &block : findNamedBlocks(parameters)) {
    for (size_t index : block.members) {
      partition.blockOf[index] = partition.names.size();
      partition.covered += elementsOf(parameters[index]);
    }
    std::string owner =
        block.list.empty() ? "the model's list" : "module list " + block.list;
    partition.names.push_back(block.name);
    partition.reasons.push_back("block " + std::to_string(block.number) +
                                " of " + owner + ", which has " +
                                std::to_string(block.of));
  }
  return partition;
}

//===----------------------------------------------------------------------===//
// By structure
//===----------------------------------------------------------------------===//

/// The run of at least two equal sequences of at least two shapes that covers
/// the most elements; of those the one with the shortest, and so most, blocks.
Partition partitionByShapes(ArrayRef<BlockParameter> parameters) {
  size_t count = parameters.size();
  std::map<SmallVector<int64_t>, size_t> ids;
  SmallVector<size_t> shapeOf(count);
  SmallVector<int64_t> elementsBefore(count + 1, 0);
  for (auto [index, parameter] : enumerate(parameters)) {
    shapeOf[index] = ids.try_emplace(parameter.shape, ids.size()).first->second;
    elementsBefore[index + 1] = elementsBefore[index] + elementsOf(parameter);
  }
  size_t bestStart = 0, bestPeriod = 0, bestBlocks = 0;
  int64_t bestCovered = 0;
  for (size_t period = 2; period <= count / 2; ++period)
    for (size_t start = 0; start + period < count;) {
      size_t end = start;
      while (end + period < count && shapeOf[end] == shapeOf[end + period])
        ++end;
      size_t blocks = (end - start) / period + 1;
      int64_t covered =
          elementsBefore[start + blocks * period] - elementsBefore[start];
      if (blocks >= 2 && covered > bestCovered)
        bestStart = start, bestPeriod = period, bestBlocks = blocks,
        bestCovered = covered;
      start = end + 1;
    }
  Partition partition;
  partition.blockOf.resize(count);
  partition.covered = bestCovered;
  for (size_t block = 0; block < bestBlocks; ++block) {
    for (size_t index = 0; index < bestPeriod; ++index)
      partition.blockOf[bestStart + block * bestPeriod + index] = block;
    partition.names.push_back("block." + std::to_string(block));
    partition.reasons.push_back("block " + std::to_string(block) + " of " +
                                std::to_string(bestBlocks) +
                                " with equal shapes, in order of use");
  }
  return partition;
}

} // namespace

SmallVector<NamedBlock>
shardc::findNamedBlocks(ArrayRef<BlockParameter> parameters) {
  std::map<std::string, ModuleList> lists = findModuleLists(parameters);
  SmallVector<ModuleList> chosen =
      chooseLists(lists, parameters, /*withShapes=*/true);
  if (chosen.empty())
    chosen = chooseLists(std::move(lists), parameters, /*withShapes=*/false);
  SmallVector<NamedBlock> blocks;
  for (const ModuleList &list : chosen)
    for (const auto &[number, members] : list.members)
      blocks.push_back(
          {list.prefix + std::to_string(number),
           StringRef(list.prefix).drop_back(!list.prefix.empty()).str(), number,
           list.members.size(), members});
  return blocks;
}

SmallVector<ParameterGroup>
shardc::groupByRepeatedBlock(ArrayRef<BlockParameter> parameters) {
  Partition partition = partitionByName(parameters);
  // Names that tell little (stripped by an exporter): believe the shapes.
  if (Partition byShapes = partitionByShapes(parameters);
      byShapes.covered / 2 > partition.covered)
    partition = std::move(byShapes);
  SmallVector<ParameterGroup> groups;
  std::map<std::optional<size_t>, size_t> groupOf;
  for (size_t index = 0; index < parameters.size(); ++index) {
    std::optional<size_t> block = partition.blockOf[index];
    auto [entry, isNew] = groupOf.try_emplace(block, groups.size());
    if (isNew && block)
      groups.push_back(
          {partition.names[*block], partition.reasons[*block], {}});
    else if (isNew)
      groups.push_back({"root",
                        partition.names.empty()
                            ? "the whole model: it has no repeated block"
                            : "in no repeated block",
                        {}});
    groups[entry->second].members.push_back(index);
  }
  return groups;
}
