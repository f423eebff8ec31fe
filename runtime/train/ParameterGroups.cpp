// Which learning rate and weight decay each parameter gets.
#include "runtime/train/ParameterGroups.h"

#include "runtime/base/Error.h"
#include "runtime/device/Optimizers.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/train/NameGroups.h"
#include "runtime/weights/ParameterSource.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

double weightDecayOf(const Options &options, const plan::Plan &plan) {
  const Optimizer *optimizer = findOptimizer(plan.optimizer().kind());
  return options.weightDecay.value_or(optimizer ? optimizer->weightDecay : 0);
}

static double weightDecayOf(const Options &options, const plan::Plan &plan,
                            const plan::Parameter &parameter) {
  const Optimizer *own = findOptimizer(parameter.optimizer());
  return own && !options.weightDecay ? own->weightDecay
                                     : weightDecayOf(options, plan);
}

/// What torch.optim.Muon multiplies the learning rate of a matrix by
/// (adjust_lr_fn).
static double matrixScaleOf(AdjustRate adjust,
                            const plan::Parameter &parameter) {
  auto rows = double(parameter.shape(0)), columns = double(parameter.shape(1));
  return adjust == AdjustRate::MatchRmsAdamW
             ? 0.2 * std::sqrt(std::max(rows, columns))
             : std::sqrt(std::max(1.0, rows / columns));
}

/// By parameter: the --group that it belongs to, -1 for none.
static std::vector<int> matchGroups(const Options &options,
                                    const plan::Plan &plan) {
  std::vector<std::string> matches;
  for (const GroupOption &group : options.groups)
    matches.push_back(group.match);
  return matchNames("--group", matches, plan, "trained parameter",
                    [](const plan::Parameter &parameter) {
                      return parameter.trainable() && !isRunning(parameter);
                    });
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
  const Optimizer *optimizer = findOptimizer(plan.optimizer().kind());
  bool takesMatrices = optimizer && optimizer->takesMatrices();
  const std::vector<std::string> &roles = options.noDecay;
  // Four slots for each --group and for the rest: its parameters that decay as
  // usual, and those that --no-decay names; of each first whole matrices, or
  // everything where the optimizer takes none.
  size_t rest = options.groups.size();
  std::vector<ParameterGroup> slots(4 * (rest + 1));
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    const GroupOption *option =
        matches[i] < 0 ? nullptr : &options.groups[matches[i]];
    bool decays =
        (option && option->weightDecay) ||
        std::find(roles.begin(), roles.end(), parameter.role()) == roles.end();
    ParameterNumbers numbers;
    numbers.weightDecay = decays ? weightDecayOf(options, plan, parameter) : 0;
    if (isWholeMatrix(plan, parameter))
      numbers.matrixScale = matrixScaleOf(
          options.adjustRate.value_or(AdjustRate::Original), parameter);
    if (option) {
      numbers.learningRateScale = option->learningRateScale.value_or(1);
      numbers.weightDecay = option->weightDecay.value_or(numbers.weightDecay);
    }
    resolved.numbers.push_back(numbers);
    if (!parameter.trainable() || isRunning(parameter))
      continue;
    ParameterGroup &slot =
        slots[4 * (option ? matches[i] : rest) + (decays ? 0 : 1) +
              (parameter.optimizer().empty() ? 0 : 2)];
    std::string noDecay = decays ? "" : "no decay (" + joined(roles) + ")";
    if (option)
      slot.name = "match=" + option->match + (decays ? "" : ", ") + noDecay;
    else
      slot.name = decays ? "others" : noDecay;
    if (std::string kind = parameter.optimizer().empty()
                               ? plan.optimizer().kind()
                               : parameter.optimizer();
        takesMatrices)
      slot.name += ", " + kind;
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
