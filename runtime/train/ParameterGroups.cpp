// Which learning rate and weight decay each parameter gets.
#include "runtime/train/ParameterGroups.h"

#include "runtime/base/Error.h"
#include "runtime/base/Regex.h"
#include "runtime/device/Optimizers.h"
#include "runtime/weights/ParameterSource.h"

#include <algorithm>

namespace shardc::runtime {

double weightDecayOf(const Options &options, const plan::Plan &plan) {
  const Optimizer *optimizer = findOptimizer(plan.optimizer().kind());
  return options.weightDecay.value_or(optimizer ? optimizer->weightDecay : 0);
}

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

/// By parameter: the --group that it belongs to, -1 for none.
static std::vector<int> matchGroups(const Options &options,
                                    const plan::Plan &plan) {
  std::vector<Regex> regexes;
  for (const GroupOption &group : options.groups)
    regexes.emplace_back(group.match);
  std::vector<int> groups(plan.parameters_size(), -1);
  // Of each regex: what it took, and what it would have.
  std::vector<bool> taken(regexes.size());
  std::vector<std::vector<std::string>> found(regexes.size());
  std::vector<std::string> names;
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    if (!parameter.trainable())
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
    const std::string &match = options.groups[g].match;
    if (found[g].empty())
      fail("--group match=", match,
           " is found in the name of no trained parameter; there are ",
           namesText(names));
    if (!taken[g])
      fail("--group match=", match,
           " gets no parameter: earlier groups have all that it matches (",
           namesText(found[g]), "), and the first match wins");
  }
  return groups;
}

static std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

ParameterGroups ParameterGroups::resolve(const Options &options,
                                         const plan::Plan &plan) {
  ParameterGroups resolved;
  std::vector<int> matches = matchGroups(options, plan);
  const std::vector<std::string> &roles = options.noDecay;
  double weightDecay = weightDecayOf(options, plan);
  // Two slots for each --group and for the rest: its parameters that decay as
  // usual, and those that --no-decay names.
  size_t rest = options.groups.size();
  std::vector<ParameterGroup> slots(2 * (rest + 1));
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    const GroupOption *option =
        matches[i] < 0 ? nullptr : &options.groups[matches[i]];
    bool decays =
        (option && option->weightDecay) ||
        std::find(roles.begin(), roles.end(), parameter.role()) == roles.end();
    ParameterNumbers numbers;
    numbers.weightDecay = decays ? weightDecay : 0;
    if (option) {
      numbers.learningRateScale = option->learningRateScale.value_or(1);
      numbers.weightDecay = option->weightDecay.value_or(numbers.weightDecay);
    }
    resolved.numbers.push_back(numbers);
    if (!parameter.trainable())
      continue;
    ParameterGroup &slot =
        slots[2 * (option ? matches[i] : rest) + (decays ? 0 : 1)];
    std::string noDecay = decays ? "" : "no decay (" + joined(roles) + ")";
    if (option)
      slot.name = "match=" + option->match + (decays ? "" : ", ") + noDecay;
    else
      slot.name = decays ? "others" : noDecay;
    slot.numbers = numbers;
    ++slot.parameters;
    slot.elements += elementCount(parameter);
  }
  std::copy_if(slots.begin(), slots.end(), std::back_inserter(resolved.groups),
               [](const ParameterGroup &slot) { return slot.parameters > 0; });
  return resolved;
}

std::string ParameterGroups::text() const {
  if (groups.size() < 2 && (groups.empty() || groups[0].name == "others"))
    return "";
  size_t width = 0;
  for (const ParameterGroup &group : groups)
    width = std::max(width, group.name.size());
  std::string text = "parameter groups:\n";
  for (const ParameterGroup &group : groups)
    text +=
        concat("  ", group.name, std::string(width - group.name.size(), ' '),
               "  lr x ", group.numbers.learningRateScale, ", weight decay ",
               group.numbers.weightDecay, ": ", group.parameters,
               group.parameters == 1 ? " parameter, " : " parameters, ",
               group.elements, " elements\n");
  return text;
}

} // namespace shardc::runtime
