// The lines of --log-format hf.
#include "runtime/metrics/HfLog.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

using namespace shardc::runtime;

TEST(HfLog, NumbersAreWrittenAsPythonDoes) {
  for (auto [value, text] :
       std::initializer_list<std::pair<double, const char *>>{
           {0, "0.0"},
           {1, "1.0"},
           {-2.5, "-2.5"},
           {0.1 + 0.2, "0.30000000000000004"},
           {1e-4, "0.0001"},
           {1e-5, "1e-05"},
           {2.5e-7, "2.5e-07"},
           {1e15, "1000000000000000.0"},
           {1e16, "1e+16"},
           {123456, "123456.0"},
           {std::numeric_limits<double>::infinity(), "inf"},
           {-std::numeric_limits<double>::quiet_NaN(), "nan"}})
    EXPECT_EQ(pythonText(value), text);
}

namespace {

StepFigures figuresOf(int64_t step, double loss) {
  StepFigures figures;
  figures.step = step;
  figures.loss = loss;
  figures.gradientNorm = 0.93;
  figures.learningRate = 1e-3;
  figures.epoch = 0.125 * static_cast<double>(step + 1);
  return figures;
}

/// Numbers that differ from run to run are T.
std::string withoutTimes(const std::string &text) {
  static const std::regex times("(_runtime|_per_second)': [^,}]+");
  return std::regex_replace(text, times, "$1': T");
}

} // namespace

TEST(HfLog, PrintsTheKeysOfTransformers) {
  Terminal terminal;
  testing::internal::CaptureStdout();
  HfLog log(terminal, 2);
  log.begin({0, 3, 8, "tokens", false, 0});
  log.step(figuresOf(0, 3));
  log.step(figuresOf(1, 2.0000625));
  log.evaluation(
      {2, 1.75, 10, 0.5, 0.25, {{"perplexity", 5.75}, {"accuracy", 0.5}}});
  StepFigures skipped = figuresOf(2, std::numeric_limits<double>::infinity());
  skipped.lossScale = {8, 4, true};
  log.step(skipped);
  nlohmann::ordered_json summary;
  log.end({false, "done", summary});
  EXPECT_EQ(
      withoutTimes(testing::internal::GetCapturedStdout()),
      "{'loss': 2.5, 'grad_norm': 0.93, 'learning_rate': 0.001, "
      "'epoch': 0.25}\n"
      "{'eval_loss': 1.75, 'eval_perplexity': 5.75, 'eval_accuracy': 0.5, "
      "'eval_runtime': T, 'eval_samples_per_second': T, "
      "'epoch': 0.25}\n"
      "step 3/3: loss not finite, step skipped, loss scale 8 -> 4\n"
      "{'loss': nan, 'grad_norm': 0.93, 'learning_rate': 0.001, "
      "'epoch': 0.38}\n"
      "{'train_runtime': T, 'train_samples_per_second': T, "
      "'train_steps_per_second': T, 'train_loss': 2.50003125, 'epoch': "
      "0.38}\n");
}

TEST(HfLog, SaysNoMoreOfARunThatIsStopped) {
  Terminal terminal;
  testing::internal::CaptureStdout();
  HfLog log(terminal, 1);
  log.begin({0, 3, 8, "tokens", false, 0});
  nlohmann::ordered_json summary;
  log.end({true, "done", summary});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}
