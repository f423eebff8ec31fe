// A rank's programs, run entry by entry.
#include "runtime/engine/Executor.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Optimizer.h"
#include "runtime/engine/RankState.h"

#include <chrono>
#include <cstring>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string placeOf(const char *program, const plan::Entry &entry) {
  return concat("plan entry ", entry.name(), " (", program,
                entry.phase().empty() ? "" : ", ", entry.phase(), ")");
}

/// A program whose entries are bound.
class BoundProgram {
public:
  BoundProgram(RankState &state, const plan::Program &program, const char *name)
      : state(state), program(program), name(name),
        firstOptimizerStep(program.entries_size()) {
    Starts starts = startsOf(program);
    for (int i = 0; i < program.entries_size(); ++i) {
      const plan::Entry &entry = program.entries(i);
      if (entry.has_optimizer_step() &&
          firstOptimizerStep == program.entries_size())
        firstOptimizerStep = i;
      at(i, [&] { tasks.push_back(bindEntry(state, starts, entry)); });
      onlyAtEnd.push_back(runsOnlyAtEnd(entry));
    }
    profile.entrySeconds.resize(tasks.size());
    profile.entryRuns.resize(tasks.size());
  }

  void run(bool timed) {
    state.reported.clear();
    bool all = state.endsStep();
    Clock::time_point begin = Clock::now();
    double gemmBegin = cpu::gemmSeconds();
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
      if (onlyAtEnd[i] && !all)
        continue;
      ++profile.entryRuns[i];
      if (i == firstOptimizerStep) {
        if (state.beforeOptimizer)
          state.beforeOptimizer();
        state.awaitReaders();
      }
      if (!timed && !recording) {
        at(i, tasks[i]);
        continue;
      }
      Clock::time_point entryBegin = Clock::now();
      at(i, tasks[i]);
      Clock::time_point entryEnd = Clock::now();
      profile.entrySeconds[i] += seconds(entryEnd - entryBegin);
      if (recording)
        events.push_back({i, seconds(entryBegin.time_since_epoch()),
                          seconds(entryEnd.time_since_epoch())});
    }
    state.finishAllGathers();
    if (!timed)
      return;
    ++profile.runs;
    profile.seconds += seconds(Clock::now() - begin);
    profile.gemmSeconds += cpu::gemmSeconds() - gemmBegin;
  }

  Profile profile;
  bool recording = false;
  std::vector<EntryEvent> events;

private:
  /// Names the entry in what its task throws.
  template <typename Function> void at(int index, const Function &function) {
    try {
      function();
    } catch (const Aborted &) {
      throw;
    } catch (const Error &error) {
      throw Error(placeOf(name, program.entries(index)) + ": " + error.what());
    }
  }

  RankState &state;
  const plan::Program &program;
  const char *name;
  std::vector<Task> tasks;
  std::vector<bool> onlyAtEnd; // see runsOnlyAtEnd
  int firstOptimizerStep;
};

} // namespace

struct Rank::State : RankState {
  State(const plan::Plan &plan, const KernelLibrary &library,
        Communicator &communicator, const RankOptions &options)
      : RankState(plan, library, communicator, options),
        profiled(options.profile), train(*this, plan.train(), "train"),
        eval(*this, plan.eval(), "eval") {
    if (profiled)
      cpu::gemmClock(true);
  }

  bool profiled;
  BoundProgram train, eval;
};

Rank::Rank(std::unique_ptr<State> state) : state(std::move(state)) {}
Rank::~Rank() = default;

std::unique_ptr<Rank> Rank::create(const plan::Plan &plan,
                                   const KernelLibrary &library,
                                   Communicator &communicator,
                                   const RankOptions &options) {
  return std::unique_ptr<Rank>(
      new Rank(std::make_unique<State>(plan, library, communicator, options)));
}

int Rank::rank() const { return state->communicator.rank(); }
int Rank::ranks() const { return state->communicator.size(); }
Communicator &Rank::communicator() { return state->communicator; }
ThreadPool &Rank::pool() { return state->pool; }

std::span<std::byte> Rank::buffer(uint32_t id) {
  if (id >= state->buffers.size())
    fail("buffer ", id, " of ", state->buffers.size());
  return {state->buffers[id],
          static_cast<size_t>(state->plan.buffers(id).bytes())};
}
void *Rank::data(const plan::Tensor &tensor) {
  return state->resolve(tensor, "tensor").data;
}
static std::span<std::byte> bytesOf(const Tensor &tensor) {
  return {tensor.data,
          static_cast<size_t>(tensor.elements()) * elementSize(tensor.dtype)};
}

std::span<std::byte> Rank::parameterSlice(const plan::Unit &unit) {
  return bytesOf(state->parameterSlice(unit));
}
int64_t Rank::sliceBegin(const plan::Unit &unit) const {
  return state->sliceBegin(unit);
}
int64_t Rank::sliceElements(const plan::Unit &unit) const {
  return state->sliceElements(unit);
}
std::span<std::byte> Rank::masterSlice(const plan::Unit &unit) {
  if (unit.optimizer_shards() == 0)
    return {};
  return bytesOf(state->masterSlice(unit));
}
int64_t Rank::optimizerBegin(const plan::Unit &unit) const {
  return state->optimizerBegin(unit);
}
int64_t Rank::optimizerElements(const plan::Unit &unit) const {
  return state->optimizerElements(unit);
}

bool Rank::isFirstHolder(const plan::Unit &unit) const {
  return state->isFirstHolder(unit);
}

void Rank::runTrain(const StepNumbers &numbers) {
  if (numbers.microBatch < 0 || numbers.microBatch >= numbers.microBatches)
    fail("micro-batch ", numbers.microBatch, " of ", numbers.microBatches);
  if (numbers.microBatches > 1 && !state->accumulates)
    fail("a step of ", numbers.microBatches,
         " micro-batches, but the rank has no room to accumulate");
  state->numbers = numbers;
  state->skipped = false;
  state->train.run(state->profiled);
}
void Rank::runEval() {
  state->numbers = {};
  state->eval.run(state->profiled);
}

void Rank::setBeforeOptimizer(std::function<void()> callback) {
  state->beforeOptimizer = std::move(callback);
}
std::span<const std::byte> Rank::gradientSlice(uint32_t unit) {
  const Tensor &gradient = state->gradients.at(unit);
  return gradient ? bytesOf(gradient) : std::span<std::byte>();
}

std::optional<double> Rank::reported(std::string_view name) const {
  auto found = state->reported.find(name);
  if (found == state->reported.end())
    return std::nullopt;
  return found->second;
}

std::optional<double> Rank::gradientNorm() const {
  std::optional<double> powerSum = reported("gradient_norm");
  if (!powerSum)
    return std::nullopt;
  const StepNumbers &numbers = state->numbers;
  return cpu::rootOf(*powerSum, numbers.clipNorm) * numbers.gradientFactor;
}
bool Rank::skipped() const { return state->skipped; }

std::vector<int64_t> Rank::allocatedBytes() const {
  return state->allocatedBytes;
}
const Profile &Rank::trainProfile() const { return state->train.profile; }
void Rank::recordEvents(bool record) {
  state->train.recording = record;
  if (record)
    state->train.events.reserve(state->plan.train().entries_size());
}
const std::vector<EntryEvent> &Rank::events() const {
  return state->train.events;
}
const Profile &Rank::evalProfile() const { return state->eval.profile; }

} // namespace shardc::runtime
