// The training loop, as every rank runs it.
#include "runtime/train/Trainer.h"

#include "runtime/base/Error.h"
#include "runtime/base/Signals.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/SharedFolder.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/metrics/Process.h"
#include "runtime/metrics/StepProfile.h"
#include "runtime/train/Draws.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/EvaluationWatch.h"
#include "runtime/train/Exports.h"
#include "runtime/train/GatherRecords.h"
#include "runtime/train/LoadParameters.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/NamingRank.h"
#include "runtime/train/ReadAhead.h"
#include "runtime/train/RunSaver.h"
#include "runtime/train/RunningWeights.h"
#include "runtime/train/SampleLog.h"
#include "runtime/train/StepAgain.h"
#include "runtime/train/StepBatches.h"
#include "runtime/train/StepCheck.h"
#include "runtime/train/Summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardc::runtime {
namespace {

class RankLoop {
public:
  RankLoop(Run &run, ReadAhead &ahead, Communicator &communicator);
  /// What stopped the run early: the same on all ranks.
  Stop operator()();

private:
  /// What this rank does alone: it writes what the run leaves, and prints.
  bool leads() const { return rank->rank() == World::leader; }
  /// Takes the parameters of the best evaluation, for what the run leaves.
  void loadBest(int64_t stepsDone);
  /// Agrees with all ranks on what comes next, and counts the step's valid
  /// labels.
  struct Agreement {
    Stop stop;
    bool saves = false;
    bool isReady = true; // on all ranks: what goes on of a save
  };
  Agreement beginStep(int64_t step);
  Progress progress(int64_t stepsDone) const;
  void save(int64_t stepsDone);
  /// Takes the save that goes on further, or to its end.
  void advanceSave();
  void finishSave() {
    while (saver->isActive())
      advanceSave();
  }
  double normalization(int64_t microBatch) const;
  /// `begin`: when the step did, its batches included.
  void step(int64_t step, double begin);
  void report(int64_t step, const StepOutcome &outcome, double seconds);
  /// Begins and ends the steps that are traced.
  void traceFrom(int64_t step);
  void evaluate(int64_t stepsDone);
  /// Why the run has seen enough; empty: it goes on.
  const std::string &stopText() const { return watch.stopText(); }
  void finish(const std::vector<RankRecord> &records, int64_t steps,
              bool interrupted);

