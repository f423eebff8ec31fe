// The command line: what is accepted, and the one-line errors for what is not.
#include "runtime/train/Options.h"
#include "runtime/cli/CheckOptions.h"
#include "runtime/cli/ParseOptions.h"

#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"
#include "test/runtime/device/TraitsOf.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

static Options parse(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "model.trainer");
  return parseOptions(arguments.size(), arguments.data(), nullptr);
}

static std::string errorOf(std::vector<const char *> arguments) {
  try {
    parse(std::move(arguments));
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(Options, ReadsEveryKindOfFlag) {
  Options options =
      parse({"--data", "x=a=b.npy", "--data=y=c.npy", "--lr", "3e-4", "--betas",
             "0.8,0.95", "--steps", "12", "--schedule", "cosine", "--shuffle",
             "--seed", "18446744073709551615", "--init", "random",
             "--weight-decay", "0"});
  ASSERT_EQ(options.data.size(), 2u);
  EXPECT_EQ(options.data[0].name, "x");
  EXPECT_EQ(options.data[0].path, "a=b.npy");
  EXPECT_EQ(options.data[1].name, "y");
  EXPECT_EQ(options.learningRate, 3e-4);
  EXPECT_EQ(options.beta1, 0.8);
  EXPECT_EQ(options.beta2, 0.95);
  EXPECT_EQ(options.steps, 12);
  EXPECT_EQ(options.schedule.kind, Schedule::Kind::Cosine);
  EXPECT_TRUE(options.order.shuffle && options.init == Options::Init::Random);
  EXPECT_EQ(options.seed, ~uint64_t{0});
  EXPECT_EQ(options.weightDecay, 0.0);
  EXPECT_FALSE(options.momentum);
}

TEST(Options, ReadsKeysBehindPaths) {
  Options options =
      parse({"--data", "ids=x,y.bin,window=8,pad=-1", "--data",
             "mask=@ids,causal,padding=3", "--data", "synthetic:5"});
  ASSERT_EQ(options.data.size(), 3u);
  EXPECT_EQ(options.data[0].path, "x,y.bin");
  EXPECT_EQ(options.data[0].keys.window, 8);
  EXPECT_EQ(options.data[0].keys.pad, -1);
  // A word with '=' behind a comma is a key.
  EXPECT_EQ(errorOf({"--data", "ids=a,b=c"}).substr(0, 25),
            "--data ids has no key 'b'");
  EXPECT_EQ(options.data[1].path, "@ids");
  EXPECT_TRUE(options.data[1].keys.causal);
  EXPECT_EQ(options.data[1].keys.padding, 3);
  EXPECT_EQ(options.data[2].syntheticSeed, 5u);
  EXPECT_EQ(errorOf({"--data", "mask=@ids,causal=1"}),
            "--data mask expects causal, got 'causal=1'");
  EXPECT_EQ(errorOf({"--data", "mask=@ids,padding"}),
            "--data mask expects padding=VALUE, got 'padding'");
  EXPECT_EQ(errorOf({"--data", "ids=x,window=0"}),
            "--data ids window expects an integer of 1 or more, got '0'");
  EXPECT_EQ(errorOf({"--data", "ids=x,pad=1,pad=2"}),
            "--data ids has pad twice: 'ids=x,pad=1,pad=2'");
  EXPECT_EQ(errorOf({"--data", "ids=x,dtype=int4"}).substr(0, 49),
            "--data ids dtype expects uint16 or uint32, got 'i");
  EXPECT_NE(errorOf({"--data", "synthetic:x"}), "");
}

TEST(Options, ReadsWhatBecomesOfGradients) {
  Options options = parse({"--grad-accumulation",
                           "4",
                           "--loss-norm",
                           "rank",
                           "--clip",
                           "1",
                           "--clip-norm",
                           "inf",
                           "--grad-divide",
                           "0.5",
                           "--loss-scale",
                           "dynamic",
                           "--loss-scale-initial",
                           "1024",
                           "--loss-scale-window",
                           "7",
                           "--loss-scale-hysteresis",
                           "2",
                           "--loss-scale-min",
                           "0.25"});
  EXPECT_EQ(options.microBatches, 4);
  EXPECT_EQ(options.lossNorm, LossNorm::Rank);
  EXPECT_EQ(options.clipNorm, Norm::Inf);
  EXPECT_EQ(options.gradientDivisor, 0.5);
  EXPECT_TRUE(options.lossScale.dynamic);
  EXPECT_EQ(options.lossScale.initial, 1024);
  EXPECT_EQ(options.lossScale.window, 7);
  EXPECT_EQ(options.lossScale.hysteresis, 2);
  EXPECT_EQ(options.lossScale.minimum, 0.25);
  EXPECT_EQ(parse({"--loss-scale", "128"}).lossScale.fixed, 128);

  EXPECT_EQ(errorOf({"--grad-accumulation", "0"}),
            "--grad-accumulation expects an integer of 1 or more, got '0'");
  EXPECT_EQ(errorOf({"--loss-norm", "ranks"}),
            "--loss-norm expects global or rank, got 'ranks', did you mean "
            "'rank'?");
  EXPECT_EQ(errorOf({"--clip", "1", "--clip-norm", "3"}).substr(0, 46),
            "--clip-norm expects 1, 2 or inf, got '3', did ");
  EXPECT_EQ(errorOf({"--grad-divide", "0"}).substr(0, 39),
            "--grad-divide expects a number above 0 ");
  EXPECT_EQ(errorOf({"--loss-scale", "0"}),
            "--loss-scale expects dynamic or a number above 0, got '0'");
  EXPECT_NE(errorOf({"--loss-scale", "1e39"}), ""); // no float32
}

TEST(Options, ReadsParameterGroups) {
  Options options =
      parse({"--group", "match=a{1,2},lr-scale=0.1", "--group",
             "weight-decay=0,match=x=y,z$", "--group",
             "match=norm,weight-decay=0.5", "--no-decay", "norm,bias,norm"});
  ASSERT_EQ(options.groups.size(), 3u);
  EXPECT_EQ(options.groups[0].match, "a{1,2}");
  EXPECT_EQ(options.groups[0].learningRateScale, 0.1);
  EXPECT_FALSE(options.groups[0].weightDecay);
  EXPECT_EQ(options.groups[1].match, "x=y,z$");
  EXPECT_EQ(options.groups[1].weightDecay, 0);
  EXPECT_EQ(options.noDecay, (std::vector<std::string>{"norm", "bias"}));

  EXPECT_EQ(errorOf({"--group", "norm"}),
            "--group expects match=REGEX,lr-scale=F,weight-decay=F, got "
            "'norm'");
  EXPECT_EQ(errorOf({"--group", "match=norm"}),
            "--group match=norm changes nothing; give lr-scale or "
            "weight-decay");
  EXPECT_EQ(errorOf({"--group", "lr-scale=2"}),
            "--group needs match=REGEX, got 'lr-scale=2'");
  EXPECT_EQ(errorOf({"--group", "match=,lr-scale=2"}),
            "--group expects match=REGEX, got an empty regex");
  EXPECT_EQ(errorOf({"--group", "match=a,lr-scale=-1"}),
            "--group lr-scale expects a number of 0 or more, got '-1'");
  EXPECT_EQ(errorOf({"--group", "match=a,lr_scale=2"}),
            "--group has the keys match, lr-scale and weight-decay, got "
            "'lr_scale', did you mean 'lr-scale'?");
  EXPECT_EQ(errorOf({"--group", "lr-scael=2,match=a"}),
            "--group has the keys match, lr-scale and weight-decay, got "
            "'lr-scael', did you mean 'lr-scale'?");
  EXPECT_EQ(errorOf({"--group", "match=a,lr-scale=1,lr-scale=2"}),
            "--group has lr-scale twice: 'match=a,lr-scale=1,lr-scale=2'");
  EXPECT_EQ(errorOf({"--group", "match=(a,lr-scale=1"})
                .find("--group match=(a is no regex: "),
            0u);
  EXPECT_EQ(errorOf({"--no-decay", "norms"}),
            "--no-decay expects norm, bias or embedding, got 'norms', did you "
            "mean 'norm'?");
  EXPECT_NE(errorOf({"--no-decay", "norm,"}), "");
}

TEST(Options, NamesTheNearestFlag) {
  EXPECT_EQ(errorOf({"--stepz", "3"}),
            "unknown flag --stepz, did you mean '--steps'?; see --help");
  EXPECT_EQ(errorOf({"--wamrup-steps=3"}),
            "unknown flag --wamrup-steps, did you mean '--warmup-steps'?; see "
            "--help");
  EXPECT_EQ(errorOf({"--learning-rate", "3"}),
            "unknown flag --learning-rate: it is --lr here; see --help");
  EXPECT_EQ(errorOf({"--per_device_train_batch_size=3"}),
            "unknown flag --per_device_train_batch_size: it is --dim batch=N "
            "of shardc, when the trainer is compiled; see --help");
  EXPECT_EQ(errorOf({"--zzzzzzzzzzzz"}),
            "unknown flag --zzzzzzzzzzzz; see --help");
  EXPECT_EQ(errorOf({"file.npy"}),
            "unexpected argument 'file.npy'; see --help");
}

TEST(Options, ChecksRanges) {
  EXPECT_EQ(errorOf({"--lr", "-1"}),
            "--lr expects a number of 0 or more, got '-1'");
  EXPECT_EQ(errorOf({"--lr", "nan"}),
            "--lr expects a number of 0 or more, got 'nan'");
  EXPECT_EQ(errorOf({"--lr", "1e999"}),
            "--lr expects a number of 0 or more, got '1e999'");
  EXPECT_EQ(errorOf({"--lr", "0.1x"}),
            "--lr expects a number of 0 or more, got '0.1x'");
  EXPECT_EQ(errorOf({"--steps", "1e3"}),
            "--steps expects an integer of 0 or more, got '1e3'");
  EXPECT_EQ(
      errorOf({"--steps", "99999999999999999999"}),
      "--steps expects an integer of 0 or more, got '99999999999999999999'");
  EXPECT_EQ(errorOf({"--betas", "0.9,1"}),
            "--betas expects a number from 0 to less than 1, got '1'");
  EXPECT_EQ(errorOf({"--betas", "0.9"}),
            "--betas expects two numbers, as in 0.9,0.999, got '0.9'");
  EXPECT_EQ(errorOf({"--data", "x"}),
            "--data expects NAME=PATH or synthetic:SEED, got 'x'");
  EXPECT_EQ(errorOf({"--init", "zeros"}),
            "--init expects file or random, got 'zeros'");
  EXPECT_EQ(errorOf({"--schedule", "cosin"}),
            "--schedule expects constant, linear, cosine, polynomial, "
            "cosine_with_restarts, inverse_sqrt, warmup_stable_decay or "
            "reduce_lr_on_plateau, got 'cosin', did you mean 'cosine'?");
  EXPECT_EQ(errorOf({"--lr"}), "--lr needs a value");
  EXPECT_EQ(errorOf({"--lr", "--steps", "3"}),
            "--lr expects a number of 0 or more, got '--steps'");
  EXPECT_NE(errorOf({"--shuffle=3"}), "");
}

TEST(Options, RefusesWhatCannotGoTogether) {
  EXPECT_EQ(errorOf({"--steps", "1", "--epochs", "1"}),
            "--steps and --epochs exclude each other");
  for (const char *init : {"random", "file"})
    EXPECT_NE(errorOf({"--init", init, "--weights", "x.onnx"}), "");
  EXPECT_NE(errorOf({"--warmup-start-factor", "0.1"}), "");
  EXPECT_EQ(errorOf({"--warmup-start-factor", "0.1", "--warmup-steps", "0"}),
            "");
  EXPECT_NE(errorOf({"--min-lr", "1e-5"}), "");
  EXPECT_NE(errorOf({"--min-lr", "1", "--schedule", "cosine"}), "");
  EXPECT_EQ(errorOf({"--min-lr", "1e-5", "--schedule", "linear"}), "");
  EXPECT_NE(errorOf({"--eval-every", "2"}), "");
  EXPECT_NE(errorOf({"--nesterov"}), "");
  EXPECT_EQ(errorOf({"--clip-norm", "1"}),
            "--clip-norm has no effect without --clip");
  EXPECT_EQ(errorOf({"--clip-norm", "1", "--clip", "1"}), "");
  EXPECT_EQ(errorOf({"--loss-scale", "8", "--loss-scale-window", "5"}),
            "--loss-scale-window has no effect with --loss-scale 8, which is "
            "fixed; use --loss-scale dynamic");
  EXPECT_EQ(errorOf({"--loss-scale-min", "100000"}),
            "--loss-scale-min 100000 is above --loss-scale-initial 65536");
}

TEST(Options, RefusesWhatIsGivenTwice) {
  EXPECT_EQ(errorOf({"--lr", "1", "--lr=2"}),
            "--lr is given twice: 1 and 2; give it once");
  EXPECT_EQ(errorOf({"--loss-scale", "8", "--loss-scale", "dynamic"}),
            "--loss-scale is given twice: 8 and dynamic; give it once");
  EXPECT_EQ(errorOf({"--steps", "1", "--steps", "1", "--steps", "1"}),
            "--steps is given 3 times: 1 and 1; give it once");
  EXPECT_EQ(errorOf({"--shuffle", "--shuffle"}),
            "--shuffle is given twice; give it once");
  EXPECT_EQ(errorOf({"--data", "a=1", "--data", "b=2", "--group",
                     "match=a,lr-scale=1", "--group", "match=b,lr-scale=1"}),
            "");
}

TEST(Options, KnowsWhichNumbersAScheduleHas) {
  EXPECT_EQ(errorOf({"--lr-power", "2", "--schedule", "cosine"}),
            "--lr-power has no effect with --schedule cosine; use polynomial");
  EXPECT_EQ(errorOf({"--timescale", "2", "--schedule", "linear"}),
            "--timescale has no effect with --schedule linear; use "
            "inverse_sqrt");
  EXPECT_EQ(errorOf({"--num-cycles", "1.5", "--schedule", "cosine"}), "");
  EXPECT_EQ(
      errorOf({"--num-cycles", "1.5", "--schedule", "cosine_with_restarts"}),
      "--num-cycles of cosine_with_restarts expects a whole number, got 1.5");
  EXPECT_EQ(errorOf({"--warmup-shape", "cosine"}),
            "--warmup-shape has no effect without --warmup-steps or "
            "--warmup-ratio");
  EXPECT_EQ(errorOf({"--warmup-shape", "cosine", "--warmup-ratio", "0.1"}), "");
  EXPECT_EQ(errorOf({"--warmup-steps", "1", "--warmup-ratio", "0.1"}),
            "--warmup-steps and --warmup-ratio exclude each other");
  EXPECT_NE(errorOf({"--warmup-ratio", "1.1"}), "");
  EXPECT_EQ(errorOf({"--schedule", "linear", "--min-lr", "1e-5",
                     "--min-lr-ratio", "0.1"}),
            "--min-lr and --min-lr-ratio exclude each other");
  EXPECT_EQ(errorOf({"--schedule", "warmup_stable_decay"}),
            "--schedule warmup_stable_decay needs --decay-steps");
  EXPECT_EQ(errorOf({"--schedule", "warmup_stable_decay", "--decay-steps", "5",
                     "--stable-steps", "5", "--total-steps", "10"}),
            "--total-steps has no effect with --stable-steps");
  EXPECT_EQ(errorOf({"--schedule", "warmup_stable_decay", "--decay-steps", "5",
                     "--decay-shape", "linear", "--num-cycles", "1"}),
            "--num-cycles has no effect without --decay-shape cosine");
  const char *plateau = "reduce_lr_on_plateau";
  EXPECT_EQ(errorOf({"--schedule", plateau}),
            "--schedule reduce_lr_on_plateau needs --eval-every");
  EXPECT_EQ(errorOf({"--schedule", plateau, "--eval-every", "2", "--eval-data",
                     "x=x.npy", "--min-lr", "1e-5", "--plateau-factor", "0.5",
                     "--plateau-patience", "0", "--plateau-cooldown", "2",
                     "--plateau-threshold", "0"}),
            "");
  EXPECT_EQ(errorOf({"--schedule", plateau, "--eval-every", "2", "--eval-data",
                     "x=x.npy", "--plateau-factor", "1"}),
            "--plateau-factor expects a number below 1, got 1");
  EXPECT_EQ(errorOf({"--plateau-patience", "3"}),
            "--plateau-patience has no effect with --schedule constant; use "
            "reduce_lr_on_plateau");
}

TEST(Options, RefusesWhatChangesNothing) {
  EXPECT_EQ(errorOf({"--total-steps", "5"}),
            "--total-steps has no effect with --schedule constant; use linear, "
            "cosine, polynomial, cosine_with_restarts or warmup_stable_decay");
  EXPECT_EQ(errorOf({"--total-steps", "5", "--schedule", "linear"}), "");
  EXPECT_EQ(errorOf({"--min-lr", "1e-5", "--schedule", "inverse_sqrt"}),
            "--min-lr has no effect with --schedule inverse_sqrt; use linear, "
            "cosine, polynomial, cosine_with_restarts, warmup_stable_decay or "
            "reduce_lr_on_plateau");
  EXPECT_EQ(errorOf({"--eval-every", "2"}),
            "--eval-every has no effect without --eval-data");
  EXPECT_EQ(errorOf({"--trace-steps", "2"}),
            "--trace-steps has no effect without --trace");
  EXPECT_EQ(errorOf({"--peak-tflops", "2"}),
            "--peak-tflops has no effect without --metrics");
  EXPECT_EQ(errorOf({"--peak-tflops", "2", "--metrics", "m"}), "");
  EXPECT_EQ(errorOf({"--nesterov", "--momentum", "0"}),
            "--nesterov has no effect without --momentum");
  EXPECT_EQ(errorOf({"--clip-norm", "1", "--clip", "0"}),
            "--clip-norm has no effect without --clip");
  for (std::vector<const char *> flag :
       {std::vector<const char *>{"--export-gradients", "g"},
        {"--trace", "t"},
        {"--profile"}}) {
    std::vector<const char *> words = {"--steps", "0"};
    words.insert(words.end(), flag.begin(), flag.end());
    EXPECT_EQ(errorOf(words),
              std::string(flag[0]) + " has no effect with --steps 0");
    words[1] = "1";
    EXPECT_EQ(errorOf(words), "");
  }
  // A report is printed, and no file is written.
  for (const char *flag : {"--metrics", "--tensorboard", "--prometheus",
                           "--export-onnx", "--trace"}) {
    EXPECT_NE(errorOf({"--report", flag, "f"}), "");
    EXPECT_EQ(errorOf({"--report", flag, "f", "--data", "x=y"}), "");
    EXPECT_EQ(errorOf({"--report", flag, "f", "--dry-run"}), "");
  }
}

TEST(Options, RefusesWhatThePlanCannotHonour) {
  plan::Plan plan;
  auto errorWith = [&](std::vector<const char *> arguments) -> std::string {
    try {
      checkOptions(parse(std::move(arguments)), plan, traitsOf(plan));
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  plan.mutable_optimizer()->set_kind("adamw");
  EXPECT_EQ(errorWith({"--betas", "0.9,0.95", "--eps", "1e-6"}), "");
  EXPECT_EQ(errorWith({"--momentum", "0.9"}),
            "--momentum is a number of sgd and muon, and this trainer was "
            "compiled for adamw; "
            "compile it with shardc --optimizer sgd");
  plan.mutable_optimizer()->set_kind("sgd");
  EXPECT_EQ(errorWith({"--momentum", "0.9"}), "");
  EXPECT_EQ(
      errorWith({"--betas", "0.9,0.95"}),
      "--betas is a number of adamw, adam, lion, amsgrad and muon, and this "
      "trainer was compiled for sgd; compile it with shardc --optimizer "
      "adamw");
  EXPECT_NE(errorWith({"--eps", "1e-6"}), "");
  EXPECT_EQ(errorWith({"--no-decay", "norm"}),
            "--no-decay has no effect: the weight decay is 0; give "
            "--weight-decay");
  EXPECT_EQ(errorWith({"--no-decay", "norm", "--weight-decay", "0.1"}), "");
  EXPECT_EQ(errorWith({"--adjust-lr", "original"}),
            "--adjust-lr has no effect: it is muon's, and this trainer was "
            "compiled for sgd");
  EXPECT_NE(errorWith({"--no-nesterov"}), "");
  plan.mutable_optimizer()->set_kind("muon");
  EXPECT_EQ(
      errorWith({"--adjust-lr", "match_rms_adamw", "--no-nesterov", "--betas",
                 "0.9,0.95", "--eps", "1e-6", "--momentum", "0.9"}),
      "");
  EXPECT_EQ(errorWith({"--no-nesterov", "--momentum", "0"}),
            "--no-nesterov has no effect with --momentum 0");
  EXPECT_EQ(errorWith({"--nesterov", "--momentum", "0.9"}),
            "--nesterov has no effect: muon has Nesterov's momentum unless "
            "--no-nesterov says otherwise");
  EXPECT_NE(errorWith({"--adjust-lr", "none"}), "");
  plan.mutable_optimizer()->set_kind("sgd");
  plan.mutable_precision()->set_parameters(plan::BFLOAT16);
  EXPECT_EQ(errorWith({"--loss-scale-hysteresis", "2"}),
            "--loss-scale-hysteresis has no effect: this trainer computes in "
            "bfloat16, whose loss is not scaled; give --loss-scale dynamic");
  EXPECT_EQ(
      errorWith({"--loss-scale-hysteresis", "2", "--loss-scale", "dynamic"}),
      "");
  plan.mutable_precision()->set_parameters(plan::FLOAT16);
  EXPECT_EQ(errorWith({"--loss-scale-hysteresis", "2"}), "");
  EXPECT_EQ(errorWith({"--seed", "0"}),
            "--seed has no effect without --shuffle, --sampler, --init random "
            "or a model with dropout: nothing is drawn");
  for (const char *value : {"on", "off"})
    EXPECT_EQ(errorWith({"--dropout", value}),
              "--dropout has no effect: this trainer drops nothing; export the "
              "model in train mode, with dropout");
  EXPECT_EQ(errorWith({"--seed", "1", "--shuffle"}), "");
  EXPECT_EQ(errorWith({"--seed", "1", "--init", "random"}), "");
  plan.mutable_target()->mutable_cpu()->set_workers(2);
  EXPECT_EQ(errorWith({"--threads", "2"}), "");
  EXPECT_NE(errorWith({"--threads", "3"}), "");
}

TEST(Options, HelpListsTheInputsOfTheModel) {
  plan::Plan plan;
  plan::Input *input = plan.add_inputs();
  input->set_name("input_ids");
  input->mutable_tensor()->set_dtype(plan::INT64);
  input->mutable_tensor()->add_shape(4);
  input->mutable_tensor()->add_shape(128);
  const char *arguments[] = {"model.trainer", "--help"};
  Options options = parseOptions(2, arguments, &plan);
  ASSERT_TRUE(options.information);
  EXPECT_NE(options.information->find(
                "--data input_ids=FILE.npy  int64 [samples, 128]"),
            std::string::npos);
}

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abc", "acb"), 1u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}
