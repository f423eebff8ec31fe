// From the first parameters to what the run leaves behind.
#include "runtime/train/RankLoop.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/SharedFolder.h"
#include "runtime/metrics/Process.h"
#include "runtime/metrics/StepProfile.h"
#include "runtime/train/EvaluationCommand.h"
#include "runtime/train/Exports.h"
#include "runtime/train/GatherRecords.h"
#include "runtime/train/LoadParameters.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardc::runtime {

RankLoop::RankLoop(Run &run, ReadAhead &ahead, Communicator &communicator)
    : run(run), communicator(communicator), note(communicator.note()),
      plan(run.plan),
      order(run.settings.samples, run.settings.globalBatch, run.options.order),
      scaler(run.settings.lossScaling),
      watch(run.options, run.settings.schedule, run.settings.start) {
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
  if (stepsDone > 0)
    now.learningRate = watch.learningRate(stepsDone - 1);
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

void RankLoop::begin() {
  loadParameters(run, *rank);
  if (run.evalData)
    evaluation.emplace(plan, run.settings, *run.evalData, *rank);
  if (leads())
    run.metrics.begin({run.settings.start.step, run.settings.steps,
                       run.settings.globalBatch, run.settings.unit,
                       run.resumed != nullptr, order.epochs(cursor)});
  communicator.barrier();
}

Stop RankLoop::operator()() {
  begin();
  const int64_t steps = run.settings.steps, first = run.settings.start.step;
  int64_t done = first;
  int64_t epochs = order.begin(cursor).epoch;
  Stop stop;
  bool isOutOfTime = false;
  // The run that was saved has evaluated before it was.
  auto isEvaluationDue = [&] {
    int64_t epochsBefore = std::exchange(epochs, order.begin(cursor).epoch);
    return run.options.evalEvery.isGiven() &&
           (done == first
                ? !run.resumed
                : run.options.evalEvery.isDue(done, epochs, epochsBefore));
  };
  for (; done < steps; ++done) {
    if (isEvaluationDue())
      evaluate(done, /*isDue=*/true);
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
  if (!stop)
    complete(done, isOutOfTime ? "--time-limit" : stopText(),
             done == steps && isEvaluationDue());
  if (saver)
    finishSave();
  note.enter(RankPhase::Writing, done);
  if (!stop)
    writeResults(done);
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

void RankLoop::complete(int64_t stepsDone, const std::string &why, bool isDue) {
  if (run.evalData && !run.evalData->lacksLabels() &&
      evaluatedLast != stepsDone)
    evaluate(stepsDone, isDue);
  // An evaluation may say so now.
  const std::string &stopped = why.empty() ? stopText() : why;
  if (leads() && !stopped.empty())
    run.metrics.terminal().line(
        concat("stopped after step ", stepsDone, " by ", stopped));
  // A run that goes on from its last step may have evaluated that first now.
  if (saver)
    saver->endAt(stepsDone);
  if (saver && (isBest || !saver->hasSaved(stepsDone)))
    save(stepsDone);
}

void RankLoop::writeResults(int64_t stepsDone) {
  if (run.options.exportBest)
    loadBest(stepsDone);
  exportParameters(run, *rank);
  if (run.options.predictions.empty())
    return;
  std::vector<std::unique_ptr<PredictionFile>> none;
  Predicting predicting(plan, run.options.predictions, run.evalData->samples(),
                        *rank, leads() ? run.predictions : none);
  evaluation->visit([&](int64_t first) { predicting.take(first); });
  predicting.finish();
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

void RankLoop::evaluate(int64_t stepsDone, bool isDue) {
  InPhase evaluating(note, RankPhase::Evaluation);
  batches->forget();
  double begin = monotonicSeconds();
  EvaluationResult result =
      run.options.evalCommand
          ? evaluateByCommand(run, *evaluation, *rank, stepsDone)
          : (*evaluation)();
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
  isBest = watch.take(stepsDone, result, isDue);
  if (!leads())
    return;
  summary.evalLoss = result.loss;
  summary.metrics = result.metrics;
  run.metrics.evaluation(
      {stepsDone, result.loss, Evaluation::countedSamples(plan, *run.evalData),
       monotonicSeconds() - begin, order.epochs(cursor), result.metrics});
  if (!watch.reducedText().empty() && stepsDone < run.settings.steps)
    run.metrics.terminal().line(watch.reducedText());
}

} // namespace shardc::runtime
