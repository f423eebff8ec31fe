// What is said of a run when it ends: the last line of --metrics, and of the
// console.
#ifndef SHARDC_RUNTIME_SUMMARY_H
#define SHARDC_RUNTIME_SUMMARY_H

#include "runtime/Executor.h"
#include "runtime/plan.pb.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct Summary {
  std::optional<double> loss;               // of the last step
  std::optional<double> evalLoss;           // of the last evaluation
  std::optional<double> secondsToFirstStep; // from the process's start to the
                                            // end of the first step
  double trainSeconds = 0;
  double trainUnits = 0; // tokens or samples

  /// The event of --metrics: with planned and allocated bytes by rank and pool.
  /// `ranks` must still live.
  nlohmann::ordered_json json(const plan::Plan &plan,
                              const std::vector<Rank *> &ranks, int64_t steps,
                              bool interrupted) const;
  std::string text(const std::string &unit) const;
};

} // namespace shardc::runtime

#endif
