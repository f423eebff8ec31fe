// The training loop: batches, steps, evaluations, exports, as every rank of a
// world runs it.
#ifndef SHARDC_RUNTIME_TRAIN_TRAINER_H
#define SHARDC_RUNTIME_TRAIN_TRAINER_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/data/Dataset.h"
#include "runtime/device/Platform.h"
#include "runtime/engine/Executor.h"
#include "runtime/launch/World.h"
#include "runtime/metrics/Metrics.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Trace.h"
#include "runtime/plan.pb.h"
#include "runtime/train/Options.h"
#include "runtime/train/Prediction.h"
#include "runtime/train/RunSettings.h"
#include "runtime/weights/ExportOnnx.h"
#include "runtime/weights/ExportSafetensors.h"
#include "runtime/weights/ParameterSource.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The program of one rank that holds everything: --check.
struct UnshardedProgram {
  const plan::Plan &plan;
  // Of the process that leads:
  std::unique_ptr<World> world; // of one rank
  std::unique_ptr<Platform> platform;
  DeviceFactory makeDevice;
};

/// All that a run needs, checked before its first step. All processes of the
/// world have the same plan, options, settings and data; what the run writes is
/// opened where the world leads alone. Null: not asked for, or another
/// process's.
struct Run {
  World &world;
  const plan::Plan &plan;
  const Options &options;
  RunSettings settings;
  const Dataset &data;
  const Dataset *evalData;
  const ParameterSource &initialValues; // those of `resumed` included
  DeviceFactory makeDevice;
  const StoredCheckpoint *resumed; // null: the run begins anew
  /// What every checkpoint of the run says of it.
  Manifest manifest;
  std::optional<CheckpointFolder> checkpoints = {};
  std::unique_ptr<SafetensorsExport> gradients = {}, parameters = {};
  std::unique_ptr<OnnxExport> onnx = {};
  Metrics metrics = {};
  std::unique_ptr<Trace> trace = {};
  std::unique_ptr<MetricsFile> samples = {}; // --log-samples
  std::vector<std::unique_ptr<PredictionFile>> predictions = {};
  /// Lets the devices look at what each entry makes. Null: they cannot.
  std::shared_ptr<std::atomic<bool>> checksEntries = nullptr;
  /// Given with --check.
  std::optional<UnshardedProgram> unsharded = {};
  /// The id of the MLflow run, once it is known. Null: there is none.
  std::function<std::string()> mlflowRun = nullptr;
};

/// How a run has ended, the same for all processes.
struct Stop {
  int signal = 0;
  bool timeLimit = false;
  /// The step up to which the run is saved; none: it is not.
  std::optional<int64_t> savedStep = {};
  /// Of the last evaluation; without --eval-data, of the last step.
  std::optional<double> loss = {};

  /// Whether something from outside ended it early.
  explicit operator bool() const { return signal || timeLimit; }
};

/// Trains, as the local ranks of the run's world. Throws an Error for a loss
/// that is not finite or a value out of range; then parameters are not
/// exported. Throws one as well for an export that cannot be written, once the
/// others are, and for checkpoints that cannot be. Where the run is stopped
/// early parameters are not exported either.
Stop train(Run &run);

/// The same, under a watchdog, which `atOnce` belongs to.
Stop watched(
    Run &run,
    const std::function<void(const std::string &error, int code)> &atOnce);

/// What has been exported so far, for the end of an error: "nothing was
/// exported", or the files; where the world does not lead, who knows it.
std::string exportedText(const Run &run);

} // namespace shardc::runtime

#endif