  Run &run;
  Communicator &communicator;
  RankNote &note;
  const plan::Plan &plan;
  std::unique_ptr<Rank> rank;
  std::optional<StepBatches> batches;
  SampleOrder order;
  Cursor cursor; // where the next step begins
  LossScaler scaler;
  int64_t updates = 0; // steps that were not skipped
  std::optional<RunSaver> saver;
  double begun = monotonicSeconds();
  int64_t allValidLabels = 0; // of the step, on all ranks
  std::optional<Evaluation> evaluation;
  EvaluationWatch watch;
  bool isBest = false; // the last evaluation, which is not saved yet
  std::optional<int64_t> evaluatedLast; // by this run
  std::optional<double> trainLoss, evalLoss;
  std::optional<SampleLog> sampleLog;
  std::optional<StepCheck> stepCheck;
  Summary summary;
  double flops = 0;             // of this rank's step
  double dataSecondsBefore = 0; // of the batches of steps before this one
  Traffic traffic;              // of the process, in steps
  bool tracing = false;
  std::vector<Trace::Span> spans; // of the traced steps
};

RankLoop::RankLoop(Run &run, ReadAhead &ahead, Communicator &communicator)
    : run(run), communicator(communicator), note(communicator.note()),
      plan(run.plan),
      order(run.settings.samples, run.settings.globalBatch, run.options.order),
      scaler(run.settings.lossScaling), watch(run.options, run.settings.start) {
  // Before hours have gone by: not with the first save.
  if (run.checkpoints && run.world.ranksPerProcess() < run.world.ranks())
    checkSharedFolder(communicator, run.checkpoints->where());
  summary.microBatches = run.settings.microBatches;
  summary.checkpointCopyBytes = run.settings.checkpointCopyBytes;
  flops = stepFlops(plan, run.settings.microBatches);
  RankOptions options;
  options.profile = run.options.profile;
  options.profileIfFree = run.options.metrics || run.options.html;
  options.accumulates = run.settings.microBatches > 1;
  options.parameterNumbers = run.settings.groups.numbers;
  rank = Rank::create(plan, run.makeDevice, communicator, options);
  batches.emplace(plan, run.settings, ahead, *rank);
  if (run.options.logSamples)
    sampleLog.emplace(run.settings, communicator);
  if (run.options.check)
    stepCheck.emplace(run, *rank, leads());
  const Progress &start = run.settings.start;
  cursor = start.cursor;
  updates = start.updates;
  if (run.resumed)
    scaler.goOnFrom({static_cast<float>(start.lossScale), start.finiteSteps,
                     start.hysteresisLeft, start.skippedSteps,
                     start.skippedAtMinimum});
  if (run.options.keepBest && watch.bestSoFar() &&
      !std::ranges::binary_search(run.checkpoints->steps(),
                                  watch.bestSoFar()->step))
    watch.forgetBest();
  if (run.checkpoints)
    saver.emplace(
        std::make_unique<CheckpointSaver>(
            plan, *rank, *run.checkpoints, run.resumed,
            SaveOptions{.keep = run.options.checkpointKeep,
                        .keepsBest = run.options.keepBest.has_value(),
                        .goesOn = run.settings.checkpointCopyBytes > 0,
                        .leads = leads()}),
        *run.checkpoints, run.manifest, run.options.checkpointEvery, start);
}

Progress RankLoop::progress(int64_t stepsDone) const {
  Progress now;
  now.step = stepsDone;
  now.updates = updates;
  now.cursor = cursor;
  now.globalBatch = run.settings.globalBatch;
  now.otherSteps = run.settings.start.otherSteps;
  if (stepsDone > 0)
    now.learningRate = run.settings.schedule.learningRate(stepsDone - 1);
  LossScaler::State state = scaler.state();
  now.lossScale = state.scale;
  now.finiteSteps = state.finiteSteps;
  now.hysteresisLeft = state.hysteresisLeft;
  now.skippedSteps = state.skipped;
  now.skippedAtMinimum = state.skippedAtMinimum;
  watch.tell(now);
  return now;
}

void RankLoop::save(int64_t stepsDone) {
  InPhase saving(note, RankPhase::Saving);
  finishSave();
  if (run.mlflowRun)
    saver->noteMlflowRun(run.mlflowRun());
  saver->start(progress(stepsDone));
  isBest = false;
  if (run.options.checkpointSync)
    finishSave();
}

void RankLoop::advanceSave() {
  InPhase saving(note, RankPhase::Saving);
  std::optional<RunSaver::Saved> saved = saver->advance();
  if (!saved || !leads())
    return;
  if (!saved->warning.empty())
    run.metrics.terminal().warning(saved->warning);
  if (!saved->path.empty())
    run.metrics.checkpoint({saved->step, saved->path, int64_t(saved->bytes),
                            saved->seconds, saved->writeSeconds, saved->waited,
                            saved->longestWait});
}

Stop RankLoop::operator()() {
  loadParameters(run, *rank);
  if (run.evalData)
    evaluation.emplace(plan, run.settings, *run.evalData, *rank);
  if (leads())
    run.metrics.begin({run.settings.start.step, run.settings.steps,
                       run.settings.globalBatch, run.settings.unit,
                       run.resumed != nullptr, order.epochs(cursor)});
  communicator.barrier();

  const int64_t steps = run.settings.steps, first = run.settings.start.step;
  int64_t done = first;
  int64_t epochs = order.begin(cursor).epoch;
  Stop stop;
  bool isOutOfTime = false;
  for (; done < steps; ++done) {
    int64_t epochsBefore = std::exchange(epochs, order.begin(cursor).epoch);
    // The run that was saved has evaluated before it was.
    if (run.options.evalEvery.isGiven() &&
        (done == first
             ? !run.resumed
             : run.options.evalEvery.isDue(done, epochs, epochsBefore)))
      evaluate(done);
    if (!stopText().empty())
      break;
    if (run.options.trace)
      traceFrom(done - first);
    double begin = monotonicSeconds();
    Traffic before = run.world.traffic();
    dataSecondsBefore = batches->seconds();
    Agreement next = beginStep(done);
    stop = next.stop;
    // Nothing would be there to go on from: the run ends as it is.
    isOutOfTime = stop.timeLimit && !stop.signal && !saver;
    if (isOutOfTime) {
      stop = {};
      break;
    }
    if (saver && saver->isActive() && next.isReady)
      advanceSave();
    if (saver && (next.saves || stop) && !saver->hasSaved(done)) {
      double saving = monotonicSeconds();
      if (stop)
        saver->endAt(done);
      save(done);
      begin += monotonicSeconds() - saving; // no part of the step
    }
    if (stop)
      break;
    if (stepCheck && stepCheck->isDue(done)) {
      InPhase checking(note, RankPhase::Checking);
      double taking = monotonicSeconds();
      stepCheck->take();
      begin += monotonicSeconds() - taking;
    }
    step(done, begin);
    traffic += run.world.traffic() - before;
    if (tracing)
      spans.push_back({concat("step ", done + 1), begin, monotonicSeconds()});
  }
  if (!stop) {
    if (run.evalData && !run.evalData->lacksLabels() && evaluatedLast != done)
      evaluate(done);
    if (leads() && (isOutOfTime || !stopText().empty()))
      run.metrics.terminal().line(
          concat("stopped after step ", done, " by ",
                 isOutOfTime ? "--time-limit" : stopText()));
    // A run that goes on from its last step may have evaluated that first now.
    if (saver)
      saver->endAt(done);
    if (saver && (isBest || !saver->hasSaved(done)))
      save(done);
  }
  if (saver)
    finishSave();
  note.enter(RankPhase::Writing, done);
  if (!stop) {
    if (run.options.exportBest)
      loadBest(done);
    exportParameters(run, *rank);
    std::vector<std::unique_ptr<PredictionFile>> none;
    if (!run.options.predictions.empty())
      predict(plan, run.options.predictions, *evaluation,
              run.evalData->samples(), *rank, leads() ? run.predictions : none);
  }
  if (saver)
    stop.savedStep = saver->lastSaved();
  stop.loss = run.evalData ? evalLoss : trainLoss;
  std::vector<RankRecord> records = gatherRecords(*rank, traffic);
  if (leads())
    finish(records, done - first, bool(stop));
  if (saver)
    saver->requireSaved();
  return stop;
}

void RankLoop::finish(const std::vector<RankRecord> &records, int64_t steps,
                      bool interrupted) {
  run.metrics.end(
      {interrupted, summary.text(run.settings.unit),
       summary.json(plan, records, steps, batches->seconds(), interrupted)});
  if (interrupted)
    return;
  if (run.samples && !run.samples->lossText().empty())
    run.metrics.terminal().line(run.samples->lossText());
  if (run.trace)
    run.trace->write(plan, records, spans);
  if (run.options.profile)
    run.metrics.terminal().line(
        profileText(plan, records, steps, batches->seconds()));
}

void RankLoop::traceFrom(int64_t step) {
  // Two steps to warm up, where that leaves enough.
  int64_t steps = run.settings.steps - run.settings.start.step;
  int64_t count = std::min(run.options.traceSteps, steps);
  int64_t first = std::min<int64_t>(2, steps - count);
  tracing = step >= first && step < first + count;
  rank->recordEvents(tracing);
}

void RankLoop::loadBest(int64_t stepsDone) {
  const std::optional<BestEvaluation> &best = watch.bestSoFar();
  if (!best)
    return;
  if (best->step != stepsDone)
    loadSaved(run, best->step, *rank);
  if (leads())
    run.metrics.terminal().line(
        concat("what is exported is of step ", best->step, ", whose ",
               best->metric, " is the best: ", numberText(best->value)));
}

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
  int64_t valid = batches->countLabels();
  // All ranks agree on the count and on whether to go on: a signal may have
  // come to one process alone.
  const Segment segments[] = {{&valid, 1, plan::INT64},
                              {&signal, 1, plan::INT64, Combine::Max},
                              {&saves, 1, plan::INT64, Combine::Max},
                              {&saving, 1, plan::INT64, Combine::Max},
                              {&limit, 1, plan::INT64, Combine::Max}};
  communicator.allReduce(segments);
  allValidLabels = valid;
  return {{static_cast<int>(signal), limit != 0, {}}, saves != 0, saving == 0};
}

