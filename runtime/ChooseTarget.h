// Which of the targets that a trainer was compiled for a run takes.
#ifndef SHARDC_RUNTIME_CHOOSETARGET_H
#define SHARDC_RUNTIME_CHOOSETARGET_H

#include "runtime/device/Platform.h"
#include "runtime/launch/Launch.h"
#include "runtime/plan.pb.h"
#include "runtime/train/Options.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct ChosenTarget {
  size_t index = 0; // of the plan
  /// Says what was there to choose from, and why this one, in a line; empty
  /// where nobody had to be asked.
  std::string why;
};

/// The target that is known without looking at the machine: the only one, or
/// that of --device. Throws an Error where the trainer has no plan for that.
std::optional<size_t> namedTarget(const std::vector<plan::Plan> &plans,
                                  const Options &options,
                                  const PlatformFactory &platformOf);

/// The same, and else the first with devices of their own for the `ranks` of
/// this process; where there is none, those that all ranks share: the
/// processor.
ChosenTarget chooseTarget(const std::vector<plan::Plan> &plans,
                          const Options &options, int64_t ranks,
                          const PlatformFactory &platformOf);

/// Where nobody has said how many processes this node has, and the devices of
/// its ranks want one each: has `launch` start them. What there is is asked for
/// in a child process, since what starts others has no driver. Returns the target
/// where the machine was asked. Throws an Error where it has too few devices, or
/// too small ones.
std::optional<ChosenTarget>
startForDevices(Launch &launch, const std::vector<plan::Plan> &plans,
                const Options &options, const PlatformFactory &platformOf);

} // namespace shardc::runtime

#endif
