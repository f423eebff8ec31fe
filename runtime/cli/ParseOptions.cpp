// The command line: flags, their ranges, and what --help says about them.
#include "runtime/cli/Options.h"

#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/cli/Suggest.h"
#include "runtime/data/Dataset.h"
#include "runtime/data/LossScale.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>

namespace shardc::runtime {

namespace {

/// The allowed values of a number, and how an error says it.
struct Range {
  double low, high;
  const char *text;
};
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Range notNegative{0, infinite, "a number of 0 or more"};
constexpr Range factor{0, 1, "a number from 0 to 1"};
constexpr Range belowOne{0, 0x1.fffffffffffffp-1,
                         "a number from 0 to less than 1"};

double parseNumber(const std::string &flag, const std::string &text,
                   const Range &range) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) ||
      value < range.low || value > range.high)
    fail(flag, " expects ", range.text, ", got '", text, "'");
  return value;
}

template <typename Integer>
Integer parseInteger(const std::string &flag, const std::string &text,
                     Integer low) {
  Integer value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low)
    fail(flag, " expects an integer of ", low, " or more, got '", text, "'");
  return value;
}

NamedFile parseNamedFile(const std::string &flag, const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail(flag, " expects NAME=FILE.npy, got '", text, "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Declares flags; every value comes as text and is checked by the functions
/// above, so that all errors read alike.
class FlagTable {
public:
  explicit FlagTable(CLI::App &app) : app(app) {}

  void group(const std::string &name) { currentGroup = name; }

  template <typename Use>
  CLI::Option *value(const std::string &flag, const std::string &type,
                     const std::string &help, Use use) {
    return app
        .add_option_function<std::string>(
            flag, [flag, use](const std::string &text) { use(flag, text); },
            help)
        ->type_name(type)
        ->group(currentGroup)
        ->take_last();
  }
  template <typename Target>
  void number(const std::string &flag, Target &target, const Range &range,
              const std::string &help) {
    value(flag, "NUMBER", help,
          [&](const std::string &name, const std::string &text) {
            target = parseNumber(name, text, range);
          });
  }
  template <typename Target>
  void integer(const std::string &flag, Target &target, int64_t low,
               const std::string &help) {
    value(flag, "N", help,
          [&target, low](const std::string &name, const std::string &text) {
            target = parseInteger<int64_t>(name, text, low);
          });
  }
  void path(const std::string &flag, std::optional<std::string> &target,
            const std::string &type, const std::string &help) {
    value(flag, type, help,
          [&](const std::string &name, const std::string &text) {
            if (text.empty())
              fail(name, " expects a path, got nothing");
            target = text;
          });
  }
  void files(const std::string &flag, std::vector<NamedFile> &target,
             const std::string &help) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [flag, &target](const std::vector<std::string> &texts) {
             for (const std::string &text : texts)
               target.push_back(parseNamedFile(flag, text));
           },
           help)
        ->type_name("NAME=FILE.npy")
        ->expected(1)
        ->take_all()
        ->group(currentGroup);
  }
  void toggle(const std::string &flag, bool &target, const std::string &help) {
    app.add_flag(flag, target, help)
        ->disable_flag_override()
        ->group(currentGroup);
  }

private:
  CLI::App &app;
  std::string currentGroup;
};

void declareData(FlagTable &flags, Options &options) {
  flags.group("Data");
  flags.files("--data", options.data,
              "values of one input, memory-mapped; the first axis counts "
              "samples. Once per input");
  flags.files("--eval-data", options.evalData,
              "the same for samples that are only evaluated");
  flags.integer("--eval-every", options.evalEvery, 1,
                "evaluate before the first step and every N steps [only after "
                "the last step]");
  // Without it: step k takes samples kG to kG + G - 1, modulo their number.
  flags.toggle("--shuffle", options.shuffle,
               "a new order in every epoch, drawn from --seed [in order, from "
               "the first again at the end]");
}

void declareWeights(FlagTable &flags, Options &options) {
  flags.group("Weights");
  flags.path("--weights", options.weights, "PATH",
             "stored values: an .onnx file, its folder, or a .safetensors file "
             "[the file that was compiled]");
  flags.value("--init", "random",
              "initial values as PyTorch's layers draw them, from --seed, "
              "equal on every mesh",
              [&](const std::string &name, const std::string &text) {
                if (text != "random")
                  fail(name, " expects 'random', got '", text, "'");
                options.initRandom = true;
              });
  flags.value("--seed", "N", "of --init random and --shuffle [0]",
              [&](const std::string &name, const std::string &text) {
                options.seed = parseInteger<uint64_t>(name, text, 0);
              });
}

