// Reads the plan from its own file, checks everything, trains.
#include "runtime/TrainerMain.h"

#include "runtime/ChooseTarget.h"
#include "runtime/TrainerFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Signals.h"
#include "runtime/base/Text.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/checkpoint/Resume.h"
#include "runtime/cli/CheckOptions.h"
#include "runtime/cli/ParseOptions.h"
#include "runtime/engine/CheckPlan.h"
#include "runtime/files/ConfinedOpen.h"
#include "runtime/files/FileUses.h"
#include "runtime/inspect/EntryHashes.h"
#include "runtime/inspect/FiniteCheck.h"
#include "runtime/inspect/HashFiles.h"
#include "runtime/launch/Affinity.h"
#include "runtime/launch/ErrorFile.h"
#include "runtime/launch/ExitCode.h"
#include "runtime/launch/Guard.h"
#include "runtime/launch/Supervisor.h"
#include "runtime/metrics/Print.h"
#include "runtime/selftest/SelfTest.h"
#include "runtime/store/Store.h"
#include "runtime/train/DryRun.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/InitialValues.h"
#include "runtime/train/OpenCheckpoints.h"
#include "runtime/train/OpenSinks.h"
#include "runtime/train/Options.h"
#include "runtime/train/Report.h"
#include "runtime/train/RunFacts.h"
#include "runtime/train/RunSettings.h"
#include "runtime/train/Trainer.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <unistd.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// The running file, also where its name is another file's by now.
constexpr const char *executable = "/proc/self/exe";

/// What its user calls it.
std::string trainerPath() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink(executable, error).string();
  return error ? executable : path;
}

void openOutputs(Run &run) {
  const Options &options = run.options;
  if (options.exportGradients)
    run.gradients = std::make_unique<SafetensorsExport>(
        run.plan, *options.exportGradients,
        SafetensorsExport::Values::Gradients);
  if (options.exportSafetensors)
    run.parameters = std::make_unique<SafetensorsExport>(
        run.plan, *options.exportSafetensors);
  if (run.onnx)
    run.onnx->open();
  for (const PredictOption &option : options.predictions)
    run.predictions.push_back(std::make_unique<PredictionFile>(
        findOutput(run.plan, option), option.path, run.evalData->samples()));
  if (options.trace)
    run.trace = std::make_unique<Trace>(*options.trace);
  openSinks(run);
}

/// Predictions alone need no labels.
void checkLabelsAreGiven(const Options &options, const plan::Plan &plan,
                         const Dataset &data) {
  const char *flag = options.evalEvery.isGiven() ? "--eval-every"
                     : options.expectLossBelow   ? "--expect-loss-below"
                                                 : nullptr;
  if (flag && data.lacksLabels())
    fail(flag, " needs labels; give --eval-data ", labelsOf(plan)->name(),
         "=FILE.npy");
}

