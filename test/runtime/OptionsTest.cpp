// The command line: what is accepted, and the one-line errors for what is not.
#include "runtime/cli/Options.h"

#include "runtime/Error.h"
#include "runtime/cli/Suggest.h"

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
  EXPECT_EQ(options.schedule, Schedule::Kind::Cosine);
  EXPECT_TRUE(options.shuffle && options.initRandom);
  EXPECT_EQ(options.seed, ~uint64_t{0});
  EXPECT_EQ(options.weightDecay, 0.0);
  EXPECT_FALSE(options.momentum);
}

TEST(Options, NamesTheNearestFlag) {
  EXPECT_EQ(errorOf({"--stepz", "3"}),
            "unknown flag --stepz, did you mean '--steps'?; see --help");
  EXPECT_EQ(errorOf({"--wamrup-steps=3"}),
            "unknown flag --wamrup-steps, did you mean '--warmup-steps'?; see "
            "--help");
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
  EXPECT_EQ(errorOf({"--data", "x"}), "--data expects NAME=FILE.npy, got 'x'");
  EXPECT_EQ(errorOf({"--init", "zeros"}),
            "--init expects 'random', got 'zeros'");
  EXPECT_EQ(errorOf({"--schedule", "cosin"}),
            "--schedule expects constant, linear or cosine, got 'cosin', did "
            "you mean 'cosine'?");
  EXPECT_EQ(errorOf({"--lr"}), "--lr needs a value");
  EXPECT_EQ(errorOf({"--lr", "--steps", "3"}), "--lr expects a number of 0 or more, got '--steps'");
  EXPECT_NE(errorOf({"--shuffle=3"}), "");
}

TEST(Options, RefusesWhatCannotGoTogether) {
  EXPECT_EQ(errorOf({"--steps", "1", "--epochs", "1"}),
            "--steps and --epochs exclude each other");
  EXPECT_NE(errorOf({"--init", "random", "--weights", "x.onnx"}), "");
  EXPECT_NE(errorOf({"--warmup-start-factor", "0.1"}), "");
  EXPECT_EQ(errorOf({"--warmup-start-factor", "0.1", "--warmup-steps", "0"}),
            "");
  EXPECT_NE(errorOf({"--min-lr", "1e-5"}), "");
  EXPECT_NE(errorOf({"--min-lr", "1", "--schedule", "cosine"}), "");
  EXPECT_EQ(errorOf({"--min-lr", "1e-5", "--schedule", "linear"}), "");
  EXPECT_NE(errorOf({"--eval-every", "2"}), "");
  EXPECT_NE(errorOf({"--nesterov"}), "");
  EXPECT_NE(errorOf({"--metrics", "a", "--export-onnx", "a"}), "");
}

TEST(Options, RefusesWhatThePlanCannotHonour) {
  plan::Plan plan;
  auto errorWith = [&](std::vector<const char *> arguments) -> std::string {
    try {
      checkOptions(parse(std::move(arguments)), plan);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  plan.mutable_optimizer()->set_kind("adamw");
  plan.mutable_optimizer()->add_states("exp_avg");
  EXPECT_EQ(errorWith({"--betas", "0.9,0.95", "--eps", "1e-6"}), "");
  EXPECT_EQ(
      errorWith({"--momentum", "0.9"}),
      "--momentum is a number of sgd, and this trainer was compiled for adamw; "
      "compile it with shardc --optimizer sgd");
  plan.mutable_optimizer()->set_kind("sgd");
  EXPECT_EQ(errorWith({"--momentum", "0.9"}), "");
  EXPECT_NE(errorWith({"--betas", "0.9,0.95"}), "");
  EXPECT_NE(errorWith({"--eps", "1e-6"}), "");
  plan.mutable_optimizer()->clear_states();
  EXPECT_NE(errorWith({"--momentum", "0.9"}), "");
  plan.set_workers(2);
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
