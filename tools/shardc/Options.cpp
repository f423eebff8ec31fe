// shardc's command line by CLI11. The one file of the compiler that is built
// with exceptions, which CLI11 throws.
#include "tools/shardc/Options.h"

#include "frontend/onnx/Decoder.h"
#include "runtime/device/Optimizers.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/OptionTable.h"
#include "tools/shardc/Remarks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace shardc;

namespace {

/// What is read before it is checked.
struct CommandLine {
  Options options;
  std::vector<std::string> dims;
  std::string compileTo = "trainer";
};

/// "name=size" into its parts.
std::pair<std::string, int64_t> parseDim(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw CLI::ValidationError("--dim " + text,
                               "expects NAME=SIZE, as in --dim batch=4");
  std::string name = text.substr(0, equals), size = text.substr(equals + 1);
  if (size.empty() || size.size() > 12 ||
      size.find_first_not_of("0123456789") != std::string::npos ||
      std::stoll(size) < 1)
    throw CLI::ValidationError(
        "--dim " + text,
        "the size must be a whole number from 1 to 999999999999");
  return {name, std::stoll(size)};
}

std::string suggestion(const CLI::App &app, std::string word) {
  word = word.substr(0, word.find('='));
  std::string best;
  unsigned distance = 4;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      if (unsigned d = llvm::StringRef(word).edit_distance("--" + name);
          d < distance) {
        distance = d;
        best = "--" + name;
      }
  return best.empty() ? "see --help" : "did you mean " + best + "?";
}

/// Ends the parsing as --help does, whatever else is given.
struct CallForOps : CLI::Success {
  CallForOps() : CLI::Success("CallForOps", "", CLI::ExitCodes::Success) {}
};

/// Throws for a flag that is given twice and has one meaning.
void refuseTwice(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options()) {
    const std::vector<std::string> &values = option->results();
    if (values.size() < 2 ||
        option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll)
      continue;
    bool isSwitch = option->get_expected_max() == 0;
    throw CLI::ValidationError(
        option->get_name(),
        "is given " +
            (values.size() == 2 ? "twice"
                                : std::to_string(values.size()) + " times") +
            (isSwitch ? "" : ": " + values[0] + " and " + values[1]) +
            "; give it once");
  }
}

std::vector<std::string> phaseNames() {
  std::vector<std::string> names;
  for (const PhaseInfo &phase : phases)
    names.emplace_back(phase.name);
  return names;
}

std::string phasesText() {
  std::string text = "stop after a phase and print its IR";
  for (const PhaseInfo &phase : phases)
    if (&phase != &infoOf(Phase::Trainer))
      text += (&phase == std::begin(phases) ? ". " : "; ") +
              std::string(phase.name) + ": " + phase.summary;
  return text;
}

std::vector<std::string> optimizerChoices() {
  std::vector<std::string> names;
  for (const Optimizer &optimizer : optimizers)
    names.emplace_back(optimizer.name);
  return names;
}

/// When a flag changes anything, and what is said where it does not.
struct Effect {
  const char *flag;
  bool there;
  const char *otherwise; // behind "has no effect"
};

/// Throws for a flag that is given and changes nothing.
void refuseIdle(const CLI::App &app, const std::vector<Effect> &effects) {
  for (const Effect &effect : effects)
    if (!effect.there && app.count(effect.flag))
      throw CLI::ValidationError(effect.flag, std::string("has no effect ") +
                                                  effect.otherwise);
}

void declareFiles(CLI::App &app, CommandLine &line) {
  app.set_version_flag("--version", "shardc " SHARDC_VERSION);
  app.add_flag_callback(
         "--list-ops", [] { throw CallForOps(); },
         "print the ONNX operators that are supported, and the opsets that "
         "define what is")
      ->trigger_on_parse();
  app.get_formatter()->column_width(34);
  // refuseTwice() says it better than CLI11.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);

  app.add_option("model", line.options.model, "the ONNX file (opset 13 to 24)")
      ->required()
      ->option_text("MODEL.onnx");
  app.add_option("-o,--output", line.options.output,
                 "the trainer to write; default: MODEL.trainer")
      ->option_text("FILE");
}

void declareModel(OptionTable &table, CommandLine &line) {
  table.group("Model");
  table.list("--dim", "NAME=SIZE ...", line.dims,
             "size of a symbolic dim (repeatable); batch is that of one rank");
  table.value("--loss", "LOSS", line.options.loss,
              "cross-entropy:logits=NAME,labels=NAME[,ignore=-100][,shift=1]"
              " | mse:output=NAME,target=NAME | output:NAME; "
              "default: the graph's only output, if it is a scalar");
  table.choice("--init", "file|random [file]", line.options.init,
               {"file", "random"},
               "the trainer's default, which its own --init overrides: file: "
               "the model's own values; random: trained from scratch, values "
               "need not exist");
  table.toggle("--embed-weights", line.options.embedWeights,
               "ship the model's values inside the trainer");
}

