// The learning rate of a step against its formula, written out by hand, and
// against what transformers and torch compute.
#include "runtime/train/Schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace shardc::runtime;

namespace {

struct Recorded {
  std::string name;
  Schedule schedule;
  std::vector<double> rates;
};

const std::vector<Recorded> recorded = {
#include "test/runtime/train/Schedules.inc"
};

} // namespace

TEST(Schedule, GivesTheRatesOfTransformersAndTorch) {
  ASSERT_EQ(recorded.size(), 20u);
  for (const auto &[name, schedule, rates] : recorded)
    for (size_t step = 0; step < rates.size(); ++step)
      EXPECT_NEAR(schedule.learningRate(step), rates[step],
                  1e-14 * schedule.peak)
          << name << ", step " << step;
}

TEST(Schedule, WarmsUpAlongALine) {
  Schedule schedule{Schedule::Kind::Constant, 1e-2, 0, 5, 0.1, 100};
  EXPECT_DOUBLE_EQ(schedule.learningRate(0), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.learningRate(1), 2.8e-3);
  EXPECT_DOUBLE_EQ(schedule.learningRate(5), 1e-2);
  EXPECT_DOUBLE_EQ(schedule.learningRate(99), 1e-2);
}

TEST(Schedule, FallsAlongALine) {
  Schedule schedule{Schedule::Kind::Linear, 1e-3, 0, 0, 0, 60};
  EXPECT_DOUBLE_EQ(schedule.learningRate(0), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.learningRate(1), 0.0009833333333333332);
  EXPECT_DOUBLE_EQ(schedule.learningRate(59), 1.6666666666666718e-05);
  EXPECT_DOUBLE_EQ(schedule.learningRate(1000), 0);
}

TEST(Schedule, FallsAlongHalfACosineToTheMinimum) {
  Schedule schedule{Schedule::Kind::Cosine, 1, 0.2, 10, 0, 30};
  EXPECT_DOUBLE_EQ(schedule.learningRate(10), 1);
  EXPECT_NEAR(schedule.learningRate(20), 0.6, 1e-15);
  EXPECT_NEAR(schedule.learningRate(15),
              0.2 + 0.8 * 0.5 * (1 + 0.70710678118654757), 1e-15);
  EXPECT_DOUBLE_EQ(schedule.learningRate(30), 0.2);
}

TEST(Schedule, EndsAtTheMinimumWhenWarmUpIsAllThereIs) {
  Schedule schedule{Schedule::Kind::Linear, 1, 0.25, 4, 0, 4};
  EXPECT_DOUBLE_EQ(schedule.learningRate(3), 0.75);
  EXPECT_DOUBLE_EQ(schedule.learningRate(4), 0.25);
}
