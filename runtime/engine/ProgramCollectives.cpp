// Entries that communicate are begun and waited for as the plan says. Where
// peers read this rank's memory without a copy, more has to be waited for.
#include "runtime/engine/Program.h"

#include "runtime/base/EntryKind.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"

namespace shardc::runtime {

/// Checks that `elements` of each of the group's ranks make the whole unit.
static void requireWhole(const plan::Unit &unit, int64_t elements,
                         const Communicator &group) {
  if (elements * group.size() != unit.elements())
    fail("expects 1/", group.size(), " of unit ", unit.name(), " of ",
         unit.elements(), " elements from each rank of the group, got ",
         elements);
}

void Program::addCollective(int index, const plan::AllGatherStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  Communicator &group = state.group(entry.group());
  bool last = runsOnlyAtEnd(program.entries(index));
  // Nothing moves: the slices are where they are read. They are current when
  // the ranks that hold them have come here.
  if (state.shared.isShared(entry.unit()))
    return push(index, entry::StartBarrier{entry.token(), &group}, last);
  Tensor shard;
  if (entry.has_kept()) {
    shard = state.resolve(entry.kept(), "kept");
    requireDtype(shard, unit.dtype(), "kept");
    requireContiguous(shard, "kept");
  } else {
    shard = state.parameterSlice(unit);
    if (state.sliceBegin(unit) != group.rank() * shard.elements())
      fail("rank ", group.rank(), " of the group holds unit ", unit.name(),
           " from element ", state.sliceBegin(unit), " on, not from ",
           group.rank() * shard.elements());
  }
  requireWhole(unit, shard.elements(), group);
  Tensor gathered = state.vectorOf(entry.gathered(), unit.elements(),
                                   unit.dtype(), "gathered");
  push(index, entry::StartAllGather{entry.token(), &group, shard, gathered},
       last);
}

Tensor accumulatorOf(const RankState &state, const plan::Tensor &tensor,
                     const Tensor &result) {
  if (!state.accumulates)
    return {};
  Tensor sum = state.resolve(tensor, "accumulator");
  requireContiguous(sum, "accumulator");
  requireDtype(sum, Communicator::sumType(result.dtype), "accumulator");
  if (sum.elements() != result.elements())
    fail("expects an accumulator of ", result.elements(), " elements, got ",
         sum.describe());
  return sum;
}

void Program::addCollective(int index, const plan::ReduceScatterStart &entry) {
  Communicator &group = state.group(entry.group());
  Tensor flat = state.resolve(entry.flat(), "flat");
  Tensor shard = state.resolve(entry.shard(), "shard");
  requireContiguous(flat, "flat");
  requireDtype(shard, flat.dtype, "shard");
  requireContiguous(shard, "shard");
  if (!isFloat(flat.dtype))
    fail("expects flat to be a float, got ", flat.describe());
  if (shard.elements() * group.size() != flat.elements())
    fail("expects a shard of 1/", group.size(), " of flat ", flat.describe(),
         ", got ", shard.describe());
  Tensor sum;
  if (entry.has_accumulator())
    sum = accumulatorOf(state, entry.accumulator(), shard);
  push(index,
       entry::StartReduceScatter{entry.token(), &group, flat, shard, sum,
                                 SHARDC_RESOLVE_FIELD(state, entry, workspace)},
       runsOnlyAtEnd(program.entries(index)));
}

void Program::addCollective(int index, const plan::AllReduceStart &entry) {
  entry::StartAllReduce start{
      entry.token(), &state.group(entry.group()), {}, {}};
  for (const plan::Tensor &value : entry.values()) {
    Tensor tensor = state.resolve(value, "value");
    requireContiguous(tensor, "value");
    if (!Communicator::isReducible(tensor.dtype))
      fail("expects values of a float type, int64 or int32, got ",
           tensor.describe());
    start.values.push_back(tensor);
  }
  start.norms.assign(entry.norms().begin(), entry.norms().end());
  if (!start.norms.empty() && start.norms.size() != start.values.size())
    fail("expects norms for ", start.values.size(), " values, got ",
         start.norms.size());
  start.norms.resize(start.values.size());
  if (entry.accumulators_size() > 0 &&
      entry.accumulators_size() != entry.values_size())
    fail("expects accumulators for ", entry.values_size(), " values, got ",
         entry.accumulators_size());
  for (int i = 0; i < entry.accumulators_size() && state.accumulates; ++i)
    start.accumulators.push_back(
        accumulatorOf(state, entry.accumulators(i), start.values[i]));
  start.workspace = SHARDC_RESOLVE_FIELD(state, entry, workspace);
  push(index, std::move(start), runsOnlyAtEnd(program.entries(index)));
}

void Program::addCollective(int index,
                            const plan::AllGatherUpdatesStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  Communicator &group = state.group(entry.group());
  Tensor own = state.ownParameters(unit), all = state.parameterSlice(unit);
  int64_t elements = own.elements();
  int64_t before = state.optimizerBegin(unit) - state.sliceBegin(unit);
  if (elements * group.size() != all.elements() ||
      before != group.rank() * elements)
    fail("rank ", group.rank(), " of ", group.size(), " updates ", elements,
         " elements from ", before, " on of its ", all.elements(), " of unit ",
         unit.name());
  // The others' parts change as well: who still reads them here goes first.
  finishGathers(index, entry.unit());
  push(index, entry::StartAllGather{entry.token(), &group, own, all},
       runsOnlyAtEnd(program.entries(index)));
}

void Program::addTransfer(int index, const plan::TransferStart &entry) {
  entry::StartTransfer transfer{
      entry.token(), state.resolve(entry.source(), "source"),
      state.resolve(entry.destination(), "destination")};
  const Tensor &from = transfer.source, &to = transfer.destination;
  requireContiguous(from, "source");
  requireContiguous(to, "destination");
  requireDtype(to, from.dtype, "destination");
  if (from.elements() != to.elements())
    fail("expects a destination of ", from.elements(), " elements, got ",
         to.describe());
  if (state.isOnHost(from.data) == state.isOnHost(to.data))
    fail("expects source or destination in the pool host, and not both");
  push(index, std::move(transfer), runsOnlyAtEnd(program.entries(index)));
}

void Program::addKeep(int index, const plan::Keep &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  if (state.shared.isShared(entry.unit()))
    return;
  Communicator &group = state.group(entry.group());
  Tensor gathered = state.vectorOf(entry.gathered(), unit.elements(),
                                   unit.dtype(), "gathered");
  Tensor kept = state.resolve(entry.kept(), "kept");
  requireDtype(kept, unit.dtype(), "kept");
  requireContiguous(kept, "kept");
  requireWhole(unit, kept.elements(), group);
  Tensor own = kept;
  own.data = gathered.data + group.rank() * kept.elements() *
                                 int64_t(elementSize(unit.dtype()));
  push(index, entry::Copy{own, kept}, runsOnlyAtEnd(program.entries(index)));
}

void Program::addWait(int index, uint32_t id) {
  auto found = collectives.find(id);
  if (found == collectives.end())
    fail("nothing starts collective ", id);
  const Collective &awaited = found->second;
  if (awaited.isTransfer)
    return push(index, entry::AwaitTransfer{id},
                awaited.last || runsOnlyAtEnd(program.entries(index)));
  // Peers may go on reading this rank's parameters; only the optimizer has to
  // wait for them.
  bool last = awaited.last || runsOnlyAtEnd(program.entries(index));
  push(index, entry::Wait{id, awaited.unit < 0}, last);
  if (awaited.arranges)
    push(index, *awaited.arranges, last);
}

void Program::finishGathers(int index, uint32_t unit) {
  if (unit < gathersOf.size() && !gathersOf[unit].empty())
    push(index, entry::Finish{gathersOf[unit]},
         runsOnlyAtEnd(program.entries(index)));
}

void Program::awaitReaders(int index, uint32_t unit) {
  if (!state.isInBlock(int(unit)) || unread.contains(unit))
    return;
  int64_t group = state.shared.groups[unit];
  push(index, entry::StartBarrier{nextId, state.groups[group]}, true);
  push(index, entry::Wait{nextId, true}, true);
  ++nextId;
  // One meeting is enough for all that nobody reads any more.
  for (int i = 0; i < state.plan.units_size(); ++i)
    if (state.isInBlock(i) && state.shared.groups[i] == group &&
        state.shared.lastTouches[i] < index)
      unread.insert(uint32_t(i));
}

} // namespace shardc::runtime