void declareSharding(OptionTable &table, CommandLine &line) {
  table.group("Sharding");
  table.value("--mesh", "N|RxS [1]", line.options.mesh,
              "ranks: N, RxS, or replicate=R,shard=S; the ranks of dimension "
              "1 are neighbours (one node)");
  table.value(
      "--strategy", "NAME", line.options.strategy,
      "full, grad_op: parameters, gradients and optimizer state sharded "
      "over "
      "all ranks (grad_op keeps parameters gathered until backward); "
      "hybrid, "
      "hybrid_grad_op: over dimension 1, replicated over dimension 0; "
      "hybrid_opt: hybrid, optimizer state over all ranks; opt: optimizer "
      "state alone; none: nothing. Default: hybrid on two dimensions, else "
      "full");
  table.value("--reshard-after-forward", "default|always|never|N",
              line.options.reshardAfterForward,
              "what is left of gathered parameters until backward: always: "
              "the rank's shard; never: all; N: a slice over N neighbours, "
              "which gather among themselves; default: always, but for the "
              "last unit");
  table.list("--unit-option", "match=REGEX[,reshard=...][,precision=TYPE] ...",
             line.options.unitOptions,
             "for units whose name (X, or X.frozen for what is frozen of "
             "it) the regular expression is found in (repeatable; the "
             "first match wins)");
  table.value("--units", "HOW [auto]", line.options.units,
              "what is gathered together: auto (blocks, merged and split by "
              "the cluster's times), block (blocks and the rest), "
              "class:NAME[,NAME] or scope:REGEX (modules, and the rest), "
              "size:100MB (in order of use), one");
  table.value("--cluster", "NAME|FILE.toml [cpu; dgx-h100 with --target cuda]",
              line.options.cluster,
              "the machine: cpu, dgx-h100, dgx-a100, cloud-l40s, or a TOML "
              "file of link bandwidths, latencies, FLOP rates and memory");
  table.number("--prefetch", "N [1]", line.options.prefetch, 0, 64,
               "units gathered ahead of their use");
}

void declareTraining(OptionTable &table, CommandLine &line) {
  table.group("Training");
  table.choice("--optimizer", "KIND [adamw]", line.options.optimizer,
               optimizerChoices(),
               optimizerNames() + ", with torch's formulas or the paper's");
  table.choice("--accumulate", "sharded|unsharded", line.options.accumulate,
               {"sharded", "unsharded"},
               "what --grad-accumulation adds up: sharded: reduced gradients, "
               "every micro-batch communicates; unsharded: whole ones, only "
               "the last does [sharded; unsharded with --strategy none]");
  table.list("--freeze", "REGEX ...", line.options.freeze,
             "parameters that are not trained: a regular expression that is "
             "found in their names (repeatable)");
  table.list("--trainable", "REGEX ...", line.options.trainable,
             "the only parameters that are trained (repeatable); one that "
             "is found in no parameter's name makes parameters of the "
             "buffers and constants that it is found in");
  table.list("--buffer", "REGEX ...", line.options.buffers,
             "float tensors of the file that are no parameters: kept as "
             "they are, whole on every rank; before --trainable "
             "(repeatable)");
  table.value("--precision", "PRECISION [float32]", line.options.precision,
              "bf16, float16, float32 or float64, or in full param=TYPE"
              "[,reduce=TYPE][,output=TYPE][,keep=norm|softmax|loss|REGEX]: "
              "of parameters and products, of gradients, of the reported "
              "loss, and what stays float32");
  table.value("--master", "TYPE [float32]", line.options.master,
              "master weights and optimizer state: bf16, float16 or "
              "float32; default float32, float64 with --precision float64");
  table.choice("--remat", "cheap|none [cheap]", line.options.remat,
               {"cheap", "none"},
               "what backward computes again instead of keeping it: cheap: "
               "norms, activations and the like, from what is kept anyway; "
               "none: nothing. Results have the same bits");
}

void declareCode(OptionTable &table, CommandLine &line) {
  table.group("Code");
  table.value("--target", "NAME [cpu]", line.options.target,
              "what the trainer runs on: cpu, or cuda:sm_80, cuda:sm_90 or "
              "cuda:sm_100, whose plan and kernels are built, but no "
              "trainer yet");
  table.value("--cpu", "CPU [native]", line.options.cpu,
              "processor to generate for: native, x86-64-v3, x86-64-v4, or "
              "a name that clang knows");
  table.number("--threads-per-rank", "N [0]", line.options.threadsPerRank, 0,
               1024,
               "most threads that a rank may use; 0: this machine's cores "
               "over the ranks");
  table.value("--kernels", "DIR", line.options.kernels,
              "write the compiled kernels into this folder: a shared "
              "object; for cuda PTX, and cubins where CUDA's ptxas is; the "
              "trainer as well only with -o");
}

void declareInspection(OptionTable &table, CommandLine &line) {
  table.group("Inspection");
  table.choice("--compile-to", "PHASE [trainer]", line.compileTo, phaseNames(),
               phasesText());
  table.value("--dump-phases-to", "DIR", line.options.dumpPhasesTo,
              "write the IR after every phase into this folder");
  table.value("--report", "FILE.json", line.options.report,
              "write what was resolved as JSON");
  table.list("--disable-pass", "PASS ...", line.options.disabledPasses,
             "leave out a pass, to see what it does (repeatable): what "
             "it does or proves is then missing");
  table.value("--remarks", "REGEX", line.options.remarks,
              "print why passes decided as they did, on stderr: those in "
              "whose names the regular expression is found, of " +
                  llvm::join(passesWithRemarks(), ", "));
  table.toggle("--pass-timing", line.options.passTiming,
               "print how long each pass took, on stderr");
  table.toggle("-q,--quiet", line.options.quiet,
               "print errors and warnings alone");
}

