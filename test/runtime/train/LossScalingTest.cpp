// Runs whose scaled gradients overflow: which steps are skipped, what the scale
// does, and that nothing else changes. The overflow is that of the norm: the
// square of a float64 above 1.3e154.
#include "test/runtime/train/TrainingTest.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {

constexpr int64_t sample = 17; // in step 2, and in 5 and 9 again

class Scaling : public TrainingTest {
protected:
  Scaling() {
    options.steps = 12;
    options.learningRate = 0.05;
    options.schedule.kind = Schedule::Kind::Linear;
    options.lossScale.dynamic = true;
  }

  /// As a loop with torch.amp.GradScaler does it: scale, unscale, step unless
  /// an inf was found, update; scheduler.step() in any case.
  void expectAsWithGradScaler(const plan::Plan &plan, int64_t microBatches,
                              double scale, int64_t window) {
    options.microBatches = microBatches;
    ASSERT_EQ(train(plan), 0);
    LinearReference reference;
    reference.parameters = initialValues(plan);
    std::vector<nlohmann::json> lines = metrics();
    ASSERT_EQ(lines.size(), 13u);
    int64_t growth = 0, skipped = 0;
    for (int64_t step = 0; step < 12; ++step) {
      double loss = reference.lossAndGradient(data, partsOf(step, 1, 8));
      double powers = 0;
      for (double value : reference.gradient)
        powers += scale * value * scale * value;
      bool finite = std::isfinite(powers);
      const nlohmann::json &line = lines[step];
      EXPECT_EQ(line["loss_scale"], scale) << step;
      EXPECT_EQ(line["skipped"], !finite) << step;
      if (std::isfinite(loss))
        EXPECT_NEAR(line["loss"].get<double>(), loss, 1e-12 * (1 + loss));
      double rate = 0.05 * (1 - step / 12.0);
      EXPECT_DOUBLE_EQ(line["learning_rate"].get<double>(), rate);
      if (finite) {
        EXPECT_NEAR(line["grad_norm"].get<double>() / reference.norm(), 1,
                    1e-12);
        reference.update(rate);
        if (++growth == window) {
          scale *= 2;
          growth = 0;
        }
      } else {
        EXPECT_TRUE(line["grad_norm"].is_null());
        scale /= 2;
        growth = 0;
        ++skipped;
      }
    }
    expectNear(values(plan, "p.safetensors"), reference.parameters, 1e-9);
    EXPECT_EQ(lines[12]["loss_scale"], scale);
    EXPECT_EQ(lines[12]["skipped_steps"], skipped);
    EXPECT_GT(skipped, 0);
    EXPECT_LT(skipped, 12);
  }
};

} // namespace

TEST_F(Scaling, SkipsWhatIsNotFiniteOnAllRanksAlike) {
  data.x[sample * LinearSamples::inputs] = 1e200;
  writeData();
  for (int64_t ranks : {1, 2, 4})
    for (int64_t microBatches : {1, 2}) {
      SCOPED_TRACE(testing::Message() << microBatches << " on " << ranks);
      expectAsWithGradScaler(LinearPlan(ranks, 8 / ranks / microBatches).plan,
                             microBatches, 65536, 2000);
      EXPECT_NE(printed.find("step 3/12: gradients not finite, step skipped, "
                             "loss scale 65536 -> 32768\n"),
                std::string::npos)
          << printed;
    }
}

// The same sample fits when the scale has come down, and not when it has grown
// again.
TEST_F(Scaling, FindsTheScaleThatFits) {
  for (int64_t i = 0; i < LinearSamples::samples; ++i)
    data.x[i * LinearSamples::inputs] = 1e145;
  writeData();
  options.lossScale.initial = std::ldexp(1.0, 37);
  options.lossScale.window = 3;
  expectAsWithGradScaler(LinearPlan(2, 4).plan, 1, std::ldexp(1.0, 37), 3);
}

TEST_F(Scaling, ChangesNothingElse) {
  plan::Plan plan = LinearPlan(2, 4).plan;
  options.clip = 0.2;
  EXPECT_EQ(train(plan), 0);
  std::vector<double> scaled = values(plan, "p.safetensors"),
                      gradients = values(plan, "g.safetensors");
  options.lossScale = {};
  EXPECT_EQ(train(plan), 0);
  // Powers of two round nothing.
  EXPECT_EQ(scaled, values(plan, "p.safetensors"));
  EXPECT_EQ(gradients, values(plan, "g.safetensors"));
}

TEST_F(Scaling, AFixedScaleStaysAndSkips) {
  data.x[sample * LinearSamples::inputs] = 1e200;
  writeData();
  options.lossScale = {};
  options.lossScale.fixed = 1000;
  options.steps = 3;
  EXPECT_EQ(train(LinearPlan(2, 4).plan), 0);
  std::vector<nlohmann::json> lines = metrics();
  EXPECT_EQ(lines[2]["skipped"], true);
  EXPECT_EQ(lines[3]["loss_scale"], 1000);
  EXPECT_NE(printed.find("step skipped, loss scale stays 1000\n"),
            std::string::npos);
}

TEST_F(Scaling, EndsWhereNoScaleHelps) {
  data.x[0] = NAN;
  writeData();
  options.steps = 100;
  options.lossScale.initial = 4;
  // Three steps to the smallest scale, and 20 with it.
  plan::Plan plan = LinearPlan(2, 15).plan;
  EXPECT_EQ(errorOf(plan),
            "the loss or the gradients of 20 steps up to step 21 (counting "
            "from 0) were not finite at the loss scale 1, the smallest "
            "allowed; exported was only " +
                (folder / "g.safetensors"));
  EXPECT_EQ(metrics().size(), 21u);
}