/// All files of the run, none of which may be another's as well. Nothing has
/// been written yet.
void checkFiles(const Run &run, const InitialValues &values,
                const std::string &trainer) {
  const Options &options = run.options;
  FileUses uses;
  uses.reads("this trainer, " + trainer, executable);
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

void printError(const std::string &text) {
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: error: %s\n", printable(text).c_str());
}

/// --expect-loss-below.
bool meetsExpectation(const Options &options, std::optional<double> loss,
                      bool leads) {
  if (!options.expectLossBelow || (loss && *loss < *options.expectLossBelow))
    return true;
  if (leads)
    printError(concat(
        "--expect-loss-below ", numberText(*options.expectLossBelow), ": ",
        loss ? concat("the loss of the last ",
                      options.evalData.empty() ? "step" : "evaluation", " is ",
                      numberText(*loss))
             : "no step was run",
        "; the run is complete and its results are written"));
  return false;
}

void printWarning(const std::string &text) {
  std::fprintf(stderr, "trainer: warning: %s\n", printable(text).c_str());
}

/// Where ranks of this process do not end by themselves.
void endAtOnce(const std::string &error, int code) {
  printError(error);
  writeErrorFile(currentEnvironment(), error);
  _exit(code);
}

/// Where plans are compiled or looked at, devices may be missing: how a dry run
/// says so. Empty where they are to be looked at as well.
std::string missingDevicesText(const World &world, const Options &options,
                               const plan::Plan &plan,
                               const Platform &platform) {
  int ranks = world.localRanks().size();
  if (!options.dryRun)
    return "";
  int devices = platform.deviceCount(plan);
  if (devices >= ranks)
    return "";
  return concat("dry run: devices were not looked at: ", devices,
                devices == 1 ? " is" : " are", " here for ",
                plan.target().name(), ", and ", ranks,
                ranks == 1 ? " rank" : " ranks", "\n");
}

/// What a process has of its surroundings.
struct Factories {
  const PlatformFactory &platformOf;
  const WorldFactory &makeWorld;
};

/// What --check compares with. Throws an Error where the trainer has none.
UnshardedProgram unshardedProgram(const TrainerFile &self, size_t target,
                                  const Factories &factories,
                                  DeviceOptions options) {
  const plan::Plan *plan = self.unshardedPlan(target);
  if (!plan)
    fail("--check: this trainer has no unsharded step to compare with; compile "
         "it with shardc --checkable");
  // Ranks that wait for it may have its cores.
  options.spin = false;
  options.say = nullptr;
  UnshardedProgram program{*plan, nullptr, nullptr, {}};
  if (options.leads) {
    program.world = factories.makeWorld(1, Launch(), 0);
    program.platform = factories.platformOf(*plan);
    program.makeDevice = program.platform->devices(
        *plan, self.unshardedKernels(target), options);
  }
  return program;
}

/// What this process does as one of the world's.
int runIn(World &world, const Launch &launch, const Options &options,
          const TrainerFile &self, const ChosenTarget &target,
          const std::string &trainer, Platform &platform,
          const Factories &factories) {
  const plan::Plan &plan = self.plans()[target.index];
  std::span<const std::byte> kernels = self.kernels(target.index);
  std::string missing = missingDevicesText(world, options, plan, platform);
  if (missing.empty())
    platform.check(plan);
  installSignalHandlers();
  if (world.leads() && !target.why.empty())
    print(printable(target.why) + "\n");
  DeviceOptions device;
  device.workers = threadsPerRank(options, platform.traits(plan), world);
  device.spin = world.haveCoresFor(device.workers);
  device.cudaGraph = options.cudaGraph;
  device.reduce = options.reduce;
  device.attention = options.attention;
  if (world.leads())
    device.say = [](const std::string &line) { print(printable(line) + "\n"); };
  device.tune = options.tune.value_or("");
  device.leads = world.leads();
  device.offloadFolder = options.offloadDir.value_or("");
  device.firstDevice = launch.localProcess * world.localRanks().size();
  if (options.selfTest.wanted) {
    int code = runSelfTest(world, platform.devices(plan, kernels, device),
                           platform, device, options.selfTest, print);
    checkPrinted("nothing was trained");
    return code;
  }
  self.checkLargeSections(static_cast<unsigned>(usableCores()));

  // Drawn values stand for samples that nothing is trained on.
  std::vector<NamedFile> none = {{"", "", {}, 0}};
  Dataset data(plan, readsData(options) ? options.data : none, "--data",
               options.dataLimit);
  std::optional<int64_t> samples;
  if (readsData(options)) {
    samples = data.samples();
    data.checkLabels("--data");
  }
  std::optional<Dataset> evalData;
  if (!options.evalData.empty()) {
    evalData.emplace(plan, options.evalData, "--eval-data", std::nullopt,
                     /*mayLackLabels=*/!options.predictions.empty());
    Evaluation::check(plan, *evalData);
    checkLabelsAreGiven(options, plan, *evalData);
  }
  std::unique_ptr<FolderLock> lock = lockCheckpoints(world, options);
  Resumed resumed = findCheckpoint(options.resume, options.checkpointDir);
  if (resumed.checkpoint) {
    resumed.checkpoint->check(plan);
    checkWeightsAreRead(options, plan, *resumed.checkpoint);
    // What torch wrote says nothing of samples.
    if (samples && resumed.checkpoint->manifest().samples)
      checkMixture(data, resumed.checkpoint->manifest());
  }
  InitialValues values = openInitialValues(
      options, plan, self.embeddedWeights(), resumed.checkpoint.get());
  RunSettings settings = RunSettings::resolve(
      options, plan, platform.traits(plan), samples, world,
      resumed.checkpoint ? &resumed.checkpoint->manifest() : nullptr);
  if (resumed.checkpoint)
    settings.goesOnFrom = resumed.checkpoint->where();
  Facts facts = self.checksums();
  facts.emplace_back("the compiler", plan.compiler());
  facts.emplace_back("what it runs on", plan.target().name());
  for (auto &fact :
       factsOf(options, settings, data, evalData ? &*evalData : nullptr))
    facts.push_back(std::move(fact));
  world.agree(facts);
  settings.bytesPerThread = platform.bytesPerThread();
  device.gemmClock = options.metrics || options.profile || options.html;
  DeviceFactory devices;
  if (missing.empty())
    devices = platform.devices(plan, kernels, device);
  auto checks = std::make_shared<std::atomic<bool>>(options.checkFinite);
  devices = inspectedDevices(std::move(devices), finiteCheck(checks));
  if (options.hashEntries)
    devices = inspectedDevices(std::move(devices),
                               entryHashes(*options.hashEntries,
                                           options.hashSteps.value_or(1),
                                           plan.model_hash()));
  std::unique_ptr<ParameterSource> goneOnFrom;
  if (resumed.checkpoint)
    goneOnFrom = resumed.checkpoint->parameters(plan, values.source());
  Run run{world,
          plan,
          options,
          settings,
          data,
          evalData ? &*evalData : nullptr,
          goneOnFrom ? *goneOnFrom : values.source(),
          std::move(devices),
          resumed.checkpoint.get(),
          manifestOf(options, plan, settings, resumed.checkpoint.get(), data,
                     samples)};
  run.checksEntries = checks;
  if (options.check)
    run.unsharded.emplace(
        unshardedProgram(self, target.index, factories, device));
  if (world.leads()) {
    if (options.exportOnnx)
      run.onnx = std::make_unique<OnnxExport>(plan, self.exportTemplate(),
                                              self.embeddedWeights(),
                                              *options.exportOnnx);
    checkFiles(run, values, trainer);
    for (const std::string &warning : checkFrozenValues(run))
      printWarning(warning);
    openOutputs(run);
    for (const std::string &warning : resumed.warnings)
      printWarning(warning + "; an older checkpoint is taken");
    print(printableLines(bannerText(plan, run.settings)) + "\n");
    checkPrinted("nothing was trained");
  }
  if (options.dryRun) {
    std::string found = checkDryRun(run);
    if (world.leads())
      print(concat(found, printableLines(missing),
                   "dry run: plan, data, weights and outputs are in order\n"));
    checkPrinted("nothing was trained");
    return 0;
  }
  openCheckpoints(run, lock);
  Stop stop = watched(run, endAtOnce);
  if (stop) {
    std::string what = stop.timeLimit ? "--time-limit" : strsignal(stop.signal);
    std::string saved = !run.checkpoints ? ""
                        : stop.savedStep
                            ? concat("step ", *stop.savedStep, " is saved; ")
                            : "nothing new is saved; ";
    if (world.leads())
      std::fprintf(stderr, "trainer: stopped by %s; %s%s\n", what.c_str(),
                   saved.c_str(), printable(exportedText(run)).c_str());
    return stop.signal ? 128 + stop.signal : 0;
  }
  checkPrinted("the run is complete and its results are written");
  return meetsExpectation(options, stop.loss, world.leads()) ? 0
                                                             : UnmetExpectation;
}

/// Throws an Error where a plan does not hold together, the part included that
/// its devices alone know.
void checkWhole(const plan::Plan &plan, const PlatformFactory &platformOf) {
  checkPlan(plan);
  platformOf(plan)->checkTarget(plan);
}

/// Whether ranks work on devices, and nothing is only looked at.
bool usesDevices(const Options &options) {
  bool reports = options.report && options.data.empty();
  return !options.dryRun && !reports;
}

int run(int argc, char **argv, const PlatformFactory &platformOf,
        const WorldFactory &makeWorld) {
  std::string trainer = trainerPath();
  TrainerFile self(executable, trainer);
  for (size_t i = 0; i < self.plans().size(); ++i) {
    checkWhole(self.plans()[i], platformOf);
    if (const plan::Plan *unsharded = self.unshardedPlan(i))
      checkWhole(*unsharded, platformOf);
  }
  Options options = parseOptions(
      argc, argv, self.plans().empty() ? nullptr : &self.plans().front());
  if (options.information) {
    print(*options.information);
    checkPrinted("nothing was trained");
    return 0;
  }
  if (self.isCut())
    fail(trainer, " is cut short: its plan is missing; copy it again, or "
                  "compile it again");
  if (self.plans().empty())
    fail("this is the runtime that trainers are made of, without a plan; "
         "compile a model with shardc");
  std::optional<size_t> named = namedTarget(self.plans(), options, platformOf);
  auto check = [&](const plan::Plan &plan) {
    checkOptions(options, plan, platformOf(plan)->traits(plan));
  };
  if (named)
    check(self.plans()[*named]);
  Launch launch = detectLaunch(options.launch, currentEnvironment());
  std::optional<ChosenTarget> chosen;
  if (usesDevices(options))
    chosen = startForDevices(launch, self.plans(), options, platformOf);
  // Asks no driver, which would have threads by then: what it starts will.
  if (launch.spawns > 0)
    return supervise(launch, {.arguments = {argv, argv + argc}});
  int64_t ranksHere = std::max<int64_t>(1, self.plans().front().mesh().ranks() /
                                               launch.processes);
  ChosenTarget target =
      chosen ? *chosen
             : chooseTarget(self.plans(), options, ranksHere, platformOf);
  const plan::Plan &plan = self.plans()[target.index];
  if (!named)
    check(plan);
  std::unique_ptr<Platform> platform = platformOf(plan);
  if (options.report && launch.process == 0) {
    print(printableLines(reportText(plan, platform->traits(plan),
                                    options.microBatches, ranksHere)));
    if (options.data.empty() && !options.dryRun) {
      print(printableLines(ParameterGroups::resolve(options, plan).text()));
      checkPrinted("nothing was trained");
    }
  }
  if (options.report && options.data.empty() && !options.dryRun)
    return 0;
  if (std::string warning =
          oneCoreWarning(launch, usableCores(),
                         static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
      !warning.empty())
    printWarning(warning);
  std::unique_ptr<World> world =
      makeWorld(static_cast<int>(plan.mesh().ranks()), launch,
                options.launch.startTimeout);
  try {
    return runIn(*world, launch, options, self, target, trainer, *platform,
                 {platformOf, makeWorld});
  } catch (const std::exception &error) {
    world->giveUp(error.what());
    throw;
  }
}

} // namespace

int shardc::runtime::trainerMain(int argc, char **argv,
                                 const PlatformFactory &platformOf,
                                 const WorldFactory &makeWorld) {
  guardProcess("trainer");
  auto failed = [](const std::string &text, int code) {
    printError(text);
    writeErrorFile(currentEnvironment(), text);
    return code;
  };
  try {
    return run(argc, argv, platformOf, makeWorld);
  } catch (const Aborted &error) {
    return failed(error.what(), LostProcess);
  } catch (const StoreTimeout &error) {
    return failed(error.what(), LostProcess);
  } catch (const StoreLost &error) {
    return failed(error.what(), LostProcess);
  } catch (const std::bad_alloc &) {
    return failed("out of memory", BadInput);
  } catch (const std::exception &error) {
    return failed(error.what(), BadInput);
  }
}
