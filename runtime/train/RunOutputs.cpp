// A file that is written is no other file of the run.
#include "runtime/train/RunOutputs.h"

#include "runtime/base/Text.h"
#include "runtime/files/FileUses.h"
#include "runtime/inspect/HashFiles.h"
#include "runtime/train/InitialValues.h"
#include "runtime/train/OpenSinks.h"

namespace shardc::runtime {

void checkFiles(const Run &run, const InitialValues &values,
                const ProgramFile &program) {
  const Options &options = run.options;
  FileUses uses;
  uses.reads("this trainer, " + program.name, program.path);
  // Also where this run takes other values; a file has the first name of these.
  readModel(uses, run.plan);
  for (const NamedFile &file : run.data.files())
    uses.reads(concat("--data ", file.name, "=", file.path), file.path);
  if (run.evalData)
    for (const NamedFile &file : run.evalData->files())
      uses.reads(concat("--eval-data ", file.name, "=", file.path), file.path);
  const char *weights =
      options.weights ? "--weights, " : "the model's values, ";
  for (const std::string &path : values.paths())
    uses.reads(weights + path, path);
  auto writes = [&](const char *flag, const std::optional<std::string> &path) {
    if (path)
      uses.writes(concat(flag, " ", *path), *path);
  };
  writes("--metrics", options.metrics);
  writes("--log-samples", options.logSamples);
  writes("--tensorboard", options.tensorboard);
  writes("--prometheus", options.prometheus);
  writes("--html", options.html);
  writes("--trace", options.trace);
  writes("--tune", options.tune);
  writes("--export-gradients", options.exportGradients);
  writes("--export-safetensors", options.exportSafetensors);
  for (const PredictOption &option : options.predictions)
    writes("--predict", option.path);
  if (run.onnx)
    for (const std::string &path : run.onnx->outputs())
      uses.writes("--export-onnx " + path, path);
  if (options.hashEntries)
    uses.owns("--hash-entries " + *options.hashEntries, *options.hashEntries,
              isHashFileName);
  if (options.checkpointDir)
    uses.owns("--checkpoint-dir " + *options.checkpointDir,
              *options.checkpointDir, CheckpointFolder::isOwnName);
  uses.check();
}

void openOutputs(Run &run) {
  const Options &options = run.options;
  if (options.exportGradients)
    run.gradients = std::make_unique<SafetensorsExport>(
        run.plan, *options.exportGradients,
        SafetensorsExport::Values::Gradients);
  if (options.exportSafetensors)
    run.parameters = std::make_unique<SafetensorsExport>(
        run.plan, *options.exportSafetensors,
        SafetensorsExport::Values::Parameters,
        ExportSelection{
            choiceOf("--export-match", options.exportMatch, run.plan),
            options.exportDtype});
  if (run.onnx)
    run.onnx->open();
  for (const PredictOption &option : options.predictions)
    run.predictions.push_back(std::make_unique<PredictionFile>(
        findOutput(run.plan, option), option.path, run.evalData->samples()));
  if (options.trace)
    run.trace = std::make_unique<Trace>(*options.trace);
  openSinks(run);
}

} // namespace shardc::runtime
