// Which parameters are gathered together: the ways that --units names, over
// what UnitModel knows. `auto` is in AutoUnits.
#ifndef SHARDC_PASSES_ANALYSIS_UNITPOLICY_H
#define SHARDC_PASSES_ANALYSIS_UNITPOLICY_H

#include "passes/analysis/CostModel.h"
#include "passes/analysis/UnitModel.h"
#include "passes/analysis/UnitsOption.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc {

/// Who communicates what for a unit.
struct UnitCosts {
  CostModel model;
  RankGroup group;          // the ranks that gather a unit together
  int64_t elementBytes = 4; // of a gathered parameter: 2, 4 or 8
  /// Every rank holds the parameters: a unit's gradients are all-reduced, or
  /// (updatesGathered) reduce-scattered, and what the optimizer makes of them
  /// gathered, which takes as long.
  bool replicated = false;
  bool updatesGathered = false;

  /// What that communication is called.
  const char *collective() const {
    return !replicated       ? "gather"
           : updatesGathered ? "reduce-scatter and gather"
                             : "all-reduce";
  }

  /// Of what a unit of `bytes` communicates in each pass.
  CollectiveTime time(double bytes) const {
    return replicated ? model.allReduce(bytes, group)
                      : model.allGather(bytes, group);
  }
  /// "gather 28.3 MB over 8 ranks: 71 us transfer, 22 us latency; forward
  /// computes 1.3 ms".
  std::string describe(double bytes, double flops) const;
};

struct AssignedUnit {
  std::string name;            // unique
  std::string reason;          // in words, with the numbers of the cost model
  std::vector<size_t> members; // parameters, ascending
};

/// Every parameter of `model` in one unit, units by first use. The error is one
/// line that says what matches nothing, and what there is.
llvm::Expected<std::vector<AssignedUnit>> assignUnits(const UnitModel &model,
                                                      const UnitsOption &option,
                                                      const UnitCosts &costs);

/// One of several equal parts of a model.
struct RepeatedBlock {
  std::string name;            // "layers.0", or "block.0" where names are gone
  std::string which;           // "block 1 of 12 (layers.0)"
  size_t repetition = 0;       // equal for the blocks of one repetition
  std::vector<size_t> members; // ascending, at least one
};

/// The repeated blocks by first use: those that module paths tell
/// (RepeatedBlocks.h), or, where those cover less than half of it, what repeats
/// in the sequence of uses (RepeatedRuns.h).
std::vector<RepeatedBlock> findBlocks(const UnitModel &model);

/// Of all `members`: gathered bytes, and operations of a forward pass.
double bytesOf(const UnitModel &model, llvm::ArrayRef<size_t> members,
               int64_t elementBytes);
double flopsOf(const UnitModel &model, llvm::ArrayRef<size_t> members);

} // namespace shardc

#endif
