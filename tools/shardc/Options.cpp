// What shardc's flags say together. With Flags.cpp the one part of the compiler
// that is built with exceptions, which the runtime's flags throw. It includes
// nothing of LLVM.
#include "tools/shardc/Options.h"

#include "runtime/device/Optimizers.h"
#include "runtime/flags/Settings.h"
#include "tools/shardc/Flags.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

using namespace shardc;
using namespace shardc::runtime::cli;
using runtime::fail;

namespace {

/// "name=size" into its parts.
std::pair<std::string, int64_t> parseDim(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    fail("--dim ", text, ": expects NAME=SIZE, as in --dim batch=4");
  std::string name = text.substr(0, equals), size = text.substr(equals + 1);
  if (size.empty() || size.size() > 12 ||
      size.find_first_not_of("0123456789") != std::string::npos ||
      std::stoll(size) < 1)
    fail("--dim ", text,
         ": the size must be a whole number from 1 to 999999999999");
  return {name, std::stoll(size)};
}

void bindDims(Said &said) {
  for (const std::string &text : said.dims) {
    auto [name, size] = parseDim(text);
    auto [entry, fresh] = said.options.dims.emplace(name, size);
    if (!fresh && entry->second != size)
      fail("--dim ", text, ": ", name, " is already bound to ", entry->second);
  }
}

/// The names of --target.
std::vector<std::string> targetsOf(const Options &options) {
  std::vector<std::string> names(1);
  for (char c : options.target)
    if (c == ',')
      names.emplace_back();
    else
      names.back() += c;
  return names;
}

/// Flags of optimizers that take whole matrices.
void checkOptimizer(const Given &given, const Options &options) {
  const bool takesMatrices = findOptimizer(options.optimizer)->takesMatrices();
  const char *others = " without --optimizer muon";
  refuseIdle(given, {{"--muon", takesMatrices, others},
                     {"--newton-schulz-steps", takesMatrices, others}});
}

/// Checks what is offloaded against who can do that.
void checkOffload(const Options &options) {
  // What else it may say is found wrong by OffloadOption.h.
  if (options.offload.find("optimizer") == std::string::npos)
    return;
  if (findOptimizer(options.optimizer)->takesMatrices())
    fail("--offload ", options.offload, ": the state of ", options.optimizer,
         "'s whole matrices stays in memory; give --optimizer adamw");
  if (options.master == "split")
    fail("--offload ", options.offload,
         ": split masters stay in memory; give --master float32");
}

/// Flags that say what another target has.
void checkTarget(const Given &given, const Options &options) {
  bool isCpu = false, namesCpu = false;
  for (const std::string &name : targetsOf(options)) {
    isCpu |= name == "auto" || name.substr(0, name.find(':')) == "cpu";
    namesCpu |= name.starts_with("cpu:");
  }
  refuseIdle(given, {{"--cpu", !namesCpu, " with a --target that names one"},
                     {"--cpu", isCpu, " with another --target"},
                     {"--threads-per-rank", isCpu, " with another --target"}});
}

void checkRemarks(const Given &given, const Said &said) {
  refuseIdle(given, {{"--remarks", said.compileTo != "import",
                      " with --compile-to import, which runs no pass"}});
}

/// --kernels alone stops where kernels are made.
void resolveKernels(const Given &given, Said &said) {
  if (said.options.kernels.empty())
    return;
  if (constexpr std::string_view early[] = {"import", "raise", "train",
                                            "shard"};
      std::ranges::find(early, said.compileTo) != std::end(early))
    fail("--compile-to ", said.compileTo,
         ": has no kernels yet; drop --kernels");
  if (said.compileTo != "trainer" || !said.options.output.empty())
    return;
  const char *noTrainer =
      " with --kernels alone, which makes no trainer; add -o FILE";
  refuseIdle(given, {{"--embed-weights", false, noTrainer},
                     {"--threads-per-rank", false, noTrainer}});
  said.compileTo = "kernels";
  said.options.printIr = false;
}

/// What plans, and writes nothing of it.
void planOnly(const Given &given, const char *why, Said &said) {
  refuseIdle(given, {{"--output", false, why},
                     {"--embed-weights", false, why},
                     {"--kernels", false, why},
                     {"--kernel-cache", false, why},
                     {"--timeline", false, why},
                     {"--compile-to", false, why},
                     {"--dump-phases-to", false, why}});
  said.compileTo = "plan";
  said.options.printIr = false;
}

/// --remat pareto plans, and prints what it planned.
void resolvePareto(const Given &given, Said &said) {
  if (said.options.remat != "pareto")
    return;
  const char *why = " with --remat pareto, which makes no trainer";
  refuseIdle(given, {{"--memory-limit", false, why}});
  planOnly(given, why, said);
}

/// shardc explain plans, and says what it is asked for.
void resolveExplain(const Given &given, Said &said) {
  if (said.options.what.empty())
    return;
  const char *why = " with explain, which answers a question alone";
  refuseIdle(given, {{"--report", false, why},
                     {"--remarks", false, why},
                     {"--disable-pass", false, why},
                     {"--quiet", false, why}});
  if (said.options.remat == "pareto")
    fail("--remat pareto has no effect", why);
  bool hasSize = !said.options.size.empty();
  if (hasSize != (said.options.what == "oom"))
    fail("explain ", said.options.what,
         hasSize ? ": takes no size; only oom does"
                 : ": needs a size, as in oom 40GB");
  planOnly(given, why, said);
}

/// Flags of a trainer that is not written.
void checkTrainer(const Said &said) {
  const Options &options = said.options;
  if (said.compileTo == "trainer")
    return;
  if (!options.output.empty() || options.embedWeights)
    fail("--compile-to ", said.compileTo, ": writes no trainer; drop ",
         options.embedWeights ? "--embed-weights" : "-o");
  if (options.printIr && targetsOf(options).size() > 1)
    fail("--compile-to ", said.compileTo,
         ": prints what is made for one "
         "target; give --target one of ",
         options.target);
  if (!options.kernelCache.empty() && options.kernels.empty())
    fail("--compile-to ", said.compileTo,
         ": compiles no kernels; drop --kernel-cache");
  if (!options.timeline.empty())
    fail("--compile-to ", said.compileTo,
         ": makes no timeline; drop --timeline");
  if (!options.memoryLimit.empty() && said.compileTo != "plan")
    fail("--compile-to ", said.compileTo,
         ": plans no memory; drop --memory-limit");
  if (options.offload != "none" && said.compileTo != "plan")
    fail("--compile-to ", said.compileTo, ": plans no memory; drop --offload");
  if (options.remat == "pareto" && options.report.ends_with(".html"))
    fail("--remat pareto: writes JSON alone; a page of --report has the same "
         "points beside a plan of another --remat");
  if (options.printIr && !options.report.empty())
    fail("--compile-to ", said.compileTo, ": makes no report; drop --report");
}

void checkCheckable(const Said &said) {
  const Options &options = said.options;
  if (!options.checkable)
    return;
  if (said.compileTo != "trainer")
    fail("--compile-to ", said.compileTo,
         ": writes no trainer; drop --checkable");
}

/// Checks what can be checked without the model.
void check(const Given &given, Said &said) {
  bindDims(said);
  if (said.options.embedWeights && said.options.init == "random")
    fail("--embed-weights: cannot be honoured with --init random, which reads "
         "no values; drop one of the two");
  checkOptimizer(given, said.options);
  checkOffload(said.options);
  checkTarget(given, said.options);
  checkRemarks(given, said);
  resolvePareto(given, said);
  resolveExplain(given, said);
  resolveKernels(given, said);
  checkTrainer(said);
  checkCheckable(said);
}

/// Phase and output by name; MODEL.trainer where no file is. The environment
/// says what no flag does.
Options resolve(Said said) {
  Options options = std::move(said.options);
  if (const char *cache = std::getenv("SHARDC_KERNEL_CACHE");
      cache && options.kernelCache.empty())
    options.kernelCache = cache;
  options.compileTo = static_cast<Phase>(
      std::ranges::find(phases, said.compileTo, &PhaseInfo::name) -
      std::begin(phases));
  if (options.output.empty()) {
    std::string stem = options.model;
    if (size_t dot = stem.rfind(".onnx");
        dot != std::string::npos && dot + 5 == stem.size())
      stem.resize(dot);
    options.output = stem + ".trainer";
  }
  return options;
}

} // namespace