void declareTraining(FlagTable &flags, Options &options) {
  flags.group("Training");
  flags.integer("--steps", options.steps, 0, "optimizer steps [one epoch]");
  flags.integer("--epochs", options.epochs, 1,
                "instead of --steps: passes over the data, of (samples / "
                "global batch) whole steps each");
  flags.number("--lr", options.learningRate, notNegative,
               "learning rate [0.001]");
  flags.value("--schedule", "NAME",
              "constant, linear or cosine, after the warm-up [constant]",
              [&](const std::string &name, const std::string &text) {
                if (text == "constant")
                  options.schedule = Schedule::Kind::Constant;
                else if (text == "linear")
                  options.schedule = Schedule::Kind::Linear;
                else if (text == "cosine")
                  options.schedule = Schedule::Kind::Cosine;
                else
                  fail(name, " expects constant, linear or cosine, got '", text,
                       "'", suggestion(text, {"constant", "linear", "cosine"}));
              });
  flags.integer("--warmup-steps", options.warmupSteps, 0,
                "steps over which the learning rate rises along a line [0]");
  flags.number("--warmup-start-factor", options.warmupStartFactor, factor,
               "the rise begins at this part of --lr [0]");
  flags.number("--min-lr", options.minLearningRate, notNegative,
               "where linear and cosine end [0]");
  flags.integer(
      "--total-steps", options.totalSteps, 1,
      "steps of the schedule, where they differ from the run's [--steps]");
  flags.number("--clip", options.clip, notNegative,
               "largest L2 norm of all gradients; 0: no clipping [0]");
}

void declareOptimizer(FlagTable &flags, Options &options) {
  flags.group("Optimizer");
  flags.number("--weight-decay", options.weightDecay, notNegative,
               "[0.01 for adamw, 0 for adam and sgd]");
  flags.value(
      "--betas", "B1,B2", "of adamw and adam [0.9,0.999]",
      [&](const std::string &name, const std::string &text) {
        size_t comma = text.find(',');
        if (comma == std::string::npos)
          fail(name, " expects two numbers, as in 0.9,0.999, got '", text, "'");
        options.beta1 = parseNumber(name, text.substr(0, comma), belowOne);
        options.beta2 = parseNumber(name, text.substr(comma + 1), belowOne);
      });
  flags.number("--eps", options.epsilon, notNegative,
               "of adamw and adam [1e-8]");
  flags.number("--momentum", options.momentum, notNegative, "of sgd [0]");
  flags.toggle("--nesterov", options.nesterov, "Nesterov's momentum, of sgd");
}

void declareOutput(FlagTable &flags, Options &options) {
  flags.group("Output");
  flags.path(
      "--metrics", options.metrics, "FILE.jsonl",
      "a JSON object per step and evaluation, and a last one with a summary");
  flags.path("--export-safetensors", options.exportSafetensors, "FILE",
             "the trained parameters under PyTorch's names");
  flags.path("--export-onnx", options.exportOnnx, "FILE",
             "the compiled graph with the trained parameters");
  flags.path("--export-gradients", options.exportGradients, "FILE",
             "safetensors: gradients of the first step, summed over ranks, "
             "before clipping");
  flags.toggle("--report", options.report,
               "print the plan: units, collectives, memory");
  flags.toggle("--dry-run", options.dryRun,
               "check plan, data, weights and outputs, print the memory "
               "needed, and train nothing");
  flags.integer("--threads", options.threads, 1,
                "threads of each rank [processors / ranks]");
}

/// The inputs that this trainer wants, for the end of --help.
std::string inputsText(const plan::Plan &plan) {
  std::string text = "Inputs of this trainer (" + plan.model() + "):\n";
  for (const plan::Input &input : plan.inputs()) {
    if (!isGiven(input))
      continue;
    const auto &shape = input.tensor().shape();
    text += concat("  --data ", input.name(), "=FILE.npy  ",
                   dtypeName(input.tensor().dtype()), " [samples");
    for (int axis = 1; axis < shape.size(); ++axis)
      text += concat(", ", shape[axis]);
    text += "]";
    if (input.bounded())
      text += concat(", values ", input.min_value(), " to ", input.max_value());
    if (&input == labelsOf(plan) && plan.loss().kind() == "cross_entropy")
      text += concat(", or ", plan.loss().ignore_index(), ": not counted");
    text += "\n";
  }
  return text;
}

} // namespace

