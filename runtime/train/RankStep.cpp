// One step: what ranks agree on before, its micro-batches, and what is said of
// it.
#include "runtime/train/RankLoop.h"

#include "runtime/base/Signals.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/metrics/Process.h"
#include "runtime/train/Draws.h"
#include "runtime/train/Exports.h"
#include "runtime/train/RunningWeights.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardc::runtime {

RankLoop::Agreement RankLoop::beginStep(int64_t step) {
  note.enter(RankPhase::Step, step);
  cursor = order.begin(cursor);
  bool isDue = saver && (isBest || saver->isDue(progress(step)));
  int64_t signal = stopSignal();
  // Clocks differ: one decides.
  int64_t saves = isDue || (saver && leads() && saver->isDueByClock());
  int64_t saving = saver && !saver->isReady();
  int64_t limit = run.options.timeLimit && leads() &&
                  monotonicSeconds() - begun >= *run.options.timeLimit;
  double weight = batches->weighLabels();
  // All ranks agree on the labels and on whether to go on: a signal may have
  // come to one process alone.
  const Segment segments[] = {{&weight, 1, plan::FLOAT64},
                              {&signal, 1, plan::INT64, Combine::Max},
                              {&saves, 1, plan::INT64, Combine::Max},
                              {&saving, 1, plan::INT64, Combine::Max},
                              {&limit, 1, plan::INT64, Combine::Max}};
  communicator.allReduce(segments);
  allLabelWeight = weight;
  return {{static_cast<int>(signal), limit != 0, {}}, saves != 0, saving == 0};
}

double RankLoop::normalization(int64_t microBatch) const {
  int64_t microBatches = run.settings.microBatches;
  return run.settings.lossNorm == LossNorm::Global
             ? lossNormalization(plan, allLabelWeight, microBatches)
             : lossNormalizationOfRank(plan, batches->labelWeight(microBatch),
                                       microBatches);
}

void RankLoop::step(int64_t step, double begin) {
  StepNumbers numbers = run.settings.numbers;
  numbers.step = updates + 1;
  // As in torch scripts that call scheduler.step() in every iteration, a
  // skipped one included.
  numbers.learningRate = watch.learningRate(step);
  StepOutcome outcome;
  outcome.lossScale = scaler.scale();
  numbers.gradientFactor =
      1 / (double(outcome.lossScale) * run.settings.gradientDivisor);
  numbers.microBatches = run.settings.microBatches;
  bool exports = step == run.settings.start.step && run.options.exportGradients;
  bool isSaving = saver && saver->isActive();
  if (exports || isSaving)
    rank->setBeforeOptimizer([&] {
      InPhase writing(note, RankPhase::Writing);
      if (isSaving)
        saver->release();
      if (exports)
        exportGradients(run, *rank, numbers.gradientFactor);
    });
  for (int64_t i = 0; i < numbers.microBatches; ++i) {
    batches->load(i, normalization(i) * scaler.scale(),
                  sampleLog ? &*sampleLog : nullptr);
    loadDraws(plan, run.settings, rank->rank(), step, i, batches->onDevice());
    loadRunningWeights(plan, numbers.microBatches, i, batches->onDevice());
    numbers.microBatch = i;
    rank->beginTrain(numbers);
  }
  if (step + 1 < run.settings.steps && rank->device().runsBesideHost())
    batches->loadAhead();
  rank->awaitTrain();
  if (exports || isSaving)
    rank->setBeforeOptimizer({});

  outcome.loss = rank->metric("loss").value_or(NAN) / outcome.lossScale;
  outcome.gradientNorm = rank->gradientNorm().value_or(NAN);
  // Loss and norm are those of all ranks: all skip the step, or none.
  outcome.skipped = rank->skipped();
  scaler.update(!outcome.skipped);
  updates += outcome.skipped ? 0 : 1;
  if (sampleLog)
    sampleLog->write(step, cursor, leads() ? run.samples.get() : nullptr,
                     run.metrics.terminal());
  PastStep past{numbers, step, std::exchange(cursor, order.end(cursor)),
                [&](int64_t microBatch) {
                  return normalization(microBatch) * outcome.lossScale;
                }};
  requireFinite(run, *rank, batches->onDevice(), scaler, outcome, past);
  if (!outcome.skipped) {
    trainLoss = outcome.loss;
    if (!run.evalData)
      watch.takeStep(outcome.loss);
  }
  if (leads())
    report(step, outcome, monotonicSeconds() - begin);
  if (stepCheck && stepCheck->isDue(step)) {
    InPhase checking(note, RankPhase::Checking);
    stepCheck->compare(past, outcome, allLabelWeight);
  }
}

void RankLoop::report(int64_t step, const StepOutcome &outcome,
                      double seconds) {
  InPhase writing(note, RankPhase::Writing);
  if (step == run.settings.start.step)
    summary.secondsToFirstStep = secondsSinceProcessStart();
  summary.loss = outcome.loss;
  summary.skippedSteps = scaler.skipped();
  if (scaler.skips())
    summary.lossScale = scaler.scale();
  auto units = double(run.settings.globalBatch * run.settings.unitsPerSample);
  StepFigures figures;
  figures.step = step;
  figures.loss = outcome.loss;
  figures.gradientNorm = outcome.gradientNorm;
  figures.learningRate = watch.learningRate(step);
  figures.seconds = seconds;
  figures.dataSeconds = batches->seconds() - dataSecondsBefore;
  figures.perSecond = units / seconds;
  figures.epoch = order.epochs(cursor);
  figures.samples = order.taken(cursor);
  if (run.settings.unit == "tokens")
    figures.tokens = figures.samples * run.settings.unitsPerSample;
  if (run.options.peakTeraflops) {
    figures.teraflops = flops / seconds * 1e-12;
    figures.utilization = *figures.teraflops / *run.options.peakTeraflops;
  }
  summary.trainSeconds += seconds;
  summary.trainUnits += units;
  if (scaler.skips())
    figures.lossScale = {outcome.lossScale, scaler.scale(), outcome.skipped};
  run.metrics.step(figures);
}

void RankLoop::traceFrom(int64_t step) {
  // Two steps to warm up, where that leaves enough.
  int64_t steps = run.settings.steps - run.settings.start.step;
  int64_t count = std::min(run.options.traceSteps, steps);
  int64_t first = std::min<int64_t>(2, steps - count);
  tracing = step >= first && step < first + count;
  rank->recordEvents(tracing);
}

} // namespace shardc::runtime
