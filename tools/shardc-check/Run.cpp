// Entries one after the other, in the order in which every rank runs them.
#include "tools/shardc-check/Run.h"

#include <algorithm>
#include <xxhash.h>

namespace shardc::check {

Run::Run(const plan::Plan &plan, Ranks &ranks, const RankClass &followed,
         Matrices &matrices, Values &values, Findings &findings)
    : plan(plan), ranks(ranks), followed(followed), matrices(matrices),
      values(values), findings(findings), memory(plan, values, findings) {}

// -- Values ------------------------------------------------------------------

Value Run::operation(const std::string &op, const std::string &attributes,
                     const std::vector<Operand> &operands, int64_t count) {
  return values.whole(
      values.intern({op, attributes, operands, 0, count, {}, values.now, {}}));
}

Value Run::sum(const std::vector<Value> &terms, std::vector<Link> chain,
               int64_t count) {
  if (terms.size() == 1 && chain.empty())
    return terms[0];
  Expr expr{"sum", "", {}, 0, count, std::move(chain), values.now, {}};
  for (const Value &term : terms)
    expr.operands.push_back({term, {}, {}});
  return values.whole(values.intern(std::move(expr)));
}

std::vector<Value> Run::termsOf(const Value &value) const {
  if (value.expr < 0 || values[value.expr].op != "sum" ||
      value != values.whole(value.expr))
    return {value};
  std::vector<Value> terms;
  for (const Operand &operand : values[value.expr].operands)
    terms.push_back(operand.value);
  return terms;
}
std::vector<Link> Run::chainOf(const Value &value) const {
  bool isSum = value.expr >= 0 && values[value.expr].op == "sum" &&
               value == values.whole(value.expr);
  return isSum ? values[value.expr].chain : std::vector<Link>();
}

Value Run::added(const Value &before, const Value &value) {
  std::vector<Value> terms = termsOf(before), more = termsOf(value);
  terms.insert(terms.end(), more.begin(), more.end());
  return sum(terms, chainOf(value), value.view.count());
}

Value Run::gradientOf(const std::string &where, const Value &value,
                      const plan::Parameter &parameter) {
  int64_t begin = parameter.flat_offset(), count = product(parameter.shape());
  const plan::Unit &of = unit(parameter.unit());
  if (value.expr < 0)
    return {};
  // Without a collective, and where parts of the unit were summed apart, the
  // parameter's part is found first.
  Value part = chainOf(value).empty() && value.view.count() == of.elements()
                   ? values.slice(value, begin, count)
                   : value;
  std::vector<Link> chain = chainOf(part);
  View within = row(begin, count, 1);
  if (part != value && part.expr >= 0 && values[part.expr].op == "sum") {
    chain = values[part.expr].chain;
    within = part.view;
    part = values.whole(part.expr);
  } else if (part != value) {
    within = row(0, count, 1);
  }
  std::string wrong = ranks.sumsAll(chain);
  if (wrong.empty())
    wrong = ranks.isOptimizerSlice(chain, of.optimizer_shards());
  if (!wrong.empty())
    findings.add(where, "takes gradients of unit ", of.name(), ": ", wrong);
  std::vector<Value> terms;
  for (const Value &term : termsOf(part)) {
    if (term.expr < 0)
      return {};
    if (term.view.count() < within.offset + within.reach() + 1) {
      findings.add(where, "takes gradients that are not all of unit ",
                   of.name());
      return {};
    }
    terms.push_back(values.look(term, within));
  }
  return sum(terms, {}, count);
}

// -- The frame of a program --------------------------------------------------

void Run::begin() {
  memory.beginProgram(microBatch == 0);
  isLossKnown = false;
  std::string of = microBatches > 1 ? concat("@", microBatch) : "";
  auto fill = [&](uint32_t buffer, View place, int64_t bytes, Value value,
                  const std::string &spoiled = "") {
    memory.write("the run", buffer,
                 {place, bytes, value, "the run", spoiled, false, false});
  };
  for (const plan::Input &input : plan.inputs())
    fill(input.tensor().buffer(), placesOf(input.tensor()),
         bytesOf(input.tensor().dtype()),
         values.leaf("input", input.name() + of,
                     product(input.tensor().shape())));
  if (plan.has_draws())
    fill(plan.draws().buffer(), row(0, 8 * plan.draws().sites_size(), 4), 4,
         values.leaf("draws", of, 8 * plan.draws().sites_size()));
  if (plan.has_running()) {
    const int64_t bytes = bytesOf(plan.running().dtype());
    fill(plan.running().buffer(), row(0, plan.running().shares_size(), bytes),
         bytes, values.leaf("running", of, plan.running().shares_size()));
  }
  if (microBatch > 0)
    return;
  for (const plan::Constant &constant : plan.constants()) {
    int64_t bytes = plan.buffers(int(constant.buffer())).bytes();
    uint64_t hash = XXH3_64bits(constant.data().data(), constant.data().size());
    // Elements of whatever type they are read as.
    fill(constant.buffer(), row(0, bytes, 1), 0,
         values.leaf("constant", concat(hash, constant.splat()), bytes));
  }
  if (int64_t bytes = bytesOf(plan.loss().scale_dtype()))
    fill(plan.loss().scale_buffer(), row(0, 1, bytes), bytes,
         values.leaf("loss scale", "", 1));
  units.assign(plan.units_size(), {});
  fillHost();
  for (int u = 0; u < plan.units_size(); ++u) {
    int64_t bytes = bytesOf(unit(u).dtype());
    if (isOnHost(unit(u).parameter_buffer()))
      continue;
    if (unit(u).shards() > 1)
      fill(unit(u).parameter_buffer(),
           row(0, unit(u).elements() / unit(u).shards(), bytes), bytes, {},
           "which is a slice of unit " + unit(u).name() + ", not gathered");
    else
      for (uint32_t p : unit(u).parameters()) {
        const plan::Parameter &own = plan.parameters(int(p));
        fill(unit(u).parameter_buffer(),
             row(own.flat_offset(), product(own.shape()), bytes), bytes,
             values.leaf("parameter", own.name(), product(own.shape())));
      }
  }
}

void Run::end(bool isTrain) {
  for (const auto &[token, flight] : flights)
    findings.add(flight.starter, "starts collective ", token,
                 ", which nothing waits for");
  flights.clear();
  memory.endProgram();
  if (!isTrain || microBatch + 1 < microBatches)
    return;
  checkHost();
  for (int u = 0; u < plan.units_size(); ++u) {
    if (unit(u).optimizer_shards() && units[u].updated.empty())
      findings.add("unit " + unit(u).name(), "is trained, and no entry "
                                             "updates it");
    else if (units[u].elements * unit(u).optimizer_shards() !=
             (unit(u).optimizer_shards() ? unit(u).elements() : 0))
      findings.add(units[u].updated, "updates unit ", unit(u).name(),
                   " to element ", units[u].elements, " of its slice alone");
    if (units[u].isPartial)
      findings.add(units[u].updated, "updates the rank's own part of unit ",
                   unit(u).name(), ", and nothing gathers the others'");
  }
}

Results Run::run(const plan::Program &program, bool isTrain, int count) {
  microBatches = count;
  results.clear();
  for (microBatch = 0; microBatch < count; ++microBatch) {
    bool isLast = microBatch + 1 == count;
    started.clear();
    begin();
    for (int i = 0; i < program.entries_size(); ++i) {
      const plan::Entry &entry = program.entries(i);
      values.now = i * 2 + (isTrain ? 0 : 1);
      bool atEnd = entry.last() || entry.phase() == "optimizer";
      // A wait goes with its start.
      if (entry.has_wait() && flights.contains(entry.wait().token()))
        atEnd |= flights.at(entry.wait().token()).isLast;
      bool isOwn = entry.ranks().empty() ||
                   std::ranges::binary_search(entry.ranks(), followed.rank);
      bool isDue = (isLast || !atEnd) && (microBatch == 0 || !entry.first());
      if (isOwn && isDue)
        step(entry);
    }
    end(isTrain);
  }
  return results;
}

// -- Order and overlap -------------------------------------------------------

std::vector<Run::Touch> Run::touches(const plan::Entry &entry,
                                     const std::vector<Access> &accesses) {
  std::vector<Touch> all;
  for (const Access &access : accesses)
    all.push_back({access.tensor->buffer(), placesOf(*access.tensor),
                   bytesOf(access.tensor->dtype()), access.writes()});
  auto whole = [&](uint32_t buffer, bool writes) {
    all.push_back(
        {buffer, row(0, plan.buffers(int(buffer)).bytes(), 1), 1, writes});
  };
  if (entry.has_all_gather_start()) {
    const plan::AllGatherStart &start = entry.all_gather_start();
    whole(start.gathered(), true);
    if (!start.has_kept())
      whole(unit(start.unit()).parameter_buffer(), false);
  } else if (entry.has_gather_rows_start()) {
    whole(unit(entry.gather_rows_start().unit()).parameter_buffer(), false);
  } else if (entry.has_keep()) {
    whole(entry.keep().gathered(), false);
  } else if (entry.has_all_gather_updates_start()) {
    whole(unit(entry.all_gather_updates_start().unit()).parameter_buffer(),
          true);
  } else if (entry.has_matrix_direction()) {
    const plan::Unit &of = unit(entry.matrix_direction().unit());
    if (of.state_buffers_size())
      whole(of.state_buffers(0), true);
  } else if (entry.has_optimizer_step()) {
    const plan::Unit &of = unit(entry.optimizer_step().unit());
    if (!isOnHost(of.parameter_buffer()))
      whole(of.parameter_buffer(), true);
    for (uint32_t state : of.state_buffers())
      if (!isOnHost(state)) // else it works on what was brought
        whole(state, true);
  }
  return all;
}

bool Run::mayCoincide(const plan::Entry &entry, const Access &a,
                      const Access &b) {
  if (placesOf(*a.tensor).canonical() != placesOf(*b.tensor).canonical())
    return false;
  auto are = [&](const char *one, const char *other) {
    return (a.field == one && b.field == other) ||
           (a.field == other && b.field == one);
  };
  if (entry.has_embedding_grad())
    return are("base", "table_gradient");
  if (entry.has_gemm())
    return are("residual", "c");
  if (!entry.has_launch() || !are("inputs", "outputs"))
    return false;
  const plan::Launch &launch = entry.launch();
  const plan::Tensor *in = a.field == "inputs" ? a.tensor : b.tensor;
  const plan::Tensor *out = a.field == "inputs" ? b.tensor : a.tensor;
  int input = 0, output = 0;
  while (&launch.inputs(input) != in)
    ++input;
  while (&launch.outputs(output) != out)
    ++output;
  return mayLieInPlace(plan.kernels(int(launch.kernel())), launch, input,
                       output);
}

void Run::checkTouches(const plan::Entry &entry,
                       const std::vector<Access> &accesses,
                       const std::vector<Touch> &all) {
  auto meet = [&](const Touch &a, const Touch &b) {
    if (a.place.count() == 0 || b.place.count() == 0)
      return false;
    if (a.buffer == b.buffer)
      return !areDisjoint(a.place, a.bytes, b.place, b.bytes);
    const plan::Buffer &one = plan.buffers(int(a.buffer));
    const plan::Buffer &other = plan.buffers(int(b.buffer));
    int64_t first = one.offset() + a.place.offset;
    int64_t second = other.offset() + b.place.offset;
    return one.pool() == other.pool() &&
           first < second + b.place.reach() + b.bytes &&
           second < first + a.place.reach() + a.bytes;
  };
  auto name = [&](const Touch &touch) {
    return plan.buffers(int(touch.buffer)).name();
  };
  for (const auto &[token, flight] : flights)
    for (const Touch &touch : all)
      for (const Touch &other : flight.touches)
        if ((touch.writes || other.writes) && meet(touch, other))
          findings.add(entry.name(), touch.writes ? "writes" : "reads",
                       " buffer ", name(touch), " while ", flight.starter,
                       other.writes ? " writes " : " reads ", name(other));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if ((all[i].writes || all[j].writes) && meet(all[i], all[j]) &&
          !(i < accesses.size() && j < accesses.size() &&
            all[i].buffer == all[j].buffer &&
            mayCoincide(entry, accesses[i], accesses[j])))
        findings.add(entry.name(), "writes buffer ",
                     name(all[i].writes ? all[i] : all[j]), " over buffer ",
                     name(all[i].writes ? all[j] : all[i]),
                     ", which it works on as well");
  int64_t alignment = entry.has_launch() && plan.target().has_cuda() ? 16 : 1;
  for (const Access &access : accesses)
    if (access.tensor->offset() %
        std::max(alignment, bytesOf(access.tensor->dtype())))
      findings.add(entry.name(), "has ", access.field, " at byte ",
                   access.tensor->offset(), " of its buffer");
}

void Run::demandUnitName(const plan::Entry &entry, uint32_t u) {
  if (!entry.unit().empty() && entry.unit() != unit(u).name() &&
      entry.name().starts_with(entry.unit() + "/"))
    findings.add(entry.name(), "is of unit ", entry.unit(),
                 ", and works on unit ", unit(u).name());
}

void Run::step(const plan::Entry &entry) {
  std::vector<Access> accesses = accessesOf(entry, findings);
  if (microBatches == 1) // sums over micro-batches are not there
    std::erase_if(accesses, [](const Access &access) {
      return access.role == Role::accumulator;
    });
  if (entry.has_wait())
    return wait(entry);
  std::vector<Touch> all = touches(entry, accesses);
  checkTouches(entry, accesses, all);
  if (auto token = startedToken(entry)) {
    if (!started.insert(*token).second)
      findings.add(entry.name(), "starts collective ", *token,
                   ", which was started before");
    Flight flight{entry.name(), entry.last() || entry.phase() == "optimizer",
                  std::move(all), nullptr};
    for (const Touch &touch : flight.touches)
      if (touch.writes)
        memory.claim(entry.name(), touch.buffer);
    if (entry.has_all_gather_start())
      allGather(entry, flight);
    else if (entry.has_all_gather_updates_start())
      gatherUpdates(entry, flight);
    else if (entry.has_gather_rows_start())
      gatherRows(entry, flight);
    else if (entry.has_transfer_start())
      transfer(entry, flight);
    else if (entry.has_gather_matrices_start())
      gatherMatrices(entry, flight);
    else if (entry.has_scatter_matrices_start())
      scatterMatrices(entry, flight);
    else
      reduce(entry, flight);
    flights.insert_or_assign(*token, std::move(flight));
    return;
  }
  if (entry.has_keep())
    return keep(entry);
  if (entry.has_accumulate())
    return accumulate(entry);
  if (entry.has_gradient_norm())
    return gradientNorm(entry);
  if (entry.has_round_sum())
    return roundSum(entry);
  if (entry.has_matrix_direction())
    return matrixDirection(entry);
  if (entry.has_optimizer_step())
    return optimizerStep(entry);
  compute(entry, accesses);
}

void Run::wait(const plan::Entry &entry) {
  auto flight = flights.find(entry.wait().token());
  if (flight == flights.end())
    return findings.add(
        entry.name(), "waits for collective ", entry.wait().token(), ", which ",
        started.contains(entry.wait().token()) ? "was waited for before"
                                               : "nothing has started");
  if (flight->second.land)
    flight->second.land();
  flights.erase(flight);
}

} // namespace shardc::check
