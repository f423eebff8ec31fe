// The prefix of all names is found by that of one.
#include "runtime/weights/WrappedNames.h"

#include <algorithm>
#include <set>

namespace shardc::runtime {

std::string WrappedNames::operator()(const std::string &parameter) const {
  if (!parameter.starts_with(inModel))
    return "";
  return inFile + parameter.substr(inModel.size());
}

WrappedNames WrappedNames::find(const std::vector<std::string> &parameters,
                                const std::vector<std::string> &tensors) {
  const std::set<std::string> known(tensors.begin(), tensors.end());
  auto isThere = [&](const WrappedNames &names) {
    return std::ranges::all_of(parameters, [&](const std::string &each) {
      return known.contains(names(each));
    });
  };
  if (parameters.empty() || isThere({}))
    return {};
  std::vector<WrappedNames> found;
  auto consider = [&](const std::string &longer, const std::string &shorter,
                      std::string WrappedNames::*prefix) {
    if (!longer.ends_with("." + shorter))
      return;
    WrappedNames names;
    names.*prefix = longer.substr(0, longer.size() - shorter.size());
    if (isThere(names))
      found.push_back(std::move(names));
  };
  const std::string &one = parameters.front();
  for (const std::string &tensor : tensors) {
    consider(tensor, one, &WrappedNames::inFile);
    consider(one, tensor, &WrappedNames::inModel);
  }
  return found.size() == 1 ? found.front() : WrappedNames();
}

} // namespace shardc::runtime
