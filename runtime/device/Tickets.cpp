// The collectives of a program that are on their way.
#include "runtime/device/Tickets.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/device/Parcels.h"

namespace shardc::runtime {

static int64_t bytesOf(const Tensor &tensor) {
  return tensor.elements() * static_cast<int64_t>(elementSize(tensor.dtype));
}

void Tickets::keep(uint32_t id, Communicator *group,
                   Communicator::Ticket ticket) {
  if (!started.emplace(id, Started{group, ticket}).second)
    fail("collective ", id, " is started again before its wait");
}

void Tickets::start(const entry::StartAllGather &entry) {
  keep(entry.id, entry.group,
       entry.group->startAllGather(entry.shard.data, entry.gathered.data,
                                   bytesOf(entry.shard)));
}
/// Returns which part of the step's sum this micro-batch has.
static RunningSum runningSum(const Tensor &accumulator,
                             const StepNumbers &numbers) {
  if (!accumulator)
    return {};
  return {accumulator.data, numbers.microBatch == 0, numbers.endsStep()};
}

void Tickets::start(const entry::StartReduceScatter &entry,
                    const StepNumbers &numbers, ResultReader *reader) {
  keep(entry.id, entry.group,
       entry.group->startReduceScatter(
           entry.flat.data, entry.shard.data, entry.shard.elements(),
           entry.flat.dtype, runningSum(entry.accumulator, numbers), reader));
}
void Tickets::start(const entry::StartAllReduce &entry,
                    const StepNumbers &numbers) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < entry.values.size(); ++i) {
    const Tensor &value = entry.values[i];
    bool isLargest = entry.norms[i] && numbers.clipNorm == Norm::Inf;
    segments.push_back({value.data, value.elements(), value.dtype,
                        isLargest ? Combine::Max : Combine::Sum,
                        entry.accumulators.empty()
                            ? RunningSum()
                            : runningSum(entry.accumulators[i], numbers)});
  }
  keep(entry.id, entry.group, entry.group->startAllReduce(segments));
}
void Tickets::start(const entry::StartAllToAll &entry) {
  keep(entry.id, entry.group,
       entry.group->startAllToAll(
           parcelsOf(entry.sources, entry.sends),
           parcelsOf(entry.destinations, entry.receives)));
}
void Tickets::start(const entry::StartBarrier &entry) {
  keep(entry.id, entry.group, entry.group->startBarrier());
}

void Tickets::wait(const entry::Wait &entry) {
  auto found = started.find(entry.id);
  if (found == started.end())
    fail("collective ", entry.id, " is waited for before its start");
  Started collective = found->second;
  started.erase(found);
  if (entry.finishes)
    return collective.group->finish(collective.ticket);
  collective.group->wait(collective.ticket);
  open[entry.id] = collective;
}

void Tickets::finish(const entry::Finish &entry) {
  for (uint32_t id : entry.ids)
    if (auto found = open.find(id); found != open.end()) {
      Started collective = found->second;
      open.erase(found);
      collective.group->finish(collective.ticket);
    }
}

} // namespace shardc::runtime