void bindDims(CommandLine &line) {
  for (const std::string &text : line.dims) {
    auto [name, size] = parseDim(text);
    auto [entry, fresh] = line.options.dims.emplace(name, size);
    if (!fresh && entry->second != size)
      throw CLI::ValidationError("--dim " + text,
                                 name + " is already bound to " +
                                     std::to_string(entry->second));
  }
}

/// Flags that say what another target has.
void checkTarget(const CLI::App &app, const Options &options) {
  bool isCpu = llvm::StringRef(options.target).split(':').first == "cpu";
  bool namesCpu = isCpu && options.target != "cpu";
  refuseIdle(app, {{"--cpu", !namesCpu, "with a --target that names one"},
                   {"--cpu", isCpu, "with another --target"},
                   {"--threads-per-rank", isCpu, "with another --target"}});
}

void checkRemarks(const CLI::App &app, const CommandLine &line) {
  refuseIdle(app, {{"--remarks", line.compileTo != "import",
                    "with --compile-to import, which runs no pass"}});
  if (app.count("--remarks") && line.options.remarks.empty())
    throw CLI::ValidationError("--remarks", "expects a regular expression");
}

/// --kernels alone stops where kernels are made.
void resolveKernels(const CLI::App &app, CommandLine &line) {
  if (line.options.kernels.empty())
    return;
  if (llvm::is_contained({"import", "raise", "train", "shard"}, line.compileTo))
    throw CLI::ValidationError("--compile-to " + line.compileTo,
                               "has no kernels yet; drop --kernels");
  if (line.compileTo != "trainer" || !line.options.output.empty())
    return;
  const char *noTrainer =
      "with --kernels alone, which makes no trainer; add -o FILE";
  refuseIdle(app, {{"--embed-weights", false, noTrainer},
                   {"--threads-per-rank", false, noTrainer}});
  line.compileTo = "kernels";
  line.options.printIr = false;
}

/// Flags of a trainer that is not written.
void checkTrainer(const CommandLine &line) {
  const Options &options = line.options;
  if (line.compileTo == "trainer")
    return;
  if (!options.output.empty() || options.embedWeights)
    throw CLI::ValidationError(
        "--compile-to " + line.compileTo,
        "writes no trainer; drop " +
            std::string(options.embedWeights ? "--embed-weights" : "-o"));
  if (options.printIr && !options.report.empty())
    throw CLI::ValidationError("--compile-to " + line.compileTo,
                               "makes no report; drop --report");
}

/// Parses and checks what can be checked without the model; CLI11 throws what
/// is wrong, and what --help and its like call for.
void read(CLI::App &app, int argc, char **argv, CommandLine &line) {
  app.parse(argc, argv);
  refuseTwice(app);
  bindDims(line);
  if (line.options.embedWeights && line.options.init == "random")
    throw CLI::ValidationError("--embed-weights",
                               "cannot be honoured with --init random, which "
                               "reads no values; drop one of the two");
  checkTarget(app, line.options);
  checkRemarks(app, line);
  resolveKernels(app, line);
  checkTrainer(line);
}

/// Phase and output by name; MODEL.trainer where no file is.
Options resolve(CommandLine line) {
  Options options = std::move(line.options);
  options.compileTo = static_cast<Phase>(
      std::ranges::find(phases, line.compileTo, &PhaseInfo::name) -
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

ParsedOptions shardc::parseOptions(int argc, char **argv) {
  CommandLine line;
  CLI::App app("Compiles an ONNX model into one executable that trains it on a "
               "mesh of ranks.",
               "shardc");
  declareFiles(app, line);
  OptionTable table(app);
  declareModel(table, line);
  declareSharding(table, line);
  declareTraining(table, line);
  declareCode(table, line);
  declareInspection(table, line);
  try {
    read(app, argc, argv, line);
  } catch (const CLI::CallForHelp &) {
    llvm::outs() << app.help();
    return {std::nullopt, 0};
  } catch (const CallForOps &) {
    llvm::outs() << onnx::DecoderTable().list();
    return {std::nullopt, 0};
  } catch (const CLI::CallForVersion &) {
    llvm::outs() << "shardc " SHARDC_VERSION "\n";
    return {std::nullopt, 0};
  } catch (const CLI::ExtrasError &) {
    std::string word =
        app.remaining().empty() ? std::string("?") : app.remaining().front();
    printError("unknown argument " + word + "; " + suggestion(app, word));
    return {std::nullopt, 2};
  } catch (const CLI::ParseError &error) {
    printError(std::string(error.what()) + "; see --help");
    return {std::nullopt, 2};
  }
  return {resolve(std::move(line)), 0};
}
