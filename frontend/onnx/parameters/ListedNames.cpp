// Ties and losses, by the names that the exporter listed.
#include "frontend/onnx/parameters/ListedNames.h"

using llvm::StringRef;
using llvm::Twine;

namespace shardc::onnx {

void ListedNames::nameTied(std::vector<Parameter> &found) {
  auto add = [&](StringRef name) {
    present.insert(name);
    modulesPresent.insert(moduleOf(name));
  };
  for (const Parameter &parameter : found) {
    add(parameter.name);
    llvm::for_each(parameter.aliases, add);
  }
  for (const Node &node : nodes)
    modulesRun.insert(moduleScope(node));
  for (const std::string &name : signature.parameters)
    if (!present.contains(name) && !names.isReferenced(name) && !mergeOf(name))
      if (Parameter *tied = tiedTo(name, found)) {
        tied->aliases.push_back(name);
        add(name);
      }
  for (Parameter &parameter : found) {
    if (parameter.aliases.empty())
      continue;
    std::vector<std::string> all = std::move(parameter.aliases);
    all.push_back(parameter.name);
    llvm::stable_sort(all, [&](StringRef lhs, StringRef rhs) {
      return rank(lhs) < rank(rhs);
    });
    parameter.name = std::move(all.front());
    parameter.aliases.assign(std::next(all.begin()), all.end());
  }
}

Parameter *ListedNames::tiedTo(StringRef name,
                               std::vector<Parameter> &found) const {
  StringRef module = moduleOf(name);
  bool isAlone = llvm::none_of(signature.parameters, [&](StringRef other) {
    return other != name && moduleOf(other) == module;
  });
  if (!isAlone)
    return nullptr;
  llvm::StringSet<> modulesOfTied;
  for (const Parameter &parameter : found)
    if (!parameter.aliases.empty()) {
      modulesOfTied.insert(moduleOf(parameter.name));
      for (StringRef alias : parameter.aliases)
        modulesOfTied.insert(moduleOf(alias));
    }
  Parameter *only = nullptr;
  for (Parameter &parameter : found) {
    StringRef kept = parameter.name;
    bool isShared = !modulesRun.contains(module) && !parameter.aliases.empty();
    bool isOfChild = moduleOf(moduleOf(kept)) == module &&
                     moduleOf(kept) != module &&
                     modulesOfTied.contains(moduleOf(kept));
    if (!parameter.trainable || lastComponent(kept) != lastComponent(name) ||
        rank(kept) < rank(name) || !(isShared || isOfChild))
      continue;
    if (only)
      return nullptr;
    only = &parameter;
  }
  return only;
}

const Merge *ListedNames::mergeOf(StringRef name) const {
  if (hasNamesBeside(name))
    return nullptr;
  for (const Merge &merge : merges)
    if (llvm::any_of(merge.parameters, [&](StringRef kept) {
          return lastComponent(kept) == lastComponent(name);
        }))
      return &merge;
  return nullptr;
}

void ListedNames::findLost(ParameterTable &table) const {
  for (const std::string &name : signature.parameters) {
    if (present.contains(name))
      continue;
    if (const Merge *merge = mergeOf(name))
      table.problemTexts.push_back(
          (Twine("the exporter merged '") + merge->gone + "' into node '" +
           nodes[merge->kept].name + "', since parameters '" +
           llvm::join(merge->parameters, "', '") +
           "' had the values of others ('" + name +
           "' for one), which would be trained as one; export with "
           "optimize=False, which folds nothing")
              .str());
    bool removed = names.isReferenced(name) || hasNamesBeside(name);
    (removed ? table.lostNames : table.unusedNames).push_back(name);
  }
}

} // namespace shardc::onnx
