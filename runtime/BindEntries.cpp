// From plan entries to tasks: which function binds which kind, and the entries
// that communicate.
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/cpu/Bind.h"

namespace shardc::runtime {
namespace {

void keepTicket(RankState &state, uint32_t id, Communicator::Ticket ticket) {
  if (!state.tickets.emplace(id, ticket).second)
    fail("collective ", id, " is started again before its wait");
}

Task bindStart(RankState &state, const plan::AllGatherStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  int64_t elements = state.sliceElements(unit);
  Tensor shard = state.vectorOf(unit.parameter_buffer(), elements, unit.dtype(),
                                "parameter_buffer");
  Tensor gathered =
      state.vectorOf(entry.gathered(), elements * state.communicator.size(),
                     unit.dtype(), "gathered");
  if (unit.shards() != state.communicator.size())
    fail("expects unit ", unit.name(), " in ", state.communicator.size(),
         " shards, got ", unit.shards());
  int64_t bytes = elements * int64_t(elementSize(unit.dtype()));
  uint32_t id = entry.id();
  return [=, &state] {
    keepTicket(
        state, id,
        state.communicator.startAllGather(shard.data, gathered.data, bytes));
  };
}

Task bindStart(RankState &state, const plan::ReduceScatterStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  int64_t elements = state.sliceElements(unit);
  Tensor shard = state.vectorOf(entry.shard(), elements, unit.dtype(), "shard");
  Tensor flat = state.vectorOf(
      entry.flat(), elements * state.communicator.size(), unit.dtype(), "flat");
  if (unit.shards() != state.communicator.size())
    fail("expects unit ", unit.name(), " in ", state.communicator.size(),
         " shards, got ", unit.shards());
  uint32_t id = entry.id();
  plan::DType dtype = unit.dtype();
  return [=, &state] {
    keepTicket(state, id,
               state.communicator.startReduceScatter(flat.data, shard.data,
                                                     elements, dtype));
  };
}

Task bindStart(RankState &state, const plan::AllReduceStart &entry) {
  std::vector<Segment> segments;
  for (const plan::Tensor &value : entry.values()) {
    Tensor tensor = state.resolve(value, "value");
    cpu::requireContiguous(tensor, "value");
    if (tensor.dtype != plan::FLOAT32 && tensor.dtype != plan::FLOAT64 &&
        tensor.dtype != plan::INT64)
      fail("expects values of float32, float64 or int64, got ",
           tensor.describe());
    segments.push_back({tensor.data, tensor.elements(), tensor.dtype});
  }
  uint32_t id = entry.id();
  return [=, &state] {
    keepTicket(state, id, state.communicator.startAllReduce(segments));
  };
}

/// The unit that an all-gather of this id is for, -1 for another collective.
/// Ids are unique within a program.
int64_t gatheredUnit(const plan::Program &program, uint32_t id) {
  for (const plan::Entry &entry : program.entries()) {
    if (entry.has_all_gather_start() && entry.all_gather_start().id() == id)
      return entry.all_gather_start().unit();
    if ((entry.has_reduce_scatter_start() &&
         entry.reduce_scatter_start().id() == id) ||
        (entry.has_all_reduce_start() && entry.all_reduce_start().id() == id))
      return -1;
  }
  fail("nothing starts collective ", id);
}

Task bindWait(RankState &state, const plan::Program &program, uint32_t id) {
  int64_t unit = gatheredUnit(program, id);
  return [=, &state] {
    auto found = state.tickets.find(id);
    if (found == state.tickets.end())
      fail("collective ", id, " is waited for before its start");
    Communicator::Ticket ticket = found->second;
    state.tickets.erase(found);
    if (unit < 0) {
      state.communicator.finish(ticket, state.pool);
      return;
    }
    // Peers may go on reading this rank's parameters; only the optimizer has to
    // wait for them.
    state.communicator.wait(ticket, state.pool);
    state.openGathers[unit].push_back(ticket);
  };
}

Task bindReport(RankState &state, const plan::Report &entry) {
  Tensor value = state.resolve(entry.value(), "value");
  cpu::requireAnyFloat(value, "value");
  cpu::requireScalar(value, "value");
  std::string name = entry.name();
  return [=, &state] {
    double number;
    convertElements(value.data, value.dtype, &number, plan::FLOAT64, 1);
    state.reported[name] = number;
  };
}

} // namespace

Task bindEntry(RankState &state, const plan::Program &program,
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
  case plan::Entry::kSquaredNorm:
    return cpu::bind(state, entry.squared_norm());
  case plan::Entry::kOptimizerStep:
    return cpu::bind(state, entry.optimizer_step());
  case plan::Entry::kAllGatherStart:
    return bindStart(state, entry.all_gather_start());
  case plan::Entry::kReduceScatterStart:
    return bindStart(state, entry.reduce_scatter_start());
  case plan::Entry::kAllReduceStart:
    return bindStart(state, entry.all_reduce_start());
  case plan::Entry::kWait:
    return bindWait(state, program, entry.wait().id());
  case plan::Entry::kReport:
    return bindReport(state, entry.report());
  case plan::Entry::KIND_NOT_SET:
    break;
  }
  fail("a kind of entry that this runtime does not know");
}

} // namespace shardc::runtime
