// From plan entries to tasks: which function binds which kind, and the entries
// that communicate.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Bind.h"

#include <cstring>

namespace shardc::runtime {
namespace {

void keepTicket(RankState &state, uint32_t id, Started started) {
  if (!state.tickets.emplace(id, started).second)
    fail("collective ", id, " is started again before its wait");
}

/// That `elements` over the group's ranks make the whole unit.
void requireWhole(const plan::Unit &unit, int64_t elements,
                  const Communicator &group) {
  if (elements * group.size() != unit.elements())
    fail("expects 1/", group.size(), " of unit ", unit.name(), " of ",
         unit.elements(), " elements from each rank of the group, got ",
         elements);
}

Task bindStart(RankState &state, const plan::AllGatherStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  Communicator &group = state.group(entry.group());
  uint32_t id = entry.id();
  // Nothing moves: the slices are where they are read. They are current when
  // the ranks that hold them have come here.
  if (state.shared.isShared(entry.unit()))
    return [=, &state, &group] {
      keepTicket(state, id, {&group, group.startBarrier()});
    };
  Tensor shard;
  if (entry.has_kept()) {
    shard = state.resolve(entry.kept(), "kept");
    cpu::requireDtype(shard, unit.dtype(), "kept");
    cpu::requireContiguous(shard, "kept");
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
  int64_t bytes = shard.elements() * int64_t(elementSize(unit.dtype()));
  return [=, &state, &group] {
    keepTicket(
        state, id,
        {&group, group.startAllGather(shard.data, gathered.data, bytes)});
  };
}

Task bindStart(RankState &state, const plan::ReduceScatterStart &entry) {
  Communicator &group = state.group(entry.group());
  Tensor flat = state.resolve(entry.flat(), "flat");
  Tensor shard = state.resolve(entry.shard(), "shard");
  cpu::requireContiguous(flat, "flat");
  cpu::requireDtype(shard, flat.dtype, "shard");
  cpu::requireContiguous(shard, "shard");
  if (!isFloat(flat.dtype))
    fail("expects flat to be a float, got ", flat.describe());
  int64_t elements = shard.elements();
  if (elements * group.size() != flat.elements())
    fail("expects a shard of 1/", group.size(), " of flat ", flat.describe(),
         ", got ", shard.describe());
  uint32_t id = entry.id();
  return [=, &state, &group] {
    keepTicket(state, id,
               {&group, group.startReduceScatter(flat.data, shard.data,
                                                 elements, flat.dtype)});
  };
}

Task bindStart(RankState &state, const plan::AllReduceStart &entry) {
  Communicator &group = state.group(entry.group());
  std::vector<Segment> segments;
  for (const plan::Tensor &value : entry.values()) {
    Tensor tensor = state.resolve(value, "value");
    cpu::requireContiguous(tensor, "value");
    if (!Communicator::isReducible(tensor.dtype))
      fail("expects values of a float type, int64 or int32, got ",
           tensor.describe());
    segments.push_back({tensor.data, tensor.elements(), tensor.dtype});
  }
  std::vector<bool> norms(entry.norms().begin(), entry.norms().end());
  if (!norms.empty() && norms.size() != segments.size())
    fail("expects norms for ", segments.size(), " values, got ", norms.size());
  norms.resize(segments.size());
  uint32_t id = entry.id();
  return [=, &state, &group]() mutable {
    Combine ofNorms =
        state.numbers.clipNorm == Norm::Inf ? Combine::Max : Combine::Sum;
    for (size_t i = 0; i < segments.size(); ++i)
      segments[i].combine = norms[i] ? ofNorms : Combine::Sum;
    keepTicket(state, id, {&group, group.startAllReduce(segments)});
  };
}

Task bindStart(RankState &state, const plan::AllGatherUpdatesStart &entry) {
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
  int64_t bytes = elements * int64_t(elementSize(unit.dtype()));
  uint32_t id = entry.id(), index = entry.unit();
  return [=, &state, &group] {
    // The others' parts change as well: who still reads them here goes first.
    state.finishGathers(index);
    keepTicket(state, id,
               {&group, group.startAllGather(own.data, all.data, bytes)});
  };
}

Task bindKeep(RankState &state, const plan::Keep &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  if (state.shared.isShared(entry.unit()))
    return [] {};
  Communicator &group = state.group(entry.group());
  Tensor gathered = state.vectorOf(entry.gathered(), unit.elements(),
                                   unit.dtype(), "gathered");
  Tensor kept = state.resolve(entry.kept(), "kept");
  cpu::requireDtype(kept, unit.dtype(), "kept");
  cpu::requireContiguous(kept, "kept");
  requireWhole(unit, kept.elements(), group);
  int64_t bytes = kept.elements() * int64_t(elementSize(unit.dtype()));
  const std::byte *from = gathered.data + group.rank() * bytes;
  return [=, &state] {
    state.pool.forRanges(bytes, 1 << 20, [&](int64_t begin, int64_t end, int) {
      std::memcpy(kept.data + begin, from + begin, end - begin);
    });
  };
}

/// What a wait is for. Ids are unique within a program.
struct Awaited {
  bool endsStep = false; // starts in the last micro-batch only
  /// The unit whose parameters peers read, -1 for none: an all-gather of kept
  /// values reads a buffer that may be used again behind the wait, and who
  /// reads a block is waited for by awaitReaders.
  int64_t unit = -1;
};
Awaited awaitedBy(const RankState &state, const Starts &starts, uint32_t id) {
  auto found = starts.find(id);
  if (found == starts.end())
    fail("nothing starts collective ", id);
  const plan::Entry &entry = *found->second;
  Awaited awaited{runsOnlyAtEnd(entry)};
  if (entry.has_all_gather_updates_start())
    awaited.unit = entry.all_gather_updates_start().unit();
  else if (entry.has_all_gather_start() &&
           !entry.all_gather_start().has_kept() &&
           !state.shared.isShared(entry.all_gather_start().unit()))
    awaited.unit = entry.all_gather_start().unit();
  return awaited;
}

Task bindWait(RankState &state, const Starts &starts, uint32_t id) {
  Awaited awaited = awaitedBy(state, starts, id);
  return [=, &state] {
    auto found = state.tickets.find(id);
    if (found == state.tickets.end()) {
      if (awaited.endsStep && !state.endsStep())
        return;
      fail("collective ", id, " is waited for before its start");
    }
    Started started = found->second;
    state.tickets.erase(found);
    if (awaited.unit < 0) {
      started.communicator->finish(started.ticket, state.pool);
      return;
    }
    // Peers may go on reading this rank's parameters; only the optimizer has to
    // wait for them.
    started.communicator->wait(started.ticket, state.pool);
    state.openGathers[awaited.unit].push_back(started);
  };
}

Task bindReport(RankState &state, const plan::Report &entry) {
  Tensor value = state.resolve(entry.value(), "value");
  cpu::requireScalar(value, "value");
  if (!isFloat(value.dtype))
    fail("expects value to be a float, got ", value.describe());
  std::string name = entry.name();
  return [=, &state] {
    convertElements(value.data, value.dtype, &state.reported[name],
                    plan::FLOAT64, 1);
  };
}

} // namespace

bool runsOnlyAtEnd(const plan::Entry &entry) {
  return entry.last() || entry.phase() == "optimizer";
}

Starts startsOf(const plan::Program &program) {
  Starts starts;
  for (const plan::Entry &entry : program.entries()) {
    if (entry.has_all_gather_start())
      starts.emplace(entry.all_gather_start().id(), &entry);
    else if (entry.has_all_gather_updates_start())
      starts.emplace(entry.all_gather_updates_start().id(), &entry);
    else if (entry.has_reduce_scatter_start())
      starts.emplace(entry.reduce_scatter_start().id(), &entry);
    else if (entry.has_all_reduce_start())
      starts.emplace(entry.all_reduce_start().id(), &entry);
  }
  return starts;
}

Task bindEntry(RankState &state, const Starts &starts,
               const plan::Entry &entry) {
  switch (entry.kind_case()) {
  case plan::Entry::kLaunch:
    return cpu::bind(state, entry.launch());
  case plan::Entry::kGemm:
    return cpu::bind(state, entry.gemm());
  case plan::Entry::kAttention:
    return cpu::bind(state, entry.attention());
  case plan::Entry::kAttentionGrad:
    return cpu::bind(state, entry.attention_grad());
  case plan::Entry::kCrossEntropy:
    return cpu::bind(state, entry.cross_entropy());
  case plan::Entry::kLinearCrossEntropy:
    return cpu::bind(state, entry.linear_cross_entropy());
  case plan::Entry::kEmbedding:
    return cpu::bind(state, entry.embedding());
  case plan::Entry::kEmbeddingGrad:
    return cpu::bind(state, entry.embedding_grad());
  case plan::Entry::kCopy:
    return cpu::bind(state, entry.copy());
  case plan::Entry::kFill:
    return cpu::bind(state, entry.fill());
  case plan::Entry::kHostCall:
    return cpu::bind(state, entry.host_call());
  case plan::Entry::kGradientNorm:
    return cpu::bind(state, entry.gradient_norm());
  case plan::Entry::kAccumulate:
    return cpu::bind(state, entry.accumulate());
  case plan::Entry::kOptimizerStep:
    return cpu::bind(state, entry.optimizer_step());
  case plan::Entry::kAllGatherStart:
    return bindStart(state, entry.all_gather_start());
  case plan::Entry::kReduceScatterStart:
    return bindStart(state, entry.reduce_scatter_start());
  case plan::Entry::kAllReduceStart:
    return bindStart(state, entry.all_reduce_start());
  case plan::Entry::kAllGatherUpdatesStart:
    return bindStart(state, entry.all_gather_updates_start());
  case plan::Entry::kKeep:
    return bindKeep(state, entry.keep());
  case plan::Entry::kWait:
    return bindWait(state, starts, entry.wait().id());
  case plan::Entry::kReport:
    return bindReport(state, entry.report());
  case plan::Entry::KIND_NOT_SET:
    break;
  }
  fail("a kind of entry that this runtime does not know");
}

} // namespace shardc::runtime
