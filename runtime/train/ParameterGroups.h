// Parameter groups: which learning rate and weight decay each parameter gets.
#ifndef SHARDC_RUNTIME_TRAIN_PARAMETERGROUPS_H
#define SHARDC_RUNTIME_TRAIN_PARAMETERGROUPS_H

#include "runtime/engine/Executor.h"
#include "runtime/plan.pb.h"
#include "runtime/train/Options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Trained parameters that one line of flags put together.
struct ParameterGroup {
  std::string name; // "match=REGEX", "no decay (norm, bias)" or "others"
  ParameterNumbers numbers;
  int64_t parameters = 0, elements = 0;
};

/// Where the optimizer takes whole matrices, what it does not take is in groups
/// of its own. A parameter belongs to the first --group whose regex is found in its name.
/// Its weight decay is that group's; where that group says nothing of it, or
/// there is none, 0 for the roles of --no-decay, and --weight-decay for the
/// rest.
struct ParameterGroups {
  std::vector<ParameterGroup> groups;    // none that is empty
  std::vector<ParameterNumbers> numbers; // by parameter of the plan

  /// Throws an Error for a --group that gets no parameter.
  static ParameterGroups resolve(const Options &options,
                                 const plan::Plan &plan);

  /// A line per group; empty where there is but one.
  std::string text() const;
};

/// --weight-decay, or torch.optim's default for the plan's optimizer. (What
/// another updates has that one's default.)
double weightDecayOf(const Options &options, const plan::Plan &plan);

} // namespace shardc::runtime

#endif
