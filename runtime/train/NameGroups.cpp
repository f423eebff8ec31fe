// Groups of parameters that flags make by regexes on names.
#include "runtime/train/NameGroups.h"

#include "runtime/base/Error.h"
#include "runtime/base/Regex.h"

#include <algorithm>

namespace shardc::runtime {

/// What names there are, for an error: numbers become '*', so that the layers
/// of a model show once.
static std::string namesText(const std::vector<std::string> &names) {
  constexpr size_t most = 12;
  std::vector<std::string> shown;
  for (const std::string &name : names) {
    std::string pattern;
    for (char letter : name) {
      bool isDigit = letter >= '0' && letter <= '9';
      if (!isDigit)
        pattern += letter;
      else if (!pattern.ends_with('*'))
        pattern += '*';
    }
    if (std::find(shown.begin(), shown.end(), pattern) == shown.end())
      shown.push_back(pattern);
  }
  std::string text;
  for (size_t i = 0; i < std::min(most, shown.size()); ++i)
    text += (i ? ", " : "") + shown[i];
  if (shown.size() > most)
    text += concat(" and ", shown.size() - most, " more");
  return text;
}

std::vector<int>
matchNames(const char *flag, const std::vector<std::string> &matches,
           const plan::Plan &plan, const char *what,
           const std::function<bool(const plan::Parameter &)> &counts) {
  std::vector<Regex> regexes;
  for (const std::string &match : matches)
    regexes.emplace_back(match);
  std::vector<int> groups(plan.parameters_size(), -1);
  // Of each regex: what it took, and what it would have.
  std::vector<bool> taken(regexes.size());
  std::vector<std::vector<std::string>> found(regexes.size());
  std::vector<std::string> names;
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    if (!counts(parameter))
      continue;
    names.push_back(parameter.name());
    for (size_t g = 0; g < regexes.size(); ++g) {
      if (!regexes[g].isFoundIn(parameter.name()))
        continue;
      found[g].push_back(parameter.name());
      if (groups[i] >= 0)
        continue;
      groups[i] = static_cast<int>(g);
      taken[g] = true;
    }
  }
  for (size_t g = 0; g < regexes.size(); ++g) {
    if (found[g].empty())
      fail(flag, " match=", matches[g], " is found in the name of no ", what,
           "; there are ", namesText(names));
    if (!taken[g])
      fail(flag, " match=", matches[g],
           " gets no parameter: earlier groups have all that it matches (",
           namesText(found[g]), "), and the first match wins");
  }
  return groups;
}

} // namespace shardc::runtime
