// What communicating and computing a unit costs, and what a policy gives out.
#ifndef SHARDC_PASSES_UNITS_UNITCOSTS_H
#define SHARDC_PASSES_UNITS_UNITCOSTS_H

#include "passes/analyses/CostModel.h"
#include "passes/units/UnitModel.h"

#include <string>
#include <vector>

namespace shardc {

/// The ranks and the costs of a unit's communication.
struct UnitCosts {
  CostModel model;
  RankGroup group;          // the ranks that gather a unit together
  int64_t elementBytes = 4; // of a gathered parameter: 2, 4 or 8
  /// Whether every rank holds the parameters. A unit's gradients are then
  /// all-reduced, or (updatesGathered) reduce-scattered, and what the optimizer
  /// makes of them is gathered, which takes as long.
  bool replicated = false;
  bool updatesGathered = false;

  /// The name of that communication.
  const char *collective() const {
    return !replicated       ? "gather"
           : updatesGathered ? "reduce-scatter and gather"
                             : "all-reduce";
  }

  /// The time of what a unit of `bytes` communicates in each pass.
  CollectiveTime time(double bytes) const {
    CollectiveTime once = model.allGather(bytes, group);
    // Rings: whole units are too large for a tree to be quicker.
    return replicated ? CollectiveTime{2 * once.latency, 2 * once.transfer,
                                       2 * once.between}
                      : once;
  }
  /// Says "gather 28.3 MB over 8 ranks: 71 us transfer, 22 us latency; forward
  /// computes 1.3 ms".
  std::string describe(double bytes, double flops) const;
};

struct AssignedUnit {
  std::string name;            // unique
  std::string reason;          // in words, with the numbers of the cost model
  std::vector<size_t> members; // parameters, ascending
};

/// The gathered bytes of all `members`, and the operations of their forward
/// pass.
double bytesOf(const UnitModel &model, llvm::ArrayRef<size_t> members,
               int64_t elementBytes);
double flopsOf(const UnitModel &model, llvm::ArrayRef<size_t> members);

} // namespace shardc

#endif
