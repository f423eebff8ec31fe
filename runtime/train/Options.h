// A trainer's flags: numbers, paths and intervals. What changes the program
// itself is a flag of shardc.
#ifndef SHARDC_RUNTIME_TRAIN_OPTIONS_H
#define SHARDC_RUNTIME_TRAIN_OPTIONS_H

#include "runtime/checkpoint/Schedule.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/data/NamedFile.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/device/Platform.h"
#include "runtime/device/StepNumbers.h"
#include "runtime/launch/Launch.h"
#include "runtime/plan.pb.h"
#include "runtime/selftest/SelfTestOptions.h"
#include "runtime/train/Plateau.h"
#include "runtime/train/Schedule.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// --group: what differs for parameters in whose names `match` is found, an
/// ECMAScript regex that compiles.
struct GroupOption {
  std::string match;
  std::optional<double> learningRateScale, weightDecay;
};

/// --init-group: initial values of parameters in whose names `match` is found.
struct InitGroupOption {
  std::string match;
  std::string distribution; // as torch.nn.init calls it, without "_"
  std::vector<double> numbers;
  bool countsOutputs = false; // fan_out of kaiming
};

/// --loss-scale and the flags that begin with it.
struct LossScaleOptions {
  bool dynamic = false;        // --loss-scale dynamic
  std::optional<double> fixed; // --loss-scale N
  std::optional<double> initial, minimum;
  std::optional<int64_t> window, hysteresis;
};

/// --schedule and the flags beside it.
struct ScheduleOptions {
  Schedule::Kind kind = Schedule::Kind::Constant;
  int64_t warmupSteps = 0;
  std::optional<double> warmupRatio; // of the schedule's steps
  std::optional<double> warmupStartFactor;
  Schedule::Shape warmupShape = Schedule::Shape::Linear;
  double minimum = 0;                 // --min-lr
  std::optional<double> minimumRatio; // of the learning rate
  std::optional<int64_t> totalSteps;
  double power = 1;
  std::optional<double> cycles;
  std::optional<int64_t> timescale, stableSteps, decaySteps;
  Schedule::Shape decayShape = Schedule::Shape::Cosine;
  Plateau::Settings plateau;
};

/// torch.optim.Muon's adjust_lr_fn.
enum class AdjustRate { Original, MatchRmsAdamW };

/// --keep-best: by which metric of evaluations one is the best.
struct BestBy {
  std::string metric = "eval_loss";
  bool isLess = true; // whether less is better

  bool isLoss() const { return metric == "eval_loss"; }
};

/// --predict: an output of the graph, empty where there is one, and its file.
struct PredictOption {
  std::string output, path;
};

/// --eval-every: one of them is given, or none: then there is one evaluation, in
/// the end.
struct EvaluateEvery {
  int64_t steps = 0, epochs = 0;

  bool isGiven() const { return steps || epochs; }
  /// `epochsDone` are behind the run, `epochsBefore` were a step before.
  bool isDue(int64_t stepsDone, int64_t epochsDone,
             int64_t epochsBefore) const {
    return (steps && stepsDone % steps == 0) ||
           (epochs && epochsDone / epochs > epochsBefore / epochs);
  }
};

/// --log-format: what the console shows. Hf: as Hugging Face's Trainer.
/// Auto: a bar on a terminal, and lines elsewhere.
enum class LogFormat { Auto, Text, Bar, Hf };

/// --dropout-rate.
struct DropoutRateOption {
  std::string match; // a regex, in the names of ONNX nodes
  double rate = 0;
};

/// Absent: nobody said it; what holds then depends on the plan
/// or on other flags.
struct Options {
  LaunchFlags launch;
  SelfTestOptions selfTest;
  /// Flags that all processes must have alike, and their values.
  std::vector<std::pair<std::string, std::string>> shared;

  std::vector<NamedFile> data;
  std::vector<NamedFile> evalData;
  std::optional<int64_t> dataLimit, evalLimit; // samples
  EvaluateEvery evalEvery;
  OrderSettings order; // its seed is --seed

  std::optional<std::string> weights;
  /// Of the parameters that take them; else all do.
  std::optional<std::string> weightsMatch;
  enum class Init { File, Random };
  std::optional<Init> init; // else as the plan says
  std::vector<InitGroupOption> initGroups;
  uint64_t seed = 0;
  bool dropout = true;
  std::vector<DropoutRateOption> dropoutRates;

  std::optional<int64_t> steps;
  std::optional<int64_t> epochs;
  double learningRate = 1e-3;
  ScheduleOptions schedule;
  std::optional<int64_t> earlyStop; // evaluations
  std::optional<double> stopBelow, expectLossBelow;
  int64_t microBatches = 1; // --grad-accumulation
  LossNorm lossNorm = LossNorm::Global;

  std::optional<double> weightDecay;
  std::optional<double> beta1, beta2;
  std::optional<double> epsilon;
  std::optional<double> momentum;
  bool nesterov = false, noNesterov = false;
  std::optional<AdjustRate> adjustRate;
  std::vector<GroupOption> groups;
  std::vector<std::string> noDecay; // roles of parameters

  std::optional<std::string> checkpointDir;
  CheckpointEvery checkpointEvery;
  int64_t checkpointKeep = 0; // 0: all
  std::optional<BestBy> keepBest;
  bool exportBest = false;     // exports and predictions are of that one
  bool checkpointSync = false; // the run waits for each
  /// auto, none, or a path.
  std::optional<std::string> resume;
  bool newData = false;
  std::optional<double> timeLimit; // seconds

  double clip = 0; // 0: off
  std::optional<Norm> clipNorm;
  double gradientDivisor = 1; // --grad-divide
  LossScaleOptions lossScale;

  std::optional<int64_t> printEvery; // steps; 0: none are shown
  LogFormat logFormat = LogFormat::Auto;
  std::optional<std::string> metrics;
  std::optional<std::string> logSamples;
  std::optional<double> peakTeraflops; // of a rank
  std::optional<std::string> tensorboard;
  std::optional<std::string> prometheus;
  std::optional<std::string> html;
  bool checkFinite = false;
  std::optional<int64_t> check; // every so many steps
  std::optional<std::string> hashEntries;
  std::optional<int64_t> hashSteps;
  bool profile = false;
  std::optional<std::string> trace;
  int64_t traceSteps = 3;
  std::optional<std::string> exportGradients;
  std::optional<std::string> evalCommand;
  std::optional<std::string> exportSafetensors;
  std::optional<std::string> exportMatch; // a regular expression
  std::optional<plan::DType> exportDtype;
  std::optional<std::string> exportOnnx;

  std::vector<PredictOption> predictions;

  DeviceKind device = DeviceKind::Auto;
  bool cudaGraph = true;
  Reduce reduce = Reduce::Ordered;
  AttentionBy attention = AttentionBy::Auto;
  std::optional<std::string> tune;
  std::optional<std::string> offloadDir;
  std::optional<int64_t> threads;
  bool dryRun = false;
  bool report = false;

  /// All that was said, as the words of a command line.
  std::vector<std::string> words;
  /// The flags among them, "--lr" and so on, and where each was said:
  /// "run.toml:3", "--set"; empty: on the command line.
  std::map<std::string, std::string, std::less<>> given;

  /// What --help, --version or --print-config print; nothing is trained then.
  std::optional<std::string> information;
};

} // namespace shardc::runtime

#endif
