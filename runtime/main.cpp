// The executable that shardc copies and appends a plan to. Reads the plan from
// its own file, checks everything, trains.
#include "runtime/CheckPlan.h"
#include "runtime/Error.h"
#include "runtime/Evaluation.h"
#include "runtime/Report.h"
#include "runtime/RunSettings.h"
#include "runtime/Trainer.h"
#include "runtime/TrainerFile.h"
#include "runtime/checkpoint/RandomParameters.h"
#include "runtime/checkpoint/StoredParameters.h"
#include "runtime/cli/Options.h"
#include "runtime/launch/Guard.h"
#include "runtime/launch/Launcher.h"
#include "runtime/launch/Processor.h"
#include "runtime/launch/Signals.h"
#include "runtime/metrics/Print.h"

#include <cstdio>
#include <cstring>
#include <new>

using namespace shardc;
using namespace shardc::runtime;

namespace {

struct InitialValues {
  std::unique_ptr<StoredParameters> stored;
  std::unique_ptr<RandomParameters> random;
  const ParameterSource &source() const {
    return random ? static_cast<const ParameterSource &>(*random) : *stored;
  }
};

InitialValues openInitialValues(const Options &options, const plan::Plan &plan,
                                const EmbeddedWeights &embedded) {
  InitialValues values;
  bool drawn = drawsInitialValues(options, plan);
  if (options.weights)
    values.stored =
        StoredParameters::fromPath(plan, *options.weights, embedded);
  else
    values.stored = StoredParameters::recorded(plan, embedded, !drawn);
  if (drawn)
    values.random = std::make_unique<RandomParameters>(plan, options.seed,
                                                       values.stored.get());
  return values;
}

void openOutputs(Run &run, const TrainerFile &self) {
  const Options &options = run.options;
  if (options.exportGradients)
    run.gradients = std::make_unique<SafetensorsExport>(
        run.plan, *options.exportGradients,
        SafetensorsExport::Values::Gradients);
  if (options.exportSafetensors)
    run.parameters = std::make_unique<SafetensorsExport>(
        run.plan, *options.exportSafetensors);
  if (options.exportOnnx)
    run.onnx = std::make_unique<OnnxExport>(run.plan, self.exportTemplate(),
                                            self.embeddedWeights(),
                                            *options.exportOnnx);
  if (options.metrics && !options.dryRun)
    run.metrics = std::make_unique<MetricsFile>(*options.metrics);
  if (options.trace)
    run.trace = std::make_unique<Trace>(*options.trace);
}

int trainerMain(int argc, char **argv) {
  TrainerFile self("/proc/self/exe");
  if (self.plan())
    checkPlan(*self.plan());
  Options options = parseOptions(argc, argv, self.plan());
  if (options.information) {
    print(*options.information);
    checkPrinted("nothing was trained");
    return 0;
  }
  if (!self.plan())
    fail("this is the runtime that trainers are made of, without a plan; "
         "compile a model with shardc");
  const plan::Plan &plan = *self.plan();
  checkOptions(options, plan);
  if (options.report) {
    print(reportText(plan, options.microBatches));
    if (options.data.empty() && !options.dryRun) {
      print(ParameterGroups::resolve(options, plan).text());
      checkPrinted("nothing was trained");
      return 0;
    }
  }
  refuseSeveralProcesses();
  checkProcessor(plan.cpu());
  installSignalHandlers();
  self.checkLargeSections(static_cast<unsigned>(usableCores()));

  Dataset data(plan, options.data, "--data");
  std::optional<Dataset> evalData;
  if (!options.evalData.empty()) {
    evalData.emplace(plan, options.evalData, "--eval-data");
    Evaluation::check(plan, *evalData);
  }
  InitialValues values =
      openInitialValues(options, plan, self.embeddedWeights());
  KernelLibrary kernels = KernelLibrary::open(self.kernels(), plan);
  Run run{plan,
          options,
          RunSettings::resolve(options, plan, data.samples()),
          data,
          evalData ? &*evalData : nullptr,
          values.source(),
          kernels,
          {},
          {},
          {},
          {},
          {}};
  openOutputs(run, self);
  print(bannerText(plan, run.settings) + "\n");
  if (options.dryRun)
    print("dry run: plan, data, weights and outputs are in order\n");
  checkPrinted("nothing was trained");
  if (options.dryRun)
    return 0;
  if (int signal = train(run)) {
    std::fprintf(stderr, "trainer: stopped by %s; nothing was exported\n",
                 strsignal(signal));
    return 128 + signal;
  }
  checkPrinted("the run is complete and its results are written");
  return 0;
}

/// One line, whatever a file's name or header contains.
void printError(std::string text) {
  for (char &character : text)
    if (static_cast<unsigned char>(character) < ' ' || character == 127)
      character = '?';
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: error: %s\n", text.c_str());
}

} // namespace

int main(int argc, char **argv) {
  guardProcess("trainer");
  try {
    return trainerMain(argc, argv);
  } catch (const Error &error) {
    printError(error.what());
  } catch (const std::bad_alloc &) {
    printError("out of memory");
  } catch (const std::exception &error) {
    printError(error.what());
  }
  return 1;
}
