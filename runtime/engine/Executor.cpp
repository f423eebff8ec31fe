// A rank hands out its memory and runs its programs.
#include "runtime/engine/Executor.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/RankState.h"
#include "runtime/engine/SplitSlice.h"
#include "runtime/engine/TrainedParts.h"

namespace shardc::runtime {

struct Rank::State : RankState {
  State(const plan::Plan &plan, std::unique_ptr<Device> device,
        Communicator &communicator, const RankOptions &options)
      : RankState(plan, std::move(device), communicator, options),
        train(*this, plan.train(), "train"), eval(*this, plan.eval(), "eval") {
    train.measured.timed = eval.measured.timed =
        options.profile ||
        (options.profileIfFree && this->device->timesEntriesForFree());
    train.measured.note = eval.measured.note = &communicator.note();
    this->device->bound();
  }

  Program train, eval;
  Program *last = nullptr; // that ran
  StepNumbers numbers;     // of the last training run
};

Rank::Rank(std::unique_ptr<State> state) : state(std::move(state)) {}
Rank::~Rank() = default;

std::unique_ptr<Rank> Rank::create(const plan::Plan &plan,
                                   const DeviceFactory &makeDevice,
                                   Communicator &communicator,
                                   const RankOptions &options) {
  return std::unique_ptr<Rank>(new Rank(std::make_unique<State>(
      plan, makeDevice(communicator), communicator, options)));
}

int Rank::rank() const { return state->communicator.rank(); }
int Rank::ranks() const { return state->communicator.size(); }
Communicator &Rank::communicator() { return state->communicator; }
Device &Rank::device() { return *state->device; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t Slice::bytes() const {
  return elements * static_cast<int64_t>(elementSize(dtype));
}

static std::byte *elementsOf(const Slice &slice, int64_t begin,
                             int64_t elements) {
  if (begin < 0 || elements < 0 || begin + elements > slice.elements)
    fail("elements ", begin, " to ", begin + elements, " of a slice of ",
         slice.elements);
  return slice.data + begin * static_cast<int64_t>(elementSize(slice.dtype));
}
void Rank::write(const Slice &slice, int64_t begin, int64_t elements,
                 const void *values) {
  state->communicator.note().tick();
  if (slice.remainder)
    return writeSplit(*state->device, slice, begin, elements,
                      static_cast<const float *>(values));
  state->device->upload(elementsOf(slice, begin, elements), values,
                        elements * int64_t(elementSize(slice.dtype)));
}
void Rank::read(const Slice &slice, int64_t begin, int64_t elements,
                void *values) {
  state->communicator.note().tick();
  if (slice.remainder)
    return readSplit(*state->device, slice, begin, elements,
                     static_cast<float *>(values));
  state->device->download(values, elementsOf(slice, begin, elements),
                          elements * int64_t(elementSize(slice.dtype)));
}

static Slice sliceOf(const Tensor &tensor, int64_t begin) {
  return {tensor.data, tensor.dtype, begin, tensor.elements()};
}

Slice Rank::tensor(const plan::Tensor &tensor) const {
  Tensor resolved = state->resolve(tensor, "tensor");
  if (!resolved.contiguous())
    fail("expects a contiguous tensor, got ", resolved.describe());
  return sliceOf(resolved, 0);
}
Slice Rank::buffer(uint32_t id) const {
  if (id >= state->buffers.size())
    fail("buffer ", id, " of ", state->buffers.size());
  return {state->buffers[id], plan::UINT8, 0,
          state->plan.buffers(int(id)).bytes()};
}
Slice Rank::parameterSlice(const plan::Unit &unit) const {
  return sliceOf(state->parameterSlice(unit), state->sliceBegin(unit));
}
Slice Rank::masterSlice(const plan::Unit &unit) const {
  if (unit.optimizer_shards() == 0)
    return {};
  Slice slice = sliceOf(state->masterSlice(unit), state->optimizerBegin(unit));
  slice.dtype = unit.master_dtype();
  slice.remainder = state->remainder(unit).data;
  return slice;
}
Slice Rank::stateSlice(const plan::Unit &unit, uint32_t parameter,
                       int index) const {
  if (unit.optimizer_shards() == 0)
    return {};
  for (const TrainedPart &part : trainedParts(*state, unit)) {
    if (part.parameter != parameter || part.isRunning ||
        (part.isMatrix && index > 0))
      continue;
    Tensor values = stateVector(*state, unit, index);
    values.data += (index == 0 ? part.begin : part.laterStates) *
                   int64_t(elementSize(values.dtype));
    values.shape = {part.end - part.begin};
    return sliceOf(values, state->optimizerBegin(unit) + part.begin);
  }
  return {};
}
Slice Rank::gradientSlice(uint32_t unit) const {
  const Tensor &gradient = state->train.gradients.at(unit);
  if (!gradient)
    return {};
  return sliceOf(gradient, state->optimizerBegin(state->plan.units(int(unit))));
}
Holders Rank::holders(const plan::Unit &unit) const {
  return state->holders(unit);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void Rank::runTrain(const StepNumbers &numbers) {
  beginTrain(numbers);
  awaitTrain();
}
void Rank::beginTrain(const StepNumbers &numbers) {
  if (numbers.microBatch < 0 || numbers.microBatch >= numbers.microBatches)
    fail("micro-batch ", numbers.microBatch, " of ", numbers.microBatches);
  if (numbers.microBatches > 1 && !state->accumulates)
    fail("a step of ", numbers.microBatches,
         " micro-batches, but the rank has no room to accumulate");
  state->numbers = numbers;
  state->last = &state->train;
  state->communicator.note().tick();
  state->train.begin(numbers);
}
void Rank::awaitTrain() { state->train.await(); }
void Rank::runEval() {
  state->last = &state->eval;
  state->communicator.note().tick();
  state->eval.begin({});
  state->eval.await();
}

void Rank::setBeforeOptimizer(std::function<void()> callback) {
  state->train.beforeOptimizer = std::move(callback);
}

std::optional<double> Rank::metric(std::string_view name) const {
  return state->last ? state->last->metric(name) : std::nullopt;
}

std::optional<double> Rank::gradientNorm() const {
  std::optional<double> powerSum = metric("gradient_norm");
  if (!powerSum)
    return std::nullopt;
  const StepNumbers &numbers = state->numbers;
  return rootOf(*powerSum, numbers.clipNorm) * numbers.gradientFactor;
}
bool Rank::skipped() const { return state->train.skipped(); }

std::vector<int64_t> Rank::allocatedBytes() const {
  return state->allocatedBytes;
}
const Profile &Rank::trainProfile() const {
  return state->train.measured.profile;
}
void Rank::recordEvents(bool record) {
  state->train.measured.recording = record;
  if (record)
    state->train.measured.events.reserve(state->plan.train().entries_size());
}
const std::vector<EntryEvent> &Rank::events() const {
  return state->train.measured.events;
}
const Profile &Rank::evalProfile() const {
  return state->eval.measured.profile;
}

} // namespace shardc::runtime
