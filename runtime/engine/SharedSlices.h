// Where ranks share an address space, the gathers of some units need no copy:
// the slices of a unit lie side by side in one block, and the block is what a
// gather would make.
#ifndef SHARDC_RUNTIME_ENGINE_SHAREDSLICES_H
#define SHARDC_RUNTIME_ENGINE_SHAREDSLICES_H

#include "runtime/plan.pb.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// SharedSlices says what of a plan falls away when ranks read each other's
/// slices in place.
struct SharedSlices {
  /// Each unit has the group here (index of Plan.groups) whose ranks hold the
  /// slices of one block, in rank order. It is -1 for a unit that is gathered
  /// by copying, or not at all.
  std::vector<int64_t> groups;
  /// Each buffer that would be gathered into has the unit here whose block it
  /// is; the others have -1.
  std::vector<int64_t> gathered;
  /// Each buffer that keeps a part of a unit for another gather, which the
  /// block makes needless, has that unit here; the others have -1.
  std::vector<int64_t> kept;
  /// Each unit has the last entry of a step here that touches it in its
  /// gathered form, or -1.
  std::vector<int> lastTouches;

  /// Finds the units that it holds for where a process has `ranksPerProcess`
  /// ranks in a row: gathered over one group, all in one process, in all
  /// programs, cut into as many slices as that has ranks, the slice in a
  /// buffer that no other buffer overlaps, and not touched in its gathered form
  /// behind the first entry that changes the unit: so ranks that meet before
  /// that entry have no reader among them.
  static SharedSlices of(const plan::Plan &plan, int64_t ranksPerProcess);
  static SharedSlices none(const plan::Plan &plan);

  /// Takes the units of a group out again.
  void drop(int64_t group);
  bool isShared(uint32_t unit) const { return groups[unit] >= 0; }
  /// Returns the bytes of a pool that are allocated: none of one whose buffers
  /// all are blocks or not needed.
  int64_t poolBytes(const plan::Plan &plan, int pool) const;
};

} // namespace shardc::runtime

#endif
