// manifest.json of a checkpoint: what the run was when it was saved, and the
// hashes of all files. A folder without one is no checkpoint.
#ifndef SHARDC_RUNTIME_CHECKPOINT_MANIFEST_H
#define SHARDC_RUNTIME_CHECKPOINT_MANIFEST_H

#include "runtime/data/Mixture.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A file of a checkpoint, with XXH3-64 of each block of it.
struct CheckpointFile {
  static constexpr uint64_t blockBytes = 16 << 20;

  std::string path; // in the checkpoint's folder
  uint64_t bytes = 0;
  std::vector<uint64_t> blocks;
};

/// The best evaluation of a run, by a metric: eval_loss or accuracy.
struct BestEvaluation {
  std::string metric;
  double value = 0;
  int64_t step = 0; // steps that were done
};

/// Of a learning rate that falls where evaluations get no better.
struct PlateauState {
  double reduced = 1; // the part of the peak that is left
  std::optional<double> best;
  int64_t sinceBest = 0; // evaluations that were not better
  int64_t cooldown = 0;  // evaluations that will not count
};

/// How far a run has come: what a run that goes on begins with.
struct Progress {
  int64_t step = 0;                   // steps that are done
  int64_t updates = 0;                // of them, those that were not skipped
  Cursor cursor;                      // behind them
  int64_t globalBatch = 0;            // of this data; 0: none yet
  std::optional<double> learningRate; // of the last step
  // Of the loss scaler.
  double lossScale = 1;
  int64_t finiteSteps = 0, hysteresisLeft = 0, skippedSteps = 0;
  int64_t skippedAtMinimum = 0;
  // Of evaluations, where something depends on which is the best:
  std::optional<BestEvaluation> best;
  int64_t evaluationsSinceBest = 0;
  std::optional<int64_t> evaluatedStep; // of the last one
  std::optional<PlateauState> plateau;
};

struct Manifest {
  static constexpr int version = 1;
  static constexpr const char *fileName = "manifest.json";

  Progress progress;
  /// What decides the order of samples.
  int64_t samples = 0;
  OrderSettings order;
  std::vector<MixturePart> mixture; // empty: none
  /// Which data it is: data/Fingerprint.h, by the name of the input.
  std::map<std::string, std::string> data;
  /// For people, and for errors: how it was compiled and called.
  std::string mesh, strategy, precision, optimizer, model;
  uint64_t modelHash = 0;
  /// Where the values of parameters that are not trained come from, and hashes
  /// of those that are not in the checkpoint: FrozenHashes.h.
  std::string initialValues;
  std::map<std::string, uint64_t> frozen;
  std::vector<std::string> flags;
  /// Launch::run of the process that wrote it; empty: none.
  std::string launched;
  /// The run of an MLflow server that has the metrics; empty: none.
  std::string mlflowRun;
  std::vector<CheckpointFile> files;

  /// With a hash of itself in its last line.
  std::string text() const;
  /// Throws an Error with the path where it is damaged, or of a version that
  /// this program does not know.
  static Manifest parse(const std::string &text, const std::string &path);
};

} // namespace shardc::runtime

#endif