double RankLoop::normalization(int64_t microBatch) const {
  int64_t microBatches = run.settings.microBatches;
  return run.settings.lossNorm == LossNorm::Global
             ? lossNormalization(plan, allValidLabels, microBatches)
             : lossNormalizationOfRank(plan, batches->validLabels(microBatch),
                                       microBatches);
}

void RankLoop::step(int64_t step, double begin) {
  StepNumbers numbers = run.settings.numbers;
  numbers.step = updates + 1;
  // As in torch scripts that call scheduler.step() in every iteration, a
  // skipped one included.
  numbers.learningRate = run.settings.schedule.learningRate(step);
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
    stepCheck->compare(past, outcome, allValidLabels);
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
  figures.learningRate = run.settings.schedule.learningRate(step);
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

void RankLoop::evaluate(int64_t stepsDone) {
  InPhase evaluating(note, RankPhase::Evaluation);
  batches->forget();
  double begin = monotonicSeconds();
  EvaluationResult result = (*evaluation)();
  if (!std::isfinite(result.loss)) {
    // What was trained is not lost with it.
    if (saver && !saver->hasSaved(stepsDone))
      save(stepsDone);
    if (saver)
      finishSave();
    if (stepsDone == run.settings.steps)
      exportParameters(run, *rank);
    fail("the loss of the evaluation after step ", stepsDone, " is ",
         numberText(result.loss),
         "; look for numbers that are not finite in --eval-data; ",
         saver && saver->lastSaved() == stepsDone ? "the step is saved, " : "",
         exportedText(run));
  }
  evaluatedLast = stepsDone;
  evalLoss = result.loss;
  isBest = watch.take(stepsDone, result);
  if (!leads())
    return;
  summary.evalLoss = result.loss;
  summary.perplexity = result.perplexity;
  summary.accuracy = result.accuracy;
  run.metrics.evaluation({stepsDone, result.loss,
                          Evaluation::countedSamples(plan, *run.evalData),
                          monotonicSeconds() - begin, order.epochs(cursor),
                          result.perplexity, result.accuracy});
}

} // namespace

Stop train(Run &run) {
  Stop stop; // of all ranks alike
  RankRange here = run.world.localRanks();
  ReadAhead ahead(run.plan, run.data, run.settings, run.options.order, here);
  run.world.run([&](Communicator &communicator) {
    namingRank(communicator, [&] {
      RankLoop loop(run, ahead, communicator);
      Stop own = World::abortingFirst(communicator, [&] { return loop(); });
      communicator.note().enter(RankPhase::Ended, 0);
      if (communicator.rank() == here.begin)
        stop = own;
    });
  });
  return stop;
}

} // namespace shardc::runtime
