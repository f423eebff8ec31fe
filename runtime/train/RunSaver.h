// Checkpoints of a run: when one is due, and what becomes of one that fails.
#ifndef SHARDC_RUNTIME_TRAIN_RUNSAVER_H
#define SHARDC_RUNTIME_TRAIN_RUNSAVER_H

#include "runtime/checkpoint/Save.h"
#include "runtime/checkpoint/Schedule.h"
#include "runtime/metrics/Process.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace shardc::runtime {

/// Of one rank. Every rank of the run makes one, and calls it alike.
class RunSaver {
public:
  /// A run ends after so many saves in a row that failed.
  static constexpr int mostFailures = 3;

  struct Saved {
    int64_t step = 0;
    double seconds = 0;      // from its start on
    double waited = 0;       // of them, those that the run did nothing else
    double longestWait = 0;  // of those, at once
    double writeSeconds = 0; // until all files were on the disk
    uint64_t bytes = 0;      // of all ranks
    std::string path;        // empty: it failed
    /// What did not work; for the leader to say.
    std::string warning;
  };

  /// `manifest`: what every checkpoint says of the run. `start`: where the run
  /// begins; where the folder has that, it is saved already.
  RunSaver(std::unique_ptr<CheckpointSaver> saver, CheckpointFolder folder,
           Manifest manifest, const CheckpointEvery &every,
           const Progress &start);

  /// Whether steps or epochs say so: the same on all ranks.
  bool isDue(const Progress &now) const;
  /// Whether the time says so; each rank by its own clock.
  bool isDueByClock() const;
  /// Whether there is a checkpoint of that step, or one is on its way.
  bool hasSaved(int64_t step) const {
    return savedStep == step || (isActive() && before.step == step);
  }
  /// The last step that there is a checkpoint of this run of.
  std::optional<int64_t> lastSaved() const { return savedStep; }
  /// A save of the step that the run ends at is no warning where it fails.
  void endAt(int64_t step) { endStep = step; }
  /// Throws an Error where the step that the run ends at could not be saved.
  void requireSaved() const;

  /// What checkpoints from now on say of MLflow: of the one that leads.
  void noteMlflowRun(std::string id) { manifest.mlflowRun = std::move(id); }
  /// Begins to save, while the run goes on.
  void start(const Progress &now);
  bool isActive() const { return saver->isActive(); }
  bool isReady() const { return saver->isReady(); }
  /// Called before values change.
  void release() {
    waits([&] { saver->release(); });
  }
  /// Waits for what goes on of the save, and begins what comes next. Returns
  /// what became of it when that was the last. Throws an Error where the save
  /// fails and no older checkpoint stands, and at the last failure that a run
  /// bears.
  std::optional<Saved> advance();

private:
  /// Does what the run waits for.
  template <typename Body> void waits(Body body) {
    double begin = monotonicSeconds();
    body();
    double wait = monotonicSeconds() - begin;
    waited += wait;
    longestWait = std::max(longestWait, wait);
  }

  std::unique_ptr<CheckpointSaver> saver;
  CheckpointFolder folder;
  Manifest manifest;
  CheckpointEvery every;
  Progress before; // where the run was saved last, or begun
  double clock;
  double waited = 0, longestWait = 0; // of this save
  std::optional<int64_t> savedStep, endStep;
  std::string failureAtEnd;
  int failures = 0;
};

} // namespace shardc::runtime

#endif
