// The training loop: batches, steps, evaluations, exports. Each rank runs it on
// its own thread.
#ifndef SHARDC_RUNTIME_TRAIN_TRAINER_H
#define SHARDC_RUNTIME_TRAIN_TRAINER_H

#include "runtime/data/Dataset.h"
#include "runtime/engine/Executor.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Trace.h"
#include "runtime/plan.pb.h"
#include "runtime/train/Options.h"
#include "runtime/train/RunSettings.h"
#include "runtime/weights/ExportOnnx.h"
#include "runtime/weights/ExportSafetensors.h"
#include "runtime/weights/ParameterSource.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// All that a run needs, checked before its first step. Null: not asked for.
struct Run {
  const plan::Plan &plan;
  const Options &options;
  RunSettings settings;
  const Dataset &data;
  const Dataset *evalData;
  const ParameterSource &initialValues;
  DeviceFactory makeDevice;
  std::unique_ptr<SafetensorsExport> gradients, parameters;
  std::unique_ptr<OnnxExport> onnx;
  std::unique_ptr<MetricsFile> metrics;
  std::unique_ptr<Trace> trace;
};

/// Trains. Throws an Error for a loss that is not finite or a value out of
/// range; then parameters are not exported. Throws one as well for an export
/// that cannot be written, once the others are. Returns the signal that ended
/// the run early, 0 for none; then parameters are not exported either.
int train(Run &run);

/// What has been exported so far, for the end of an error: "nothing was
/// exported", or the files.
std::string exportedText(const Run &run);

} // namespace shardc::runtime

#endif
