// The unsharded step, and its bits beside those of all ranks.
#include "runtime/train/StepCheck.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/metrics/Process.h"
#include "runtime/train/Draws.h"
#include "runtime/train/RunningWeights.h"
#include "runtime/weights/RankValues.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace shardc::runtime {
namespace {

/// Values of whole parameters in the host's memory; others are `rest`'s.
class HeldValues : public ParameterSource {
public:
  explicit HeldValues(const ParameterSource &rest) : rest(rest) {}
  std::byte *hold(int parameter, int64_t elements, plan::DType dtype) {
    Held &values = held[parameter];
    values = {dtype, std::vector<std::byte>(elements * elementSize(dtype))};
    return values.bytes.data();
  }
  void read(int parameter, int64_t begin, int64_t end, plan::DType as,
            std::byte *destination) const override {
    auto found = held.find(parameter);
    if (found == held.end())
      return rest.read(parameter, begin, end, as, destination);
    const Held &values = found->second;
    convertElements(values.bytes.data() + begin * elementSize(values.dtype),
                    values.dtype, destination, as, end - begin);
  }
  bool has(int parameter) const override {
    return held.contains(parameter) || rest.has(parameter);
  }

private:
  struct Held {
    plan::DType dtype;
    std::vector<std::byte> bytes;
  };
  const ParameterSource &rest;
  std::map<int, Held> held;
};

/// With all digits that tell neighbours apart.
std::string exactText(double number) { return format("%.17g", number); }

} // namespace

StepCheck::StepCheck(Run &run, Rank &rank, bool leads)
    : run(run), rank(rank), plan(run.plan), unsharded(run.unsharded->plan),
      every(*run.options.check) {
  if (!leads)
    return;
  communicator = run.unsharded->world->connect(0);
  RankOptions options;
  options.accumulates = plan.mesh().ranks() * run.settings.microBatches > 1;
  options.parameterNumbers = run.settings.groups.numbers;
  try {
    whole = Rank::create(unsharded, run.unsharded->makeDevice, *communicator,
                         options);
  } catch (const Error &error) {
    fail("--check: the unsharded step beside rank 0: ", error.what());
  }
  loader = std::make_unique<BatchLoader>(unsharded, *whole);
}

std::vector<StepCheck::Kind> StepCheck::kinds() const {
  std::vector<Kind> all = {{Values::Parameters}};
  for (int i = 0; i < plan.optimizer().states_size(); ++i)
    all.push_back({Values::States, i});
  return all;
}

bool StepCheck::has(const Kind &kind, int parameter) const {
  const plan::Parameter &of = plan.parameters(parameter);
  return of.trainable() &&
         (kind.values == Values::Parameters ||
          !(isRunning(of) || stateNameOf(plan, of, kind.state).empty()));
}

std::string StepCheck::nameOf(const Kind &kind, int parameter) const {
  const plan::Parameter &of = plan.parameters(parameter);
  return kind.values == Values::Parameters
             ? concat("parameter ", of.name())
             : concat("state ", stateNameOf(plan, of, kind.state), " of ",
                      of.name());
}

const plan::Unit &StepCheck::unitOf(int parameter) const {
  return unsharded.units(int(unsharded.parameters(parameter).unit()));
}

Slice StepCheck::sliceOf(const Kind &kind, int parameter) const {
  return kind.values == Values::Parameters
             ? whole->masterSlice(unitOf(parameter))
             : whole->stateSlice(unitOf(parameter), uint32_t(parameter),
                                 kind.state);
}

void StepCheck::take() {
  for (const Kind &kind : kinds()) {
    GatheredParameters gathered(plan, rank, kind.values, &run.initialValues,
                                kind.state);
    if (!whole) {
      gathered.serve();
      continue;
    }
    HeldValues held(run.initialValues);
    for (int p = 0; p < plan.parameters_size(); ++p)
      if (has(kind, p)) {
        int64_t elements = elementCount(plan.parameters(p));
        plan::DType dtype = unitOf(p).master_dtype();
        gathered.read(p, 0, elements, dtype, held.hold(p, elements, dtype));
      }
    gathered.finish();
    if (kind.values == Values::Parameters) {
      readInitialValues(unsharded, *whole, held);
      continue;
    }
    for (int p = 0; p < plan.parameters_size(); ++p)
      if (has(kind, p))
        readSliceValues(unsharded, unitOf(p), *whole, sliceOf(kind, p), held);
  }
}

