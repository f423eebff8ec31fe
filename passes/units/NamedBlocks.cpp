// Repeated blocks are found by module path.
#include "passes/units/NamedBlocks.h"

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

int64_t elementsOf(const BlockParameter &parameter) {
  int64_t elements = 1;
  for (int64_t size : parameter.shape)
    elements *= size;
  return elements;
}

/// What a member of a module list consists of: pairs of the path below the
/// member and the shape, sorted.
using Signature = std::vector<std::pair<std::string, SmallVector<int64_t>>>;

struct ModuleList {
  std::string prefix; // "layers." or ""
  std::map<int64_t, SmallVector<size_t>> members;
  int64_t covered = 0; // elements of members that have a twin
};

/// Finds every "prefix.N.rest" of every path; a path may be in several lists,
/// one inside the other.
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

/// The number of elements of the members that equal another one, by names and
/// (`withShapes`) shapes.
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

/// Chooses the lists that are worth units, none inside another.
SmallVector<ModuleList> chooseLists(std::map<std::string, ModuleList> lists,
                                    ArrayRef<BlockParameter> parameters,
                                    bool withShapes) {
  SmallVector<ModuleList> candidates;
  for (auto &[prefix, list] : lists)
    if ((list.covered = coveredElements(list, parameters, withShapes)) > 0)
      candidates.push_back(std::move(list));
  // Where lists cover the same, the outer one has the shorter prefix.
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
