// The loop over steps, as every rank runs it.
#ifndef SHARDC_RUNTIME_TRAIN_RANKLOOP_H
#define SHARDC_RUNTIME_TRAIN_RANKLOOP_H

#include "runtime/data/SampleOrder.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/EvaluationWatch.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/ReadAhead.h"
#include "runtime/train/RunSaver.h"
#include "runtime/train/SampleLog.h"
#include "runtime/train/StepAgain.h"
#include "runtime/train/StepBatches.h"
#include "runtime/train/StepCheck.h"
#include "runtime/train/Summary.h"
#include "runtime/train/Trainer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

class RankLoop {
public:
  RankLoop(Run &run, ReadAhead &ahead, Communicator &communicator);
  /// What stopped the run early: the same on all ranks.
  Stop operator()();

private:
  /// What this rank does alone: it writes what the run leaves, and prints.
  bool leads() const { return rank->rank() == World::leader; }
  /// Brings values and evaluations to the device.
  void begin();
  /// What ends a run whose steps are done, or that has seen enough: `why`, where
  /// that is known. `isDue`: whether an evaluation is anyway.
  void complete(int64_t stepsDone, const std::string &why, bool isDue);
  /// Exports and predictions.
  void writeResults(int64_t stepsDone);
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
  /// `isDue`: by --eval-every, and not since the run ends.
  void evaluate(int64_t stepsDone, bool isDue);
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
  double allLabelWeight = 0; // of the step, on all ranks
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

} // namespace shardc::runtime

#endif
