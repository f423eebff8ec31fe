// Reads the plan from its own file, checks everything, trains.
#include "runtime/TrainerMain.h"

#include "runtime/ChooseTarget.h"
#include "runtime/TrainerFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Signals.h"
#include "runtime/base/Text.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cli/CheckOptions.h"
#include "runtime/cli/ParseOptions.h"
#include "runtime/engine/CheckPlan.h"
#include "runtime/files/ConfinedOpen.h"
#include "runtime/inspect/EntryHashes.h"
#include "runtime/inspect/FiniteCheck.h"
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
#include "runtime/train/OpenCheckpoints.h"
#include "runtime/train/Options.h"
#include "runtime/train/Report.h"
#include "runtime/train/RunFacts.h"
#include "runtime/train/RunInputs.h"
#include "runtime/train/RunOutputs.h"
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

ProgramFile programFile() {
  std::string path = "/proc/self/exe";
  std::error_code error;
  std::string name = std::filesystem::read_symlink(path, error).string();
  return {error ? path : name, path};
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

/// What a process has of its surroundings.
struct Factories {
  const PlatformFactory &platformOf;
  const WorldFactory &makeWorld;
};

/// What is known where this process becomes one of the world's.
struct Start {
  World &world;
  const Launch &launch;
  const Options &options;
  const TrainerFile &self;
  const ChosenTarget &target;
  const ProgramFile &program;
  Platform &platform;
  const Factories &factories;

  const plan::Plan &plan() const { return self.plans()[target.index]; }
  DeviceFactory devices(const DeviceOptions &options) const {
    return platform.devices(plan(), self.kernels(target.index), options);
  }
};

/// Where plans are compiled or looked at, devices may be missing: how a dry run
/// says so. Empty where they are to be looked at as well.
std::string missingDevicesText(const Start &start) {
  int ranks = start.world.localRanks().size();
  if (!start.options.dryRun)
    return "";
  int devices = start.platform.deviceCount(start.plan());
  if (devices >= ranks)
    return "";
  return concat("dry run: devices were not looked at: ", devices,
                devices == 1 ? " is" : " are", " here for ",
                start.plan().target().name(), ", and ", ranks,
                ranks == 1 ? " rank" : " ranks", "\n");
}

DeviceOptions deviceOptionsOf(const Start &start) {
  const Options &options = start.options;
  const World &world = start.world;
  DeviceOptions device;
  device.workers =
      threadsPerRank(options, start.platform.traits(start.plan()), world);
  device.spin = world.haveCoresFor(device.workers);
  device.cudaGraph = options.cudaGraph;
  device.reduce = options.reduce;
  device.attention = options.attention;
  if (world.leads())
    device.say = [](const std::string &line) { print(printable(line) + "\n"); };
  device.tune = options.tune.value_or("");
  device.leads = world.leads();
  device.offloadFolder = options.offloadDir.value_or("");
  device.firstDevice = start.launch.localProcess * world.localRanks().size();
  return device;
}

int selfTest(const Start &start, const DeviceOptions &device) {
  int code = runSelfTest(start.world, start.devices(device), start.platform,
                         device, start.options.selfTest, print);
  checkPrinted("nothing was trained");
  return code;
}

/// The run's settings, once all processes have agreed on them.
RunSettings agreeOn(const Start &start, const RunInputs &inputs) {
  const Options &options = start.options;
  const plan::Plan &plan = start.plan();
  RunSettings settings =
      RunSettings::resolve(options, plan, start.platform.traits(plan),
                           inputs.samples, start.world, inputs.manifest());
  if (inputs.resumed.checkpoint)
    settings.banner.goesOnFrom = inputs.resumed.checkpoint->where();
  settings.banner.beginsData = inputs.met.isNew;
  // What people call it first, and then what says that it is the same.
  Facts facts = {{"the model", plan.model()},
                 {"the mesh", meshText(plan.mesh())},
                 {"the precision", precisionText(plan.precision())}};
  for (auto &fact : start.self.checksums())
    facts.push_back(std::move(fact));
  facts.emplace_back("the compiler", plan.compiler());
  facts.emplace_back("what it runs on", plan.target().name());
  for (auto &fact : factsOf(options, settings, inputs.data, inputs.evaluated()))
    facts.push_back(std::move(fact));
  start.world.agree(facts);
  settings.banner.bytesPerThread = start.platform.bytesPerThread();
  return settings;
}

/// Devices that --check-finite and --hash-entries look into.
DeviceFactory inspected(const Start &start, DeviceFactory devices,
                        std::shared_ptr<std::atomic<bool>> checksEntries) {
  const Options &options = start.options;
  devices = inspectedDevices(std::move(devices),
                             finiteCheck(std::move(checksEntries)));
  if (options.hashEntries)
    devices = inspectedDevices(std::move(devices),
                               entryHashes(*options.hashEntries,
                                           options.hashSteps.value_or(1),
                                           start.plan().model_hash()));
  return devices;
}

/// What --check compares with. Throws an Error where the trainer has none.
UnshardedProgram unshardedProgram(const Start &start, DeviceOptions options) {
  const plan::Plan *plan = start.self.unshardedPlan(start.target.index);
  if (!plan)
    fail("--check: this trainer has no unsharded step to compare with; compile "
         "it with shardc --checkable");
  // Ranks that wait for it may have its cores.
  options.spin = false;
  options.say = nullptr;
  UnshardedProgram program{*plan, nullptr, nullptr, {}};
  if (options.leads) {
    program.world = start.factories.makeWorld(1, Launch(), 0);
    program.platform = start.factories.platformOf(*plan);
    program.makeDevice = program.platform->devices(
        *plan, start.self.unshardedKernels(start.target.index), options);
  }
  return program;
}

/// `hasDevices`: else none are made, and nothing is run.
Run makeRun(const Start &start, RunInputs &inputs, RunSettings settings,
            const DeviceOptions &device, bool hasDevices) {
  const plan::Plan &plan = start.plan();
  auto checks = std::make_shared<std::atomic<bool>>(start.options.checkFinite);
  DeviceFactory devices =
      inspected(start, hasDevices ? start.devices(device) : nullptr, checks);
  const ParameterSource &values = inputs.initialValues(plan);
  Manifest manifest =
      manifestOf(start.options, plan, settings, inputs.resumed.checkpoint.get(),
                 inputs.data, inputs.samples);
  manifest.launched = start.launch.run;
  std::optional<UnshardedProgram> unsharded;
  if (start.options.check)
    unsharded.emplace(unshardedProgram(start, device));
  return {.world = start.world,
          .plan = plan,
          .options = start.options,
          .settings = std::move(settings),
          .data = inputs.data,
          .evalData = inputs.evaluated(),
          .initialValues = values,
          .makeDevice = std::move(devices),
          .resumed = inputs.resumed.checkpoint.get(),
          .manifest = std::move(manifest),
          .checksEntries = std::move(checks),
          .unsharded = std::move(unsharded)};
}

/// What the process that leads opens, and the banner.
void lead(const Start &start, const RunInputs &inputs, Run &run) {
  if (run.options.exportOnnx)
    run.onnx = std::make_unique<OnnxExport>(
        run.plan, start.self.exportTemplate(), start.self.embeddedWeights(),
        *run.options.exportOnnx);
  checkFiles(run, inputs.values, start.program);
  for (const std::string &warning : checkFrozenValues(run))
    printWarning(warning);
  openOutputs(run);
  for (const std::string &warning : run.data.leftOutTexts())
    printWarning(warning);
  if (run.evalData)
    if (std::string text = Evaluation::leftOutText(run.plan, *run.evalData);
        !text.empty())
      printWarning(text);
  if (std::string text = inputs.values.namesText(); !text.empty())
    printWarning(text);
  bool goesOn = run.resumed && run.settings.steps > run.settings.start.step;
  if (std::string flags =
          goesOn ? forgottenFlags(run.resumed->manifest(), run.options) : "";
      !flags.empty())
    printWarning("the run that was saved was given " + flags +
                 ", and this one is not: it goes on without");
  for (const std::string &warning : run.settings.scheduleTexts())
    printWarning(warning);
  if (goesOn && run.options.newData && inputs.met.isSame)
    print("--new-data: --data is what the run was saved with; it goes on "
          "there\n");
  if (goesOn && !inputs.met.warning.empty())
    printWarning(inputs.met.warning);
  for (const std::string &warning : inputs.resumed.warnings)
    printWarning(warning + "; an older checkpoint is taken");
  print(printableLines(bannerText(run.plan, run.settings)) + "\n");
  checkPrinted("nothing was trained");
}

/// `missing`: what missingDevicesText() says.
int finishDryRun(Run &run, const std::string &missing) {
  std::string found = checkDryRun(run);
  if (run.world.leads())
    print(concat(found, printableLines(missing),
                 "dry run: plan, data, weights and outputs are in order\n"));
  checkPrinted("nothing was trained");
  return 0;
}

/// Where something from outside ended the run.
int reportStop(const Run &run, const Stop &stop) {
  std::string what = stop.timeLimit ? "--time-limit" : strsignal(stop.signal);
  std::string saved =
      !run.checkpoints ? "without --checkpoint-dir nothing is saved; "
      : stop.savedStep ? concat("step ", *stop.savedStep, " is saved; ")
                       : "nothing new is saved; ";
  if (run.world.leads())
    std::fprintf(stderr, "trainer: stopped by %s; %s%s\n", what.c_str(),
                 saved.c_str(), printable(exportedText(run)).c_str());
  return stop.signal ? 128 + stop.signal : 0;
}

/// What this process does as one of the world's.
int runIn(const Start &start) {
  const Options &options = start.options;
  World &world = start.world;
  std::string missing = missingDevicesText(start);
  if (missing.empty())
    start.platform.check(start.plan());
  installSignalHandlers();
  if (world.leads() && !start.target.why.empty())
    print(printable(start.target.why) + "\n");
  DeviceOptions device = deviceOptionsOf(start);
  if (options.selfTest.wanted)
    return selfTest(start, device);
  start.self.checkLargeSections(static_cast<unsigned>(usableCores()));

  RunInputs inputs(world, options, start.plan(), start.self.embeddedWeights());
  RunSettings settings = agreeOn(start, inputs);
  device.gemmClock = options.metrics || options.profile || options.html;
  Run run = makeRun(start, inputs, std::move(settings), device,
                    /*hasDevices=*/missing.empty());
  if (world.leads())
    lead(start, inputs, run);
  if (options.dryRun)
    return finishDryRun(run, missing);
  openCheckpoints(run, inputs.lock);
  Stop stop = watched(run, endAtOnce);
  if (stop)
    return reportStop(run, stop);
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
  ProgramFile program = programFile();
  TrainerFile self(program.path, program.name);
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
    fail(program.name, " is cut short: its plan is missing; copy it again, or "
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
  resumeAfterRestart(launch, options);
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
    return runIn({*world,
                  launch,
                  options,
                  self,
                  target,
                  program,
                  *platform,
                  {platformOf, makeWorld}});
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
