// The text that node_exporter's textfile collector reads.
#include "runtime/metrics/Prometheus.h"
#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

using namespace shardc::runtime;

namespace {

StepFigures figuresOf(int64_t step) {
  StepFigures figures;
  figures.step = step;
  figures.loss = 0.1 + 0.2;
  figures.gradientNorm = std::numeric_limits<double>::infinity();
  figures.learningRate = 1e-5;
  figures.perSecond = 1000;
  return figures;
}

void end(Prometheus &prometheus) {
  nlohmann::ordered_json summary;
  prometheus.end({false, "", summary});
}

} // namespace

TEST(Prometheus, WritesWhatItKnows) {
  TemporaryFolder folder;
  Terminal terminal;
  Prometheus prometheus(terminal, folder / "shardc.prom");
  EXPECT_EQ(folder.size(), 0u);
  prometheus.begin({0, 5, 8, "tokens", false, 0});
  EXPECT_EQ(prometheus.text(), "# HELP shardc_step Steps that are done.\n"
                               "# TYPE shardc_step gauge\n"
                               "shardc_step 0\n");
  prometheus.step(figuresOf(0));
  std::string text = folder.read("shardc.prom");
  for (const char *line :
       {"shardc_step 1\n", "shardc_loss 0.30000000000000004\n",
        "shardc_grad_norm +Inf\n", "shardc_learning_rate 1e-05\n",
        "# TYPE shardc_tokens_per_second gauge\nshardc_tokens_per_second "
        "1000\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("shardc_eval_loss"), std::string::npos);
}

TEST(Prometheus, WritesOnceASecondAndAtTheEnd) {
  TemporaryFolder folder;
  Terminal terminal;
  Prometheus prometheus(terminal, folder / "shardc.prom");
  prometheus.begin({0, 5, 8, "samples", false, 0});
  prometheus.step(figuresOf(0));
  prometheus.step(figuresOf(1));
  prometheus.evaluation(
      {2,
       1.5,
       10,
       1,
       0.5,
       {{"perplexity", 4.5}, {"accuracy", 0.25}, {"f1-macro", 0.5}}});
  std::string text = folder.read("shardc.prom");
  EXPECT_NE(text.find("shardc_step 1\n"), std::string::npos) << text;
  end(prometheus);
  text = folder.read("shardc.prom");
  EXPECT_EQ(text, prometheus.text());
  EXPECT_NE(text.find("shardc_step 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("shardc_samples_per_second 1000\n"), std::string::npos);
  EXPECT_NE(text.find("shardc_eval_loss 1.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("shardc_eval_accuracy 0.25\n"), std::string::npos);
  EXPECT_NE(text.find("shardc_eval_f1_macro 0.5\n"), std::string::npos);
  EXPECT_NE(text.find("shardc_eval_perplexity 4.5\n"), std::string::npos)
      << text;
  EXPECT_EQ(folder.size(), 1u);
}

TEST(Prometheus, AFolderThatGoesAwayEndsNoRun) {
  TemporaryFolder folder;
  Terminal terminal;
  EXPECT_THROW(Prometheus(terminal, folder / "none/shardc.prom"), Error);
  std::filesystem::create_directory(folder / "a");
  Prometheus prometheus(terminal, folder / "a/shardc.prom");
  std::filesystem::remove(folder / "a");
  testing::internal::CaptureStderr();
  prometheus.begin({0, 5, 8, "samples", false, 0});
  prometheus.step(figuresOf(0));
  end(prometheus);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("trainer: warning: cannot write "), 0u) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  std::filesystem::create_directory(folder / "a");
  end(prometheus);
  EXPECT_EQ(folder.read("a/shardc.prom"), prometheus.text());
}