double StepCheck::lossScale(const Batch &batch, double labelWeight,
                            const StepOutcome &outcome) const {
  int64_t microBatches = run.settings.microBatches * plan.mesh().ranks();
  return outcome.lossScale *
         (run.settings.lossNorm == LossNorm::Global
              ? lossNormalization(unsharded, labelWeight, microBatches)
              : lossNormalizationOfRank(unsharded, batch.labelWeight,
                                        microBatches));
}

void StepCheck::runAgain(const PastStep &past, const StepOutcome &outcome,
                         double labelWeight) {
  const int64_t ranks = plan.mesh().ranks();
  const int64_t microBatches = run.settings.microBatches * ranks;
  SampleOrder order(run.settings.samples, run.settings.globalBatch,
                    run.options.order);
  StepNumbers numbers = past.numbers;
  numbers.microBatches = microBatches;
  for (int64_t i = 0; i < microBatches; ++i) {
    Batch batch;
    for (int64_t j = 0; j < run.settings.batch; ++j)
      batch.samples.push_back(
          order.sampleAt(past.begin, i * run.settings.batch + j));
    readBatch(unsharded, run.data, batch);
    loader->load(batch, lossScale(batch, labelWeight, outcome));
    loadDraws(unsharded, run.settings, 0, past.number, i, *loader);
    // Of each rank's statistics the sharded step takes an equal part.
    if (unsharded.has_running())
      loader->loadRunning(runningWeights(
          unsharded.running(), run.settings.microBatches, i / ranks, ranks));
    numbers.microBatch = i;
    whole->beginTrain(numbers);
    // Whoever watches sees that it goes on.
    rank.communicator().note().tick();
  }
  whole->awaitTrain();
}

void StepCheck::differ(const std::string &what) const {
  fail("--check: step ", step,
       " (counting from 0) has other bits than the unsharded step: ", what,
       "; ", exportedText(run));
}

void StepCheck::compareFigures(const StepOutcome &outcome) const {
  auto compare = [&](const char *name, double sharded, double alone) {
    if (std::bit_cast<uint64_t>(sharded) != std::bit_cast<uint64_t>(alone))
      differ(concat("the ", name, " is ", exactText(sharded), " instead of ",
                    exactText(alone)));
  };
  compare("loss", outcome.loss,
          whole->metric("loss").value_or(NAN) / outcome.lossScale);
  compare("gradient norm", outcome.gradientNorm,
          whole->gradientNorm().value_or(NAN));
  if (outcome.skipped != whole->skipped())
    differ(outcome.skipped ? "it was skipped" : "it was not skipped");
}

void StepCheck::compareValues(const Kind &kind,
                              const GatheredParameters &gathered) {
  std::vector<std::byte> sharded, alone;
  for (int p = 0; p < plan.parameters_size(); ++p) {
    if (!has(kind, p))
      continue;
    plan::DType dtype = unitOf(p).master_dtype();
    auto size = static_cast<int64_t>(elementSize(dtype));
    const int64_t chunk = chunkBytes / size;
    const int64_t elements = elementCount(plan.parameters(p));
    Slice slice = sliceOf(kind, p);
    int64_t place = unsharded.parameters(p).flat_offset() - slice.begin;
    for (int64_t begin = 0; begin < elements; begin += chunk) {
      int64_t count = std::min(chunk, elements - begin);
      sharded.resize(count * size);
      alone.resize(count * size);
      gathered.read(p, begin, begin + count, dtype, sharded.data());
      whole->read(slice, place + begin, count, alone.data());
      auto [a, b] = std::ranges::mismatch(sharded, alone);
      if (a == sharded.end())
        continue;
      int64_t at = (a - sharded.begin()) / size;
      double values[2];
      convertElements(sharded.data() + at * size, dtype, &values[0],
                      plan::FLOAT64, 1);
      convertElements(alone.data() + at * size, dtype, &values[1],
                      plan::FLOAT64, 1);
      differ(concat("element ", begin + at, " of ", nameOf(kind, p), " is ",
                    exactText(values[0]), " instead of ",
                    exactText(values[1])));
    }
  }
}

void StepCheck::compare(const PastStep &past, const StepOutcome &outcome,
                        double labelWeight) {
  double begin = monotonicSeconds();
  step = past.number;
  if (whole) {
    runAgain(past, outcome, labelWeight);
    compareFigures(outcome);
  }
  for (const Kind &kind : kinds()) {
    GatheredParameters gathered(plan, rank, kind.values, nullptr, kind.state);
    if (!whole) {
      gathered.serve();
      continue;
    }
    compareValues(kind, gathered);
    gathered.finish();
  }
  if (whole)
    run.metrics.terminal().line(
        concat("step ", step + 1, ": the unsharded step has the same bits, ",
               format("%.2f s", monotonicSeconds() - begin)));
}

} // namespace shardc::runtime
