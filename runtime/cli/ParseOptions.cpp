// The command line: flags, their ranges, and what --help says about them.
#include "runtime/cli/ParseOptions.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Text.h"
#include "runtime/cli/CheckOptions.h"
#include "runtime/cli/CheckpointFlags.h"
#include "runtime/cli/DeviceFlags.h"
#include "runtime/cli/LaunchFlagTable.h"
#include "runtime/cli/OutputFlags.h"
#include "runtime/cli/ParseData.h"
#include "runtime/cli/ParseGroups.h"
#include "runtime/cli/ParseSteps.h"
#include "runtime/cli/ScheduleFlags.h"
#include "runtime/cli/SelfTestFlags.h"
#include "runtime/data/Dataset.h"
#include "runtime/device/Optimizers.h"
#include "runtime/flags/Settings.h"

#include <algorithm>
#include <functional>

namespace shardc::runtime {

using namespace cli;

namespace {

void declareData(FlagTable &flags, Options &options) {
  flags.group("Data");
  auto addTo = [](std::vector<NamedFile> &target) {
    return [&target](const std::string &name, const std::string &text) {
      target.push_back(parseNamedFile(name, text));
    };
  };
  flags
      .list(
          "--data", "NAME=PATH[,KEY=VALUE...]",
          "values of one input; given again for an input: more samples, mixed "
          "where "
          "they have weight=W. PATH: a file, a folder or a glob; "
          ".npy, safetensors or Arrow (column=NAME), the first axis counts "
          "samples; "
          "token ids of llm.c, Megatron, raw (dtype=uint16|uint32) or Arrow's "
          "rows, cut by "
          "window=N, stride=N, pad=ID, documents=ID|stored. @INPUT: what that "
          "input has (ignore=ID), or a mask from it (causal, padding=ID, "
          "documents=ID). synthetic:SEED: values that are drawn, for inputs "
          "that "
          "are not named",
          addTo(options.data))
      .isLocal = true;
  flags.integer("--data-limit", options.dataLimit, 1,
                "the first N samples of --data alone [all; 65536 of "
                "synthetic ones]");
  flags
      .list("--eval-data", "NAME=PATH[,...]",
            "the same for samples that are only evaluated",
            addTo(options.evalData))
      .isLocal = true;
  flags.integer("--eval-limit", options.evalLimit, 1,
                "the first N samples of --eval-data alone [all; 65536 of "
                "synthetic ones]");
  flags.value("--eval-every", "N|Ne",
              "evaluate before the first step and every N steps, or behind "
              "every N epochs [only after the last step]",
              [&](const std::string &name, const std::string &text) {
                parseStepsOrEpochs(name, text, options.evalEvery.steps,
                                   options.evalEvery.epochs);
              });
  // Without it: step k takes samples kG to kG + G - 1, modulo their number; G
  // is the global batch.
  flags.toggle("--shuffle", options.order.shuffle,
               "a new order in every epoch, drawn from --seed [in order, from "
               "the first again at the end]");
  flags.value(
      "--sampler", "global|torch",
      "the order of --shuffle. global: one for every number of ranks; torch: "
      "that of "
      "DistributedSampler(seed=SEED), with set_epoch(0) and so on [global]",
      [&](const std::string &name, const std::string &text) {
        options.order.sampler = parseChoice<Sampler>(
            name, text,
            {{"global", Sampler::Global}, {"torch", Sampler::Torch}});
      });
  flags.value(
      "--last-batch", "drop|pad",
      "what becomes of the samples at the end of a shuffled epoch that fill no "
      "global batch: they are left out, or filled up with those at its begin "
      "[drop]",
      [&](const std::string &name, const std::string &text) {
        options.order.padsLast =
            parseChoice<bool>(name, text, {{"drop", false}, {"pad", true}});
      });
}

void declareWeights(FlagTable &flags, Options &options,
                    const plan::Plan *plan) {
  flags.group("Weights");
  flags
      .path("--weights", options.weights, "PATH",
            "stored values: an ONNX or safetensors file, the index of a "
            "sharded one (model.safetensors.index.json), or a folder with one "
            "of these [as --init says]")
      .isLocal = true;
  flags.value("--weights-match", "REGEX",
              "parameters in whose names the regex is found take the values of "
              "--weights, all others those that --init says [all take them]",
              [&](const std::string &name, const std::string &text) {
                options.weightsMatch = parseRegex(name, text);
              });
  flags.value("--init", "file|random",
              concat("file: the values of the file that was compiled; random: "
                     "as PyTorch's layers draw them, from --seed, equal on "
                     "every mesh [",
                     plan && plan->init() == "random" ? "random" : "file",
                     ", as it was compiled]"),
              [&](const std::string &name, const std::string &text) {
                using Init = Options::Init;
                options.init = parseChoice<Init>(
                    name, text,
                    {{"file", Init::File}, {"random", Init::Random}});
              });
  flags.list("--init-group", "match=REGEX,...",
             "another distribution of --init random for parameters in whose "
             "names the regex is found: normal=MEAN,STD, uniform=LOW,HIGH, "
             "trunc_normal=MEAN,STD[,LOW,HIGH], xavier_uniform[=GAIN], "
             "xavier_normal[=GAIN], kaiming_uniform[=fan_in|fan_out[,SLOPE]], "
             "kaiming_normal[=...], constant=VALUE, zeros or ones, as "
             "torch.nn.init has them. The first that matches holds",
             [&](const std::string &name, const std::string &text) {
               options.initGroups.push_back(parseInitGroup(name, text));
             });
  flags
      .value("--seed", "N",
             "of --init random, --shuffle, --sampler and dropout [0]",
             [&](const std::string &name, const std::string &text) {
               options.seed = parseInteger<uint64_t>(name, text, 0);
             })
      .isNumber = true;
}

void declareDropout(FlagTable &flags, Options &options) {
  flags.value("--dropout", "on|off",
              "off: nothing is dropped, but where --dropout-rate says so [on]",
              [&](const std::string &name, const std::string &text) {
                options.dropout = parseChoice<bool>(
                    name, text, {{"on", true}, {"off", false}});
              });
  flags.list("--dropout-rate", "match=REGEX,p=RATE",
             "the rate of dropouts in the names of whose ONNX nodes the regex "
             "is found, in place of the model's. The first that matches holds",
             [&](const std::string &name, const std::string &text) {
               options.dropoutRates.push_back(parseDropoutRate(name, text));
             });
}

void declareTraining(FlagTable &flags, Options &options) {
  flags.group("Training");
  flags.integer("--steps", options.steps, 0, "optimizer steps [one epoch]");
  flags.integer("--epochs", options.epochs, 1,
                "instead of --steps: passes over the data; of a shuffled one "
                "its whole steps, else up to the step in which the last ends");
  declareSchedule(flags, options);
  flags.integer("--early-stop", options.earlyStop, 1,
                "end the run after so many evaluations in a row that are not "
                "better than the best by --keep-best, or by the loss");
  flags.number("--stop-below", options.stopBelow, finite,
               "end the run when the loss of an evaluation is below this; "
               "without --eval-data, that of a step");
  flags.number("--expect-loss-below", options.expectLossBelow, finite,
               "the exit code is 3 unless the loss of the last evaluation "
               "(without --eval-data, of the last step) is below this");
  flags.integer("--grad-accumulation", options.microBatches, 1,
                "micro-batches of a step, each of the compiled batch on every "
                "rank [1]");
  // docs/running.md has the formulas.
  flags.value("--loss-norm", "NAME",
              "what a cross entropy is the mean of. global: all valid labels "
              "of the step; rank: each rank's own in each micro-batch, and "
              "these means over ranks and micro-batches, as DDP and FSDP "
              "average [global]",
              [&](const std::string &name, const std::string &text) {
                options.lossNorm = parseChoice<LossNorm>(
                    name, text,
                    {{"global", LossNorm::Global}, {"rank", LossNorm::Rank}});
              });
  declareDropout(flags, options);
}

/// A number of the optimizers where the run sets none: "0.01 for adamw and
/// amsgrad, 0 for sgd". `text` is empty for those that have no such number.
std::string
defaultsText(const std::function<std::string(const Optimizer &)> &text) {
  std::vector<std::string> values;
  for (const Optimizer &optimizer : optimizers)
    if (std::string value = text(optimizer);
        !value.empty() && std::ranges::find(values, value) == values.end())
      values.push_back(value);
  std::string all;
  for (const std::string &value : values)
    all += concat(all.empty() ? "[" : ", ", value, " for ",
                  optimizerNames(
                      [&](const Optimizer &optimizer) {
                        return text(optimizer) == value;
                      },
                      " and "));
  return all + "]";
}

void declareOptimizer(FlagTable &flags, Options &options,
                      const plan::Plan *plan) {
  flags.group("Optimizer");
  const Optimizer *own =
      plan ? findOptimizer(plan->optimizer().kind()) : nullptr;
  using NumberText = std::function<std::string(const Optimizer &)>;
  // Of all optimizers in --help, and this trainer's.
  auto number = [&](const std::string &name, std::optional<double> &target,
                    const NumberText &text) {
    Flag &flag = flags.number(name, target, notNegative, defaultsText(text));
    flag.standard = own ? text(*own) : "";
  };
  number("--weight-decay", options.weightDecay, [](const Optimizer &optimizer) {
    return numberText(optimizer.weightDecay);
  });
  flags.list("--group", "KEY=VALUE,...",
             "match=REGEX,lr-scale=F,weight-decay=F: for parameters in whose "
             "names the regex (ECMAScript) is found, the learning rate is "
             "--lr's times F, the weight decay F. Once per group; a parameter "
             "belongs to the first that matches",
             [&](const std::string &name, const std::string &text) {
               options.groups.push_back(parseGroup(name, text));
             });
  flags
      .value("--no-decay", "ROLES",
             "norm, bias, embedding, separated by commas: no weight decay for "
             "these, but where a --group says another",
             [&](const std::string &name, const std::string &text) {
               options.noDecay = parseRoles(name, text);
             })
      .isJoined = true;
  NumberText betas = [](const Optimizer &optimizer) {
    return optimizer.beta1 ? numberText(*optimizer.beta1) + "," +
                                 numberText(*optimizer.beta2)
                           : "";
  };
  Flag &flag = flags.value(
      "--betas", "B1,B2", defaultsText(betas),
      [&](const std::string &name, const std::string &text) {
        size_t comma = text.find(',');
        if (comma == std::string::npos)
          fail(name, " expects two numbers, as in 0.9,0.999, got '", text, "'");
        options.beta1 = parseNumber(name, text.substr(0, comma), belowOne);
        options.beta2 = parseNumber(name, text.substr(comma + 1), belowOne);
      });
  flag.isJoined = true;
  flag.standard = own ? betas(*own) : "";
  auto ofThose = [](std::optional<double> Optimizer::*each) {
    return [=](const Optimizer &optimizer) {
      return optimizer.*each ? numberText(*(optimizer.*each)) : "";
    };
  };
  number("--eps", options.epsilon, ofThose(&Optimizer::epsilon));
  number("--momentum", options.momentum, ofThose(&Optimizer::momentum));
  flags.toggle("--nesterov", options.nesterov, "sgd: Nesterov's --momentum");
  flags.toggle("--no-nesterov", options.noNesterov,
               "muon: --momentum that is not Nesterov's");
  flags.value(
      "--adjust-lr", "original|match_rms_adamw",
      "what muon multiplies the learning rate of a matrix by: original: "
      "sqrt(max(1, rows / columns)); match_rms_adamw: 0.2 sqrt(max(rows, "
      "columns)), with which --lr is one of AdamW's [original]",
      [&](const std::string &name, const std::string &text) {
        options.adjustRate = parseChoice<AdjustRate>(
            name, text,
            {{"original", AdjustRate::Original},
             {"match_rms_adamw", AdjustRate::MatchRmsAdamW}});
      });
}

void declareGradients(FlagTable &flags, Options &options) {
  flags.group("Gradients");
  flags.number("--grad-divide", options.gradientDivisor, positive,
               "all gradients are divided by this before their norm is taken, "
               "they are clipped and the optimizer gets them, on top of what "
               "the loss is divided by; the loss stays [1]");
  flags.number("--clip", options.clip, notNegative,
               "largest norm of all gradients together, as "
               "torch.nn.utils.clip_grad_norm_; 0: no clipping [0]");
  flags.value("--clip-norm", "P", "which norm: 1, 2 or inf [2]",
              [&](const std::string &name, const std::string &text) {
                options.clipNorm = parseChoice<Norm>(
                    name, text,
                    {{"1", Norm::One}, {"2", Norm::Two}, {"inf", Norm::Inf}});
              });
  LossScaleOptions &scale = options.lossScale;
  flags.value("--loss-scale", "dynamic|N",
              "the loss is multiplied by this and gradients are divided by it, "
              "and steps with gradients that are not finite are skipped. "
              "dynamic: as torch.amp.GradScaler finds it; 1: no scaling, and "
              "such a step ends the run [dynamic for float16, else 1]",
              [&](const std::string &name, const std::string &text) {
                scale.dynamic = text == "dynamic";
                scale.fixed.reset();
                if (!scale.dynamic)
                  scale.fixed = parseNumber(name, text, scaleRange);
              });
  flags.number("--loss-scale-initial", scale.initial, positive,
               "where dynamic begins [65536]");
  flags.integer("--loss-scale-window", scale.window, 1,
                "finite steps in a row after which it is doubled [2000]");
  flags.integer("--loss-scale-hysteresis", scale.hysteresis, 1,
                "steps that are not finite before it is halved, counted from "
                "when it last grew; 1 as GradScaler, more as Megatron-LM [1]");
  flags.number("--loss-scale-min", scale.minimum, positive,
               "it becomes no smaller [1, or --loss-scale-initial below it]");
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

Options parseOptions(int argc, const char *const *argv,
                     const plan::Plan *plan) {
  Options options;
  Program program;
  program.description =
      "Trains the model that it was compiled from.\n"
      "Defaults in brackets. The global batch is the batch that was "
      "compiled, times ranks, times --grad-accumulation.";
  FlagTable flags;
  flags.question("--version", "print the version and exit");
  declareData(flags, options);
  declareWeights(flags, options, plan);
  declareTraining(flags, options);
  declareOptimizer(flags, options, plan);
  declareGradients(flags, options);
  declareCheckpoints(flags, options);
  declareOutput(flags, options);
  declareDevice(flags, options);
  declareLaunch(flags, options.launch);
  declareSelfTest(flags, options);
  program.footer = (plan ? inputsText(*plan) + "\n" : "") +
                   "With MLFLOW_TRACKING_URI set, the run reports to that "
                   "server of MLflow (docs/metrics.md).\n";

  Settings settings(flags, program, argc, argv);
  std::string model = plan ? plan->model() : "no model";
  if (settings.question() == "--help") {
    options.information = printableLines(settings.help());
    return options;
  }
  if (!settings.question().empty()) {
    options.information =
        printable(concat("trainer of ", model, ", built by ",
                         plan ? plan->compiler() : "shardc")) +
        "\n";
    return options;
  }
  settings.apply();
  if (settings.arePrinted()) {
    options.information = settings.toml(
        concat("trainer of ", model, ": what holds, and where it is from"));
    return options;
  }
  options.words = settings.words();
  options.given = settings.given();
  options.shared = settings.shared();
  options.order.shuffle |= options.given.contains("--sampler");
  options.order.seed = options.seed;
  checkSelfTest(flags, options);
  checkCombinations(options);
  return options;
}

} // namespace shardc::runtime
