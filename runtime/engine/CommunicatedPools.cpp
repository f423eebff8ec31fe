// Every collective of both programs names its operands.
#include "runtime/engine/CommunicatedPools.h"

#include <cstdint>
#include <utility>

namespace shardc::runtime {
namespace {

class Marked {
public:
  explicit Marked(const plan::Plan &plan)
      : plan(plan), pools(plan.pools_size()) {}

  void program(const plan::Program &program) {
    for (const plan::Entry &entry : program.entries()) {
      if (entry.has_all_gather_start())
        mark(entry.all_gather_start());
      else if (entry.has_reduce_scatter_start())
        mark(entry.reduce_scatter_start());
      else if (entry.has_all_reduce_start())
        mark(entry.all_reduce_start());
      else if (entry.has_all_gather_updates_start())
        mark(entry.all_gather_updates_start());
      else if (entry.has_gather_rows_start())
        buffer(entry.gather_rows_start().workspace().buffer());
      else if (entry.has_reduce_rows_start())
        buffer(entry.reduce_rows_start().workspace().buffer());
      else if (entry.has_gather_matrices_start())
        markMatrices(entry.gather_matrices_start());
      else if (entry.has_scatter_matrices_start())
        markMatrices(entry.scatter_matrices_start());
    }
  }
  std::vector<bool> result() && { return std::move(pools); }

private:
  // Numbers that do not hold together are reported when they are bound.
  void buffer(uint32_t index) {
    if (index < uint32_t(plan.buffers_size()))
      if (uint32_t pool = plan.buffers(int(index)).pool(); pool < pools.size())
        pools[pool] = true;
  }
  void unit(uint32_t index) {
    if (index < uint32_t(plan.units_size()))
      buffer(plan.units(int(index)).parameter_buffer());
  }
  bool isAlone(uint32_t group) const {
    return group < uint32_t(plan.groups_size()) &&
           plan.groups(int(group)).size() == 1;
  }

  void mark(const plan::AllGatherStart &entry) {
    if (isAlone(entry.group()))
      return;
    entry.has_kept() ? buffer(entry.kept().buffer()) : unit(entry.unit());
    buffer(entry.gathered());
  }
  void mark(const plan::AllGatherUpdatesStart &entry) {
    if (!isAlone(entry.group()))
      unit(entry.unit());
  }
  // What has come in workspaces is added up where the sum belongs, by the rank
  // itself, or by a library for collectives at once.
  void mark(const plan::ReduceScatterStart &entry) {
    if (isAlone(entry.group()))
      return;
    buffer(entry.flat().buffer());
    buffer(entry.shard().buffer());
    if (entry.has_workspace())
      buffer(entry.workspace().buffer());
  }
  void mark(const plan::AllReduceStart &entry) {
    if (isAlone(entry.group()))
      return;
    for (const plan::Tensor &value : entry.values())
      buffer(value.buffer());
    if (entry.has_workspace())
      buffer(entry.workspace().buffer());
  }

  template <typename Start> void markMatrices(const Start &entry) {
    for (const plan::Tensor &slice : entry.slices())
      buffer(slice.buffer());
    for (const plan::Tensor &matrix : entry.matrices())
      buffer(matrix.buffer());
  }

  const plan::Plan &plan;
  std::vector<bool> pools;
};

} // namespace

std::vector<bool> communicatedPools(const plan::Plan &plan) {
  Marked marked(plan);
  marked.program(plan.train());
  marked.program(plan.eval());
  return std::move(marked).result();
}

} // namespace shardc::runtime
