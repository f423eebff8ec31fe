// Checkpoints of a run: when one is due, and what becomes of one that fails.
#ifndef SHARDC_RUNTIME_TRAIN_RUNSAVER_H
#define SHARDC_RUNTIME_TRAIN_RUNSAVER_H

#include "runtime/checkpoint/Save.h"
#include "runtime/checkpoint/Schedule.h"

#include <functional>
#include <optional>
#include <string>

namespace shardc::runtime {

/// Of one rank. Every rank of the run makes one, and calls it alike.
class RunSaver {
public:
  /// A run ends after so many saves in a row that failed.
  static constexpr int mostFailures = 3;

  struct Saved {
    double seconds = 0;
    uint64_t bytes = 0; // of all ranks
    std::string path;   // empty: it failed
    /// What did not work; for the leader to say.
    std::string warning;
  };

  /// `manifest`: what every checkpoint says of the run. `start`: where the run
  /// begins; where the folder has that, it is saved already.
  RunSaver(CheckpointSaver saver, CheckpointFolder folder, Manifest manifest,
           const CheckpointEvery &every, const Progress &start, bool leads);

  /// Whether steps or epochs say so: the same on all ranks.
  bool isDue(const Progress &now) const;
  /// Whether the time says so; each rank by its own clock.
  bool isDueByClock() const;
  bool hasSaved(int64_t step) const { return savedStep == step; }
  /// The last step that there is a checkpoint of this run of.
  std::optional<int64_t> lastSaved() const { return savedStep; }

  /// Throws an Error where the save fails and no older checkpoint stands, and
  /// at the last failure that a run bears.
  Saved save(const Progress &now);

private:
  CheckpointSaver saver;
  CheckpointFolder folder;
  Manifest manifest;
  CheckpointEvery every;
  bool leads;
  Progress before; // where the run was saved last, or begun
  double clock;
  std::optional<int64_t> savedStep;
  int failures = 0;
};

} // namespace shardc::runtime

#endif