static void checkCombinations(const Options &options, const CLI::App &app) {
  auto given = [&](const char *flag) { return app.count(flag) > 0; };
  if (given("--steps") && given("--epochs"))
    fail("--steps and --epochs exclude each other");
  if (options.initRandom && options.weights)
    fail("--init random and --weights exclude each other");
  if (given("--warmup-start-factor") && !given("--warmup-steps"))
    fail("--warmup-start-factor has no effect without --warmup-steps");
  if (options.minLearningRate > 0 &&
      options.schedule == Schedule::Kind::Constant)
    fail("--min-lr has no effect with --schedule constant; use linear or "
         "cosine");
  if (options.minLearningRate > options.learningRate)
    fail("--min-lr ", options.minLearningRate, " is above --lr ",
         options.learningRate);
  if (given("--eval-every") && options.evalData.empty())
    fail("--eval-every needs --eval-data");
  if (options.nesterov && options.momentum.value_or(0) == 0)
    fail("--nesterov needs --momentum");
  const std::optional<std::string> *outputs[] = {
      &options.metrics, &options.exportGradients, &options.exportSafetensors,
      &options.exportOnnx};
  for (auto *first : outputs)
    for (auto *second : outputs)
      if (first < second && *first && *first == *second)
        fail("two outputs would be written to ", **first);
}

Options parseOptions(int argc, const char *const *argv,
                     const plan::Plan *plan) {
  Options options;
  CLI::App app("Trains the model that it was compiled from.\n"
               "Defaults in brackets. G, the global batch, is the batch that "
               "was compiled times the ranks.");
  app.set_help_flag("-h,--help", "print this and exit");
  bool version = false;
  app.add_flag("--version", version, "print the version and exit");
  app.get_formatter()->column_width(38);
  app.allow_extras();
  FlagTable flags(app);
  declareData(flags, options);
  declareWeights(flags, options);
  declareTraining(flags, options);
  declareOptimizer(flags, options);
  declareOutput(flags, options);
  if (plan)
    app.footer(inputsText(*plan));

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    options.information = app.help();
    return options;
  } catch (const CLI::ArgumentMismatch &error) {
    std::string text = error.what();
    fail(text.substr(0, text.find(':')), " needs a value");
  } catch (const CLI::ParseError &error) {
    fail(error.what());
  }
  if (version) {
    options.information =
        concat("trainer of ", plan ? plan->model() : "no model", ", built by ",
               plan ? plan->compiler() : "shardc", "\n");
    return options;
  }
  if (std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
    std::string word = unknown[0].substr(0, unknown[0].find('='));
    if (!word.starts_with("-"))
      fail("unexpected argument '", unknown[0], "'; see --help");
    std::vector<std::string> known;
    for (const CLI::Option *option : app.get_options())
      for (const std::string &name : option->get_lnames())
        known.push_back("--" + name);
    fail("unknown flag ", word, suggestion(word, known), "; see --help");
  }
  checkCombinations(options, app);
  return options;
}

void checkOptions(const Options &options, const plan::Plan &plan) {
  const std::string &kind = plan.optimizer().kind();
  bool adam = kind == "adam" || kind == "adamw";
  auto refuse = [&](const char *flag, const char *owner) {
    fail(flag, " is a number of ", owner,
         ", and this trainer was compiled for ", kind,
         "; compile it with shardc --optimizer ", owner);
  };
  if (options.beta1 && !adam)
    refuse("--betas", "adamw");
  if (options.epsilon && !adam)
    refuse("--eps", "adamw");
  if (options.momentum && kind != "sgd")
    refuse("--momentum", "sgd");
  if (options.nesterov && kind != "sgd")
    refuse("--nesterov", "sgd");
  if (options.momentum.value_or(0) > 0 && plan.optimizer().states().empty())
    fail("--momentum needs a momentum buffer, and this trainer was compiled "
         "without one");
  if (options.threads && plan.workers() > 0 &&
      *options.threads > plan.workers())
    fail("--threads ", *options.threads, " is more than the ", plan.workers(),
         plan.workers() == 1 ? " thread" : " threads",
         " that this trainer was compiled for (shardc --threads-per-rank)");
}

} // namespace shardc::runtime
