// The training loop: batches, steps, evaluations, exports. Each rank runs it on
// its own thread.
#ifndef SHARDC_RUNTIME_TRAINER_H
#define SHARDC_RUNTIME_TRAINER_H

#include "runtime/Executor.h"
#include "runtime/KernelLibrary.h"
#include "runtime/RunSettings.h"
#include "runtime/checkpoint/ExportOnnx.h"
#include "runtime/checkpoint/ExportSafetensors.h"
#include "runtime/checkpoint/ParameterSource.h"
#include "runtime/cli/Options.h"
#include "runtime/data/Dataset.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Trace.h"
#include "runtime/plan.pb.h"

#include <memory>
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
  const KernelLibrary &kernels;
  std::unique_ptr<SafetensorsExport> gradients, parameters;
  std::unique_ptr<OnnxExport> onnx;
  std::unique_ptr<MetricsFile> metrics;
  std::unique_ptr<Trace> trace;
};

/// Trains. Throws an Error for a loss that is not finite, a value out of range,
/// or an output that cannot be written; then nothing is exported. Returns the
/// signal that ended the run early, 0 for none; then nothing is exported
/// either.
int train(Run &run);

} // namespace shardc::runtime

#endif