ParsedOptions shardc::parseOptions(Command command, int argc, char **argv,
                                   const std::string &remarkPasses) {
  ParsedOptions parsed;
  Said said;
  OptionTable table;
  declareFlags(command, remarkPasses, table, said);
  bool explains = command == Command::Explain;
  Program program;
  program.name = explains ? "shardc explain" : "shardc";
  program.description =
      explains
          ? "Plans the training of an ONNX model, and says why a part of "
            "the plan is as it is."
          : "Compiles an ONNX model into one executable that trains it on "
            "a mesh of ranks. `shardc export`, of the Python package, makes "
            "such a model of PyTorch's. `shardc explain MODEL.onnx [flags] "
            "WHAT` "
            "says why its plan is as it is, and `shardc diff A B` what two "
            "trainers differ in: shardc explain --help, shardc diff "
            "--help.";
  program.helpColumn = 34;
  program.section = compileSection;
  program.side = runtime::cli::Side::Compiler;
  try {
    Settings settings(table.flags, program, argc, argv);
    if (settings.question() == "--list-ops") {
      parsed.listsOps = true;
    } else if (!settings.question().empty()) {
      parsed.information = settings.question() == "--help"
                               ? settings.help()
                               : "shardc " SHARDC_VERSION "\n";
    } else {
      settings.apply();
      if (settings.arePrinted()) {
        parsed.information =
            settings.toml("shardc: what holds, and where it is from");
      } else {
        check(settings.given(), said);
        parsed.options = resolve(std::move(said));
      }
    }
  } catch (const runtime::Error &error) {
    parsed.error = error.what();
    if (!parsed.error.ends_with("see --help"))
      parsed.error += "; see --help";
  }
  return parsed;
}
