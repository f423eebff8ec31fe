// Whole runs of a plan made by hand, against the same training written out
// plainly.
#include "test/runtime/train/TrainingTest.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {
class Trainer : public TrainingTest {
protected:
  Trainer() {
    options.clip = 0.2;
    options.steps = 12;
    options.evalEvery.steps = 5;
  }
};
} // namespace

TEST_F(Trainer, IsTheSameOnEveryMesh) {
  for (int64_t ranks : {1, 2, 4}) {
    SCOPED_TRACE(ranks);
    plan::Plan plan = LinearPlan(ranks, 8 / ranks).plan;
    EXPECT_EQ(train(plan), 0);

    LinearReference reference;
    reference.parameters = initialValues(plan);
    std::vector<int64_t> all(LinearSamples::samples);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int64_t>(i);
    std::vector<nlohmann::json> lines = metrics(true);
    size_t line = 0;
    for (int64_t step = 0; step <= 12; ++step) {
      if (step % 5 == 0 || step == 12) {
        // The last batch of the evaluation is not full.
        EXPECT_EQ(lines[line]["event"], "eval");
        EXPECT_EQ(lines[line]["step"], step);
        EXPECT_NEAR(lines[line++]["loss"].get<double>(),
                    reference.lossAndGradient(data, {all}), 1e-12);
      }
      if (step == 12)
        break;
      double loss = reference.lossAndGradient(data, partsOf(step, 1, 8));
      EXPECT_EQ(lines[line]["step"], step);
      EXPECT_NEAR(lines[line]["loss"].get<double>(), loss, 1e-12);
      EXPECT_NEAR(lines[line]["grad_norm"].get<double>(), reference.norm(),
                  1e-12);
      EXPECT_EQ(lines[line]["learning_rate"], 0.05);
      EXPECT_FALSE(lines[line].contains("loss_scale"));
      EXPECT_GT(lines[line]["samples_per_second"].get<double>(), 0);
      EXPECT_GT(lines[line++]["step_seconds"].get<double>(), 0);
      if (step == 0)
        expectNear(values(plan, "g.safetensors"), reference.gradient, 1e-12);
      reference.update(0.05, 0.2);
    }
    expectNear(values(plan, "p.safetensors"), reference.parameters, 1e-11);

    const nlohmann::json &summary = lines[line];
    EXPECT_EQ(line + 1, lines.size());
    EXPECT_EQ(summary["event"], "summary");
    EXPECT_EQ(summary["steps"], 12);
    EXPECT_EQ(summary["memory"].size(), static_cast<size_t>(ranks));
    for (const nlohmann::json &rank : summary["memory"])
      for (const auto &[name, pool] : rank["pools"].items())
        EXPECT_EQ(pool["allocated_bytes"], name == "gather" && ranks > 1
                                               ? nlohmann::json(0)
                                               : pool["planned_bytes"])
            << name;
    EXPECT_GT(summary["peak_rss_bytes"].get<int64_t>(), 0);
    EXPECT_GT(summary["seconds_to_first_step"].get<double>(), 0);
  }
}

TEST_F(Trainer, StopsAtALossThatIsNotFinite) {
  data.x[17 * LinearSamples::inputs] = NAN; // in step 2
  writeData();
  options.evalEvery.steps = 0;
  folder.write("p.safetensors", "old");
  EXPECT_EQ(errorOf(LinearPlan(2, 4).plan)
                .find("the loss of step 2 (counting from 0) is"),
            0u);
  EXPECT_EQ(metrics().size(), 2u);
  EXPECT_EQ(folder.read("p.safetensors"), "old");
}

// Its norm's square is too large for a float64, and nothing scales the loss.
TEST_F(Trainer, StopsAtAGradientNormThatIsNotFinite) {
  data.x[17 * LinearSamples::inputs] = 1e200;
  writeData();
  options.evalEvery.steps = 0;
  EXPECT_EQ(errorOf(LinearPlan(2, 4).plan)
                .find("the gradient norm of step 2 (counting from 0) is inf"),
            0u);
}

TEST_F(Trainer, NeedsAWholeBatch) {
  EXPECT_EQ(
      errorOf(LinearPlan(4, 8).plan),
      "--data has 30 samples, too few for one global batch of 32 (8 on "
      "each of 4 ranks); compile the model for a batch of 7 (shardc --dim "
      "batch=7)");
  options.microBatches = 8;
  EXPECT_EQ(errorOf(LinearPlan(4, 1).plan),
            "--data has 30 samples, too few for one global batch of 32 (1 on "
            "each of 4 ranks, in 8 micro-batches); give --grad-accumulation 7");
  options.microBatches = int64_t{1} << 62;
  EXPECT_EQ(errorOf(LinearPlan(4, 1).plan),
            "--grad-accumulation 4611686018427387904 is too much");
}
