// Entries of the plan are bound to a device once, and run from there.
#include "runtime/engine/Program.h"

#include "runtime/base/EntryKind.h"
#include "runtime/base/EntryText.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Resolve.h"

#include <algorithm>
#include <chrono>

namespace shardc::runtime {

Program::Program(RankState &state, const plan::Program &program,
                 const char *name)
    : gradients(state.plan.units_size()), state(state), program(program),
      name(name), gathersOf(state.plan.units_size()),
      onDevice(state.device->newProgram()) {
  measured.profile.entrySeconds.resize(program.entries_size());
  measured.profile.entryRuns.resize(program.entries_size());
  for (const plan::Entry &entry : program.entries())
    onlyAtEnd.push_back(runsOnlyAtEnd(entry));
  findCollectives();
  makeSlots();
  for (int i = 0; i < program.entries_size(); ++i) {
    auto inEntry = [&](const Error &error) {
      return placeOf(program.entries(i)) + ": " + error.what();
    };
    try {
      add(i, program.entries(i));
    } catch (const Aborted &) {
      throw;
    } catch (const DeviceError &error) {
      throw DeviceError(inEntry(error));
    } catch (const Error &error) {
      throw Error(inEntry(error));
    }
  }
  // The program ends when no peer reads this rank's memory any more.
  entry::Finish rest;
  for (const std::vector<uint32_t> &ids : gathersOf)
    rest.ids.insert(rest.ids.end(), ids.begin(), ids.end());
  if (!rest.ids.empty())
    push(program.entries_size() - 1, std::move(rest), false);
}

std::string Program::placeOf(const plan::Entry &entry) const {
  return concat("plan entry ", entry.name(), " (", name,
                entry.phase().empty() ? "" : ", ", entry.phase(), ")");
}

void Program::findCollectives() {
  for (const plan::Entry &entry : program.entries()) {
    std::optional<uint32_t> token = collectiveToken(entry);
    if (!token || entry.has_wait())
      continue;
    Collective collective{runsOnlyAtEnd(entry), entry.has_transfer_start()};
    if (entry.has_all_gather_start()) {
      const plan::AllGatherStart &start = entry.all_gather_start();
      if (!start.has_kept() && start.unit() < gathersOf.size() &&
          !state.shared.isShared(start.unit()))
        collective.unit = start.unit();
    } else if (entry.has_all_gather_updates_start()) {
      if (entry.all_gather_updates_start().unit() < gathersOf.size())
        collective.unit = entry.all_gather_updates_start().unit();
    }
    if (collectives.emplace(*token, collective).second && collective.unit >= 0)
      gathersOf[collective.unit].push_back(*token);
  }
  if (!collectives.empty())
    nextId = std::prev(collectives.end())->first + 1;
}

void Program::makeSlots() {
  for (const plan::Entry &entry : program.entries()) {
    hasSteps |= entry.has_optimizer_step();
    if (entry.has_metric())
      metrics.push_back({entry.metric().name(), runsOnlyAtEnd(entry)});
  }
  slots.dtype = plan::FLOAT64;
  slots.shape = {std::ssize(metrics) + 1}; // the last one: skipped
  slots.strides = {1};
  values.resize(slots.elements());
  slots.data = state.device->allocate("metrics", slots.elements() *
                                                     int64_t(sizeof(double)));
}

static Tensor slotAt(const Tensor &slots, int64_t index) {
  Tensor slot = slots;
  slot.data += index * int64_t(sizeof(double));
  slot.shape = {1};
  return slot;
}

void Program::requireOnDevice(const entry::Any &what) const {
  if (std::holds_alternative<entry::StartTransfer>(what))
    return;
  std::visit(
      [&](const auto &own) {
        forOperands(own, [&](const Tensor &tensor, entry::Access,
                             const char *operand) {
          if (state.isOnHost(tensor.data))
            fail(operand, " lies in the pool host, which only transfers reach");
        });
      },
      what);
}

void Program::push(int index, entry::Any what, bool last) {
  requireOnDevice(what);
  const plan::Entry &entry = program.entries(index);
  Turn turn = last ? Turn::Last : entry.first() ? Turn::First : Turn::Each;
  onDevice->add({std::move(what), index, placeOf(entry), turn,
                 nodesNear(program, index)});
}

bool Program::isOwn(const plan::Entry &entry) const {
  return entry.ranks().empty() ||
         std::ranges::binary_search(entry.ranks(),
                                    int64_t(state.communicator.rank()));
}

void Program::add(int index, const plan::Entry &entry) {
  if (!isOwn(entry))
    return;
  switch (entry.kind_case()) {
  case plan::Entry::kAccumulate:
    if (auto accumulate = resolve(state, entry.accumulate()))
      push(index, *accumulate, runsOnlyAtEnd(entry));
    return;
  case plan::Entry::kOptimizerStep:
    return addOptimizerStep(index, entry.optimizer_step());
  case plan::Entry::kAllGatherStart:
    return addCollective(index, entry.all_gather_start());
  case plan::Entry::kReduceScatterStart:
    return addCollective(index, entry.reduce_scatter_start());
  case plan::Entry::kAllReduceStart:
    return addCollective(index, entry.all_reduce_start());
  case plan::Entry::kAllGatherUpdatesStart:
    return addCollective(index, entry.all_gather_updates_start());
  case plan::Entry::kMatrixDirection:
    return addDirection(index, entry.matrix_direction());
  case plan::Entry::kGatherMatricesStart:
    return addCollective(index, entry.gather_matrices_start());
  case plan::Entry::kScatterMatricesStart:
    return addCollective(index, entry.scatter_matrices_start());
  case plan::Entry::kGatherRowsStart:
    return addCollective(index, entry.gather_rows_start());
  case plan::Entry::kReduceRowsStart:
    return addCollective(index, entry.reduce_rows_start());
  case plan::Entry::kTransferStart:
    return addTransfer(index, entry.transfer_start());
  case plan::Entry::kKeep:
    return addKeep(index, entry.keep());
  case plan::Entry::kWait:
    return addWait(index, entry.wait().token());
  case plan::Entry::kOutput:
    // Nothing to do: Rank::tensor says where it lies.
    requireContiguous(state.resolve(entry.output().value(), "value"), "value");
    return;
  case plan::Entry::kMetric:
    return addMetric(index, entry.metric());
  default:
    return addCompute(index, entry);
  }
}

void Program::addCompute(int index, const plan::Entry &entry) {
  const google::protobuf::Message *message = messageOf(entry);
  const google::protobuf::Descriptor *kind =
      message ? message->GetDescriptor() : nullptr;
#define SHARDC_ADD(Kind)                                                       \
  if (kind == plan::Kind::descriptor())                                        \
    return push(index,                                                         \
                resolve(state, static_cast<const plan::Kind &>(*message)),     \
                runsOnlyAtEnd(entry));
  SHARDC_COMPUTE_ENTRIES(SHARDC_ADD)
#undef SHARDC_ADD
  fail("a kind of entry that this runtime does not know");
}

void Program::addMetric(int index, const plan::Metric &entry) {
  Tensor value = state.resolve(entry.value(), "value");
  requireScalar(value, "value");
  if (!isFloat(value.dtype))
    fail("expects value to be a float, got ", value.describe());
  push(index, entry::Metric{value, slotAt(slots, boundMetrics++)},
       onlyAtEnd[index]);
}

Tensor Program::lossSlot() const {
  Tensor loss;
  for (size_t i = 0; i < metrics.size(); ++i)
    if (metrics[i].name == "loss")
      loss = slotAt(slots, int64_t(i));
  return loss;
}

void Program::beginOptimizer(int index, uint32_t unit) {
  if (firstOptimizerStep < 0)
    firstOptimizerStep = onDevice->size();
  awaitReaders(index, unit);
}

void Program::addDirection(int index, const plan::MatrixDirection &entry) {
  entry::MatrixDirection direction = resolve(state, entry);
  direction.loss = lossSlot();
  beginOptimizer(index, entry.unit());
  push(index, std::move(direction), true);
}

void Program::addOptimizerStep(int index, const plan::OptimizerStep &entry) {
  entry::OptimizerStep step = resolve(state, entry);
  // Parts of a unit follow each other, and so do their gradients.
  if (entry.begin() == 0)
    gradients[entry.unit()] = step.gradient;
  else
    gradients[entry.unit()].shape = {entry.begin() + step.gradient.elements()};
  step.loss = lossSlot();
  step.skipped = slotAt(slots, std::ssize(metrics));
  beginOptimizer(index, entry.unit());
  finishGathers(index, entry.unit());
  push(index, std::move(step), true);
}

void Program::begin(const StepNumbers &numbers) {
  Clock::time_point begin = Clock::now();
  ranToEnd = numbers.endsStep();
  if (hasSteps) {
    double no = 0;
    state.device->upload(slotAt(slots, std::ssize(metrics)).data, &no,
                         sizeof no);
  }
  int64_t size = onDevice->size();
  bool stops = beforeOptimizer && ranToEnd && firstOptimizerStep >= 0;
  int64_t middle = stops ? firstOptimizerStep : size;
  onDevice->run(0, middle, numbers, measured);
  if (stops) {
    state.device->settle();
    beforeOptimizer();
    onDevice->run(middle, size, numbers, measured);
  }
  for (int i = 0; i < program.entries_size(); ++i)
    if ((ranToEnd || !onlyAtEnd[i]) && isOwn(program.entries(i)) &&
        (numbers.beginsStep() || !program.entries(i).first()))
      ++measured.profile.entryRuns[i];
  if (measured.timed) {
    ++measured.profile.runs;
    addSeconds(begin);
  }
}

void Program::await() {
  Clock::time_point begin = Clock::now();
  state.device->settle();
  state.device->download(values.data(), slots.data,
                         int64_t(values.size() * sizeof(double)));
  wasSkipped = hasSteps && ranToEnd && values.back() != 0;
  if (measured.timed)
    addSeconds(begin);
}

void Program::addSeconds(Clock::time_point begin) {
  measured.profile.seconds +=
      std::chrono::duration<double>(Clock::now() - begin).count();
}

std::optional<double> Program::metric(std::string_view wanted) const {
  for (size_t i = 0; i < metrics.size(); ++i)
    if (metrics[i].name == wanted && (ranToEnd || !metrics[i].last))
      return values[i];
  return std::nullopt;
}

} // namespace shardc::runtime
