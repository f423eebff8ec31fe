// Modules, then ops, then parameters are packed into parts in order of use.
#include "passes/units/SplitUnit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace shardc;

namespace {

/// Parameters that are kept together, if they can be.
struct Atom {
  std::string module;
  std::vector<size_t> members;
};

class Splitter {
public:
  Splitter(const UnitModel &model, ArrayRef<size_t> members)
      : model(model), common(commonPath(model, members)) {}

  /// The module below the common path; empty where there is none.
  std::string moduleOf(size_t parameter) const {
    SmallVector<StringRef> path;
    StringRef(model.parameters[parameter].path).split(path, '.');
    return common + 1 < path.size() ? path[common].str() : "";
  }
  size_t positionOf(size_t parameter) const {
    return model.uses[model.firstUse(parameter)].position;
  }

  /// Joins neighbours that `areTogether` into atoms.
  std::vector<Atom>
  atoms(ArrayRef<size_t> members,
        function_ref<bool(size_t, size_t)> areTogether) const {
    std::vector<Atom> result;
    for (auto [order, member] : enumerate(members)) {
      if (order == 0 || !areTogether(members[order - 1], member))
        result.push_back({moduleOf(member), {}});
      result.back().members.push_back(member);
    }
    return result;
  }

private:
  /// Returns how many components all paths begin with.
  static size_t commonPath(const UnitModel &model, ArrayRef<size_t> members) {
    SmallVector<StringRef> first, path;
    StringRef(model.parameters[members[0]].path).split(first, '.');
    size_t common = first.size() - 1;
    for (size_t member : members) {
      path.clear();
      StringRef(model.parameters[member].path).split(path, '.');
      size_t equal = 0;
      while (equal < std::min(common, path.size() - 1) &&
             first[equal] == path[equal])
        ++equal;
      common = equal;
    }
    return common;
  }

  const UnitModel &model;
  size_t common;
};

} // namespace

std::vector<UnitPart>
shardc::splitUnit(const UnitModel &model, ArrayRef<size_t> members, double most,
                  function_ref<double(ArrayRef<size_t>)> size,
                  function_ref<bool(ArrayRef<size_t>)> isSmall) {
  Splitter splitter(model, members);
  std::vector<Atom> fitting;
  for (Atom &module : splitter.atoms(members, [&](size_t a, size_t b) {
         std::string name = splitter.moduleOf(a);
         return !name.empty() && name == splitter.moduleOf(b);
       })) {
    if (size(module.members) <= most) {
      fitting.push_back(std::move(module));
      continue;
    }
    for (Atom &op : splitter.atoms(module.members, [&](size_t a, size_t b) {
           return splitter.positionOf(a) == splitter.positionOf(b);
         })) {
      if (size(op.members) <= most)
        fitting.push_back(std::move(op));
      else
        append_range(fitting, splitter.atoms(op.members, [](size_t, size_t) {
          return false;
        }));
    }
  }

  double total = size(members), filled = 0;
  double target = total / std::ceil(total / most);
  std::vector<UnitPart> parts;
  for (const Atom &atom : fitting) {
    double bytes = size(atom.members);
    if (parts.empty() || filled + bytes > most || filled + bytes / 2 > target) {
      parts.emplace_back();
      filled = 0;
    }
    filled += bytes;
    append_range(parts.back().members, atom.members);
    if (!atom.module.empty() &&
        !is_contained(parts.back().modules, atom.module))
      parts.back().modules.push_back(atom.module);
  }
  // A norm beside a large table gains nothing by a collective of its own.
  for (size_t index = 0; index < parts.size() && parts.size() > 1;) {
    if (!isSmall(parts[index].members)) {
      ++index;
      continue;
    }
    UnitPart small = std::move(parts[index]);
    parts.erase(parts.begin() + index);
    UnitPart &into = parts[std::min(index, parts.size() - 1)];
    append_range(into.members, small.members);
    llvm::sort(into.members);
    for (std::string &module : small.modules)
      if (!is_contained(into.modules, module))
        into.modules.push_back(std::move(module));
  }
  return parts;
}
