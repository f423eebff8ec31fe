// The loss scale against histories of torch's own GradScaler, and what goes
// beyond it.
#include "runtime/train/LossScaler.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

using namespace shardc::runtime;

namespace {

struct History {
  float initial;
  int64_t window, steps;
  std::vector<int64_t> notFinite;
  std::vector<std::pair<int64_t, float>> changes;
};
const History histories[] = {
#include "test/runtime/train/GradScalerHistory.inc"
};

LossScaling dynamic(float initial, int64_t window, float minimum = 1e-30f,
                    int64_t hysteresis = 1) {
  return {LossScaling::Kind::Dynamic, initial, minimum, window, hysteresis};
}

} // namespace

TEST(LossScaler, MovesAsGradScalerDoes) {
  for (const History &history : histories) {
    SCOPED_TRACE(testing::Message() << "from " << history.initial << " in "
                                    << history.window << " steps");
    LossScaler scaler(dynamic(history.initial, history.window));
    std::vector<std::pair<int64_t, float>> changes;
    for (int64_t step = 0; step < history.steps; ++step) {
      if (changes.empty() || changes.back().second != scaler.scale())
        changes.emplace_back(step, scaler.scale());
      scaler.update(!std::count(history.notFinite.begin(),
                                history.notFinite.end(), step));
    }
    EXPECT_EQ(changes, history.changes);
    EXPECT_EQ(scaler.skipped(), static_cast<int64_t>(history.notFinite.size()));
  }
}

// The tracker of Megatron-LM's DynamicGradScaler is full again only after the
// scale has grown; until then every further step that is not finite halves.
TEST(LossScaler, ToleratesAsManyStepsAsTheHysteresisSays) {
  LossScaler scaler(dynamic(1024, 3, 1, 2));
  std::vector<float> scales;
  for (bool finite : {false, true, true, false, true, false, true, true, true,
                      false, false, true}) {
    scaler.update(finite);
    scales.push_back(scaler.scale());
  }
  EXPECT_EQ(scales, (std::vector<float>{1024, 1024, 1024, 512, 512, 256, 256,
                                        256, 512, 512, 256, 256}));
  EXPECT_EQ(scaler.skipped(), 5);
}

TEST(LossScaler, StopsAtTheMinimumAndCountsTheStepsThere) {
  LossScaler scaler(dynamic(8, 2, 3));
  std::vector<float> scales;
  std::vector<int64_t> counts;
  for (bool finite : {false, false, false, false, true, false}) {
    scaler.update(finite);
    scales.push_back(scaler.scale());
    counts.push_back(scaler.skippedAtMinimum());
  }
  EXPECT_EQ(scales, (std::vector<float>{4, 3, 3, 3, 3, 3}));
  EXPECT_EQ(counts, (std::vector<int64_t>{0, 0, 1, 2, 0, 1}));
}

TEST(LossScaler, AFixedScaleStays) {
  LossScaler scaler({LossScaling::Kind::Fixed, 128});
  EXPECT_TRUE(scaler.skips());
  for (int i = 0; i < 3; ++i)
    scaler.update(false);
  EXPECT_EQ(scaler.scale(), 128);
  EXPECT_EQ(scaler.skippedAtMinimum(), 3);
  scaler.update(true);
  EXPECT_EQ(scaler.skippedAtMinimum(), 0);
}

TEST(LossScaler, WithoutScalingItIsOne) {
  LossScaler scaler({});
  EXPECT_FALSE(scaler.skips());
  EXPECT_EQ(scaler.scale(), 1);
}
