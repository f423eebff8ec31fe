// torch.nn.init's distributions, for parameters of any shape.
#include "runtime/train/InitGroups.h"

#include "runtime/base/Error.h"
#include "runtime/train/NameGroups.h"

#include <cmath>

namespace shardc::runtime {

namespace {

struct Fans {
  double in, out;
};

/// As torch.nn.init counts them: of [out, in, ...].
Fans fansOf(const plan::Parameter &parameter, const InitGroupOption &group) {
  const auto &shape = parameter.shape();
  if (shape.size() < 2)
    fail("--init-group match=", group.match, " ", group.distribution,
         " needs at least two dims, and ", parameter.name(), " has ",
         shape.size());
  double field = 1;
  for (int dim = 2; dim < shape.size(); ++dim)
    field *= static_cast<double>(shape[dim]);
  return {static_cast<double>(shape[1]) * field,
          static_cast<double>(shape[0]) * field};
}

Distribution distributionOf(const plan::Parameter &parameter,
                            const InitGroupOption &group) {
  using Kind = Distribution::Kind;
  const std::string &name = group.distribution;
  auto number = [&](size_t i, double otherwise = 0) {
    return i < group.numbers.size() ? group.numbers[i] : otherwise;
  };
  if (name == "normal")
    return {Kind::Normal, number(0), number(1)};
  if (name == "uniform")
    return {Kind::Uniform, number(0), number(1)};
  if (name == "trunc_normal")
    return {Kind::TruncatedNormal, number(0), number(1), number(2, -2),
            number(3, 2)};
  if (name == "constant")
    return {Kind::Constant, number(0)};
  if (name == "zeros" || name == "ones")
    return {Kind::Constant, name == "ones" ? 1.0 : 0.0};
  Fans fans = fansOf(parameter, group);
  double deviation = 0;
  if (name.starts_with("xavier"))
    deviation = number(0, 1) * std::sqrt(2 / (fans.in + fans.out));
  else
    deviation = std::sqrt(2 / (1 + number(0) * number(0))) /
                std::sqrt(group.countsOutputs ? fans.out : fans.in);
  if (name.ends_with("normal"))
    return {Kind::Normal, 0, deviation};
  double bound = std::sqrt(3.0) * deviation;
  return {Kind::Uniform, -bound, bound};
}

} // namespace

std::vector<std::optional<Distribution>>
initDistributions(const Options &options, const plan::Plan &plan) {
  std::vector<std::string> matches;
  for (const InitGroupOption &group : options.initGroups)
    matches.push_back(group.match);
  std::vector<int> groups =
      matchNames("--init-group", matches, plan, "parameter",
                 [](const plan::Parameter &parameter) {
                   return parameter.trainable() || parameter.frozen();
                 });
  std::vector<std::optional<Distribution>> distributions(groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i] >= 0)
      distributions[i] = distributionOf(plan.parameters(static_cast<int>(i)),
                                        options.initGroups[groups[i]]);
  return distributions;
}

} // namespace shardc::runtime
