// Pools, units and the buffers that outlive a step, and how long those of a
// program live.
#include "tools/shardc-check/Matrices.h"

#include <algorithm>
#include <numeric>

namespace shardc::check {
namespace {

struct Life {
  uint32_t buffer;
  int first, last;
};

std::string quoted(const plan::Buffer &buffer) {
  return "buffer " + buffer.name();
}

/// From the first entry that touches a buffer to the last one, or the wait of a
/// collective that does.
std::vector<Life> livesOf(const plan::Plan &plan, const plan::Program &program,
                          Findings &findings) {
  std::map<uint32_t, int> waits;
  for (int i = 0; i < program.entries_size(); ++i)
    if (program.entries(i).has_wait())
      waits[program.entries(i).wait().token()] = i;
  std::map<uint32_t, Life> lives;
  for (int i = 0; i < program.entries_size(); ++i) {
    const plan::Entry &entry = program.entries(i);
    int last = i;
    if (auto token = startedToken(entry); token && waits.contains(*token))
      last = std::max(last, waits[*token]);
    auto touch = [&](uint32_t buffer) {
      auto [life, isNew] = lives.try_emplace(buffer, Life{buffer, i, last});
      life->second.last = std::max(life->second.last, last);
    };
    for (const Access &access : accessesOf(entry, findings))
      touch(access.tensor->buffer());
    if (entry.has_all_gather_start()) {
      uint32_t gathered = entry.all_gather_start().gathered();
      touch(gathered);
      if (entry.first()) // it is there in every micro-batch
        lives[gathered] = {gathered, 0, program.entries_size() - 1};
    }
    if (entry.has_keep())
      touch(entry.keep().gathered());
  }
  std::vector<Life> all;
  for (const auto &[buffer, life] : lives)
    all.push_back(life);
  return all;
}

/// No two that live at once have a byte in common. Returns the most bytes of
/// each pool that live at once.
std::vector<int64_t> checkLives(const plan::Plan &plan,
                                const std::vector<Life> &lives,
                                const plan::Program &program,
                                Findings &findings) {
  struct Event {
    int time;
    bool begins;
    uint32_t buffer;
  };
  std::vector<Event> events;
  for (const Life &life : lives)
    if (plan.buffers(int(life.buffer)).bytes()) {
      events.push_back({life.first, true, life.buffer});
      events.push_back({life.last + 1, false, life.buffer});
    }
  std::ranges::sort(events, [](const Event &a, const Event &b) {
    return std::tuple(a.time, a.begins, a.buffer) <
           std::tuple(b.time, b.begins, b.buffer);
  });
  std::vector<std::map<int64_t, uint32_t>> live(plan.pools_size());
  std::vector<int64_t> alive(plan.pools_size()), most(plan.pools_size());
  for (const Event &event : events) {
    const plan::Buffer &own = plan.buffers(int(event.buffer));
    std::map<int64_t, uint32_t> &pool = live[own.pool()];
    // The planner's places are multiples of 64 bytes.
    int64_t bytes = (own.bytes() + 63) / 64 * 64;
    if (!event.begins) {
      if (auto found = pool.find(own.offset());
          found != pool.end() && found->second == event.buffer)
        pool.erase(found);
      alive[own.pool()] -= bytes;
      continue;
    }
    alive[own.pool()] += bytes;
    most[own.pool()] = std::max(most[own.pool()], alive[own.pool()]);
    auto next = pool.lower_bound(own.offset());
    auto clash = [&](uint32_t other) {
      const plan::Buffer &its = plan.buffers(int(other));
      if (its.offset() < own.offset() + own.bytes() &&
          own.offset() < its.offset() + its.bytes())
        findings.add(program.entries(event.time).name(), quoted(own),
                     " shares bytes with ", quoted(its),
                     ", which lives at the same time");
    };
    if (next != pool.end())
      clash(next->second);
    if (next != pool.begin())
      clash(std::prev(next)->second);
    pool[own.offset()] = event.buffer;
  }
  return most;
}

void checkPools(const plan::Plan &plan, const std::vector<bool> &outlives,
                Findings &findings) {
  const int64_t alignment = plan.target().has_cuda() ? 256 : 64;
  std::vector<int64_t> ends(plan.pools_size());
  std::vector<uint32_t> staying;
  for (int b = 0; b < plan.buffers_size(); ++b) {
    const plan::Buffer &buffer = plan.buffers(b);
    ends[buffer.pool()] =
        std::max(ends[buffer.pool()], buffer.offset() + buffer.bytes());
    if (buffer.offset() % alignment)
      findings.add(quoted(buffer), "begins at byte ", buffer.offset(),
                   " of its pool, no multiple of ", alignment);
    if (buffer.bytes() && (outlives[b] || isAccumulated(plan, b)))
      staying.push_back(b);
  }
  for (int p = 0; p < plan.pools_size(); ++p)
    if (plan.pools(p).bytes() < ends[p] ||
        plan.pools(p).bytes() >
            (ends[p] + alignment - 1) / alignment * alignment)
      findings.add("pool " + plan.pools(p).name(), "has ",
                   plan.pools(p).bytes(), " bytes, its buffers end at ",
                   ends[p]);
  std::ranges::sort(staying, {}, [&](uint32_t b) {
    return std::pair(plan.buffers(int(b)).pool(),
                     plan.buffers(int(b)).offset());
  });
  for (size_t i = 1; i < staying.size(); ++i) {
    const plan::Buffer &a = plan.buffers(int(staying[i - 1]));
    const plan::Buffer &b = plan.buffers(int(staying[i]));
    if (a.pool() == b.pool() && a.offset() + a.bytes() > b.offset())
      findings.add(quoted(b), "shares bytes with ", quoted(a),
                   ", and both outlive the step");
  }
}

/// States behind the first have no room for whole matrices, which have one
/// alone: the most elements of other parameters that a rank's slice has.
int64_t laterStateElements(const plan::Plan &plan, const plan::Unit &unit) {
  int64_t slice = unit.elements() / unit.optimizer_shards();
  if (!takesMatrices(plan) || slice == 0)
    return slice;
  std::map<int64_t, int64_t> rest; // by slice
  for (uint32_t p : unit.parameters()) {
    const plan::Parameter &own = plan.parameters(int(p));
    int64_t end =
        std::min(own.flat_offset() + product(own.shape()), unit.elements());
    for (int64_t at = std::max<int64_t>(own.flat_offset(), 0); at < end;) {
      int64_t next = std::min(end, (at / slice + 1) * slice);
      rest[at / slice] += isWholeMatrix(plan, own) ? 0 : next - at;
      at = next;
    }
  }
  int64_t most = 0;
  for (const auto &[number, elements] : rest)
    most = std::max(most, elements);
  return most;
}

void checkUnit(const plan::Plan &plan, int u, const std::vector<bool> &outlives,
               Findings &findings) {
  const plan::Unit &unit = plan.units(u);
  const std::string where = "unit " + unit.name();
  auto need = [&](bool holds, const auto &...what) {
    if (!holds)
      findings.add(where, what...);
  };
  std::vector<std::pair<int64_t, int64_t>> parts;
  std::vector<const plan::Parameter *> parameters;
  int64_t filled = 0;
  for (uint32_t p : unit.parameters()) {
    const plan::Parameter &parameter = plan.parameters(int(p));
    need(int(parameter.unit()) == u, "has parameter ", parameter.name(),
         ", which names another unit");
    need(parameter.dtype() == unit.dtype(), "has parameter ", parameter.name(),
         " of another type");
    need(parameter.trainable() == (unit.optimizer_shards() > 0),
         parameter.name(), parameter.trainable() ? " is" : " is not",
         " trained, as not all of its unit");
    int64_t elements = product(parameter.shape());
    parts.push_back({parameter.flat_offset(), elements});
    parameters.push_back(&parameter);
    filled += elements;
  }
  std::ranges::sort(parts);
  int64_t end = 0;
  for (auto [begin, elements] : parts) {
    need(begin >= end, "has parameters that overlap at element ", begin);
    end = begin + elements;
  }
  need(end <= unit.elements(), "has ", unit.elements(),
       " elements, its parameters end at ", end);
  need(unit.padding() == unit.elements() - filled || unit.shards() == 1, "has ",
       unit.elements() - filled, " elements of padding, and says ",
       unit.padding());
  for (int64_t shards : {unit.shards(), unit.optimizer_shards()}) {
    if (shards < 2)
      continue;
    need(unit.elements() % shards == 0, "has ", unit.elements(),
         " elements, which are no ", shards, " equal slices");
    int64_t slice = unit.elements() / shards;
    for (const plan::Parameter *parameter : parameters) {
      int64_t row = 1, begin = parameter->flat_offset();
      for (int d = 1; d < parameter->shape_size(); ++d)
        row *= parameter->shape(d);
      int64_t last = begin + product(parameter->shape());
      // All boundaries in it are between rows where two neighbours are.
      int64_t cut = slice ? (begin / slice + 1) * slice : last;
      if (cut < last)
        need((cut - begin) % row == 0 &&
                 (cut + slice >= last || slice % row == 0),
             "is cut within a row of ", parameter->name());
    }
  }
  need(unit.shards() == 1 || unit.shards() == plan.mesh().shards(), "is in ",
       unit.shards(), " slices, the mesh has ", plan.mesh().shards());
  auto holds = [&](uint32_t buffer, int64_t elements, plan::DType type) {
    need(plan.buffers(int(buffer)).bytes() >= elements * bytesOf(type),
         quoted(plan.buffers(int(buffer))), " has fewer than ", elements,
         " elements");
    need(outlives[buffer], quoted(plan.buffers(int(buffer))),
         " does not outlive a step");
  };
  holds(unit.parameter_buffer(), unit.elements() / unit.shards(), unit.dtype());
  if (!unit.optimizer_shards())
    return need(unit.state_buffers().empty(), "has state, and is not trained");
  need(unit.optimizer_shards() == plan.mesh().optimizer_shards() ||
           unit.optimizer_shards() == 1,
       "has ", unit.optimizer_shards(), " optimizer slices, the mesh ",
       plan.mesh().optimizer_shards());
  need(unit.optimizer_shards() % unit.shards() == 0,
       "has optimizer slices that are no parts of its own");
  need(unit.state_buffers_size() == plan.optimizer().states_size(), "has ",
       unit.state_buffers_size(), " states, the optimizer ",
       plan.optimizer().states_size());
  int64_t own = unit.elements() / unit.optimizer_shards();
  for (int i = 0; i < unit.state_buffers_size(); ++i)
    holds(unit.state_buffers(i), i ? laterStateElements(plan, unit) : own,
          unit.master_dtype());
  if (unit.has_remainder_buffer())
    holds(unit.remainder_buffer(), own, plan::BFLOAT16);
  else if (unit.master_dtype() != unit.dtype())
    holds(unit.master_buffer(), own, unit.master_dtype());
}

} // namespace

void checkFrame(const plan::Plan &plan, Findings &findings) {
  const std::vector<bool> outlives = outlivingBuffers(plan);
  checkPools(plan, outlives, findings);
  std::vector<int> units(plan.parameters_size());
  std::map<uint32_t, std::string> owners;
  auto own = [&](uint32_t buffer, const std::string &owner) {
    auto [found, isNew] = owners.try_emplace(buffer, owner);
    if (!isNew)
      findings.add(owner, "has ", quoted(plan.buffers(int(buffer))),
                   ", as has ", found->second);
  };
  for (int u = 0; u < plan.units_size(); ++u) {
    const plan::Unit &unit = plan.units(u);
    checkUnit(plan, u, outlives, findings);
    own(unit.parameter_buffer(), "unit " + unit.name());
    for (uint32_t state : unit.state_buffers())
      own(state, "unit " + unit.name());
    if (unit.optimizer_shards() && unit.has_remainder_buffer())
      own(unit.remainder_buffer(), "unit " + unit.name());
    else if (unit.optimizer_shards() && unit.master_dtype() != unit.dtype())
      own(unit.master_buffer(), "unit " + unit.name());
    for (uint32_t parameter : unit.parameters())
      ++units[parameter];
  }
  for (int p = 0; p < plan.parameters_size(); ++p)
    if (units[p] != 1)
      findings.add("parameter " + plan.parameters(p).name(), "is in ", units[p],
                   " units");
  for (const plan::Input &input : plan.inputs())
    own(input.tensor().buffer(), "input " + input.name());
  for (const plan::Constant &constant : plan.constants()) {
    own(constant.buffer(), "a constant");
    if (!constant.splat() && int64_t(constant.data().size()) >
                                 plan.buffers(int(constant.buffer())).bytes())
      findings.add(quoted(plan.buffers(int(constant.buffer()))),
                   "is smaller than the constant in it");
  }
  if (plan.has_loss() && plan.train().entries_size())
    own(plan.loss().scale_buffer(), "the loss");
  if (plan.has_draws())
    own(plan.draws().buffer(), "the draws");
  if (plan.has_running())
    own(plan.running().buffer(), "the weights of running statistics");

  // What no placement can do without, and the planner has said.
  std::vector<int64_t> most(plan.pools_size());
  std::vector<bool> isTouched(plan.buffers_size());
  for (const plan::Program *program : {&plan.train(), &plan.eval()}) {
    std::vector<Life> lives;
    for (const Life &life : livesOf(plan, *program, findings)) {
      isTouched[life.buffer] = true;
      if (!outlives[life.buffer] && !isAccumulated(plan, life.buffer))
        lives.push_back(life);
    }
    std::vector<int64_t> own = checkLives(plan, lives, *program, findings);
    for (int p = 0; p < plan.pools_size(); ++p)
      most[p] = std::max(most[p], own[p]);
  }
  for (int p = 0; p < plan.pools_size(); ++p)
    if (most[p] > plan.pools(p).bytes())
      findings.add("pool " + plan.pools(p).name(), "has ",
                   plan.pools(p).bytes(), " bytes, and ", most[p],
                   " live at once");
  for (int b = 0; b < plan.buffers_size(); ++b)
    if (!isTouched[b] && !owners.contains(b) && plan.buffers(b).bytes())
      findings.add(quoted(plan.buffers(b)), "is touched by no entry");
}

} // namespace shardc::check
