// What a program's entries take on a machine, from its description.
#ifndef SHARDC_CODEGEN_TIMELINE_READPROGRAM_H
#define SHARDC_CODEGEN_TIMELINE_READPROGRAM_H

#include "codegen/step/Step.h"
#include "codegen/timeline/Timeline.h"
#include "passes/analyses/CostModel.h"

#include <string>
#include <vector>

namespace shardc::timeline {

/// Entries in their order as steps, and the collectives among them.
struct TimedProgram {
  std::vector<Step> steps;
  std::vector<mlir::Operation *> entries; // one per step
  std::vector<Collective> collectives;
  std::vector<mlir::Operation *> starts; // one per collective
  std::vector<std::string> streams;      // "gather over shard", in their order
  double slowdown = 0;                   // of compute beside collectives

  Timeline simulate() const {
    return timeline::simulate(steps, collectives, slowdown);
  }
};

/// Estimates seconds by the rates of `costs`:
/// - Library calls with operations read and write while they compute, attention
///   at a rate of its own; kernels
///   and what else moves memory take the bytes of their operands, an optimizer
///   step those of the unit's master weights and state too, and rows that are
///   looked up count as often as they are written.
/// - Collectives as CostModel.h has them, in a stream for gathers and one for
///   reductions of each group of ranks, as on a GPU (NcclGroups.h).
/// - Where rows of a table travel, the start takes the first of the two
///   all-to-alls and what is done with what it brings, during which nothing is
///   computed; the second is a collective among the reductions.
/// - Transfers take what the cluster says, in a stream of each direction where
///   the link to the host is duplex, else in one.
/// - Of entries that some ranks alone run, those of rank 0, which owns as much
///   as any (passes/units/MatrixOwners.h).
/// - Launches take no time: a program is the launch of a graph.
/// Needs the module's fsdp.group and fsdp.unit.
TimedProgram readProgram(step::ProgramOp program, const CostModel &costs);

} // namespace shardc::timeline

#endif
