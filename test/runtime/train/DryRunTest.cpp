// How many checkpoints lie on a disk at once.
#include "runtime/train/DryRun.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

TEST(DryRun, CountsTheCheckpointsOfARun) {
  Options options;
  RunSettings settings;
  settings.steps = 100;
  auto atOnce = [&] { return checkpointsAtOnce(options, settings); };
  EXPECT_EQ(atOnce(), 1); // that of the end
  options.checkpointEvery.steps = 30;
  EXPECT_EQ(atOnce(), 4); // 30, 60, 90, 100
  options.checkpointEvery.steps = 25;
  EXPECT_EQ(atOnce(), 4);
  settings.start.step = 50;
  EXPECT_EQ(atOnce(), 2);
  settings.start.step = 0;
  // Those that are kept, and the one that is being written.
  options.checkpointKeep = 2;
  EXPECT_EQ(atOnce(), 3);
  options.checkpointKeep = 9;
  EXPECT_EQ(atOnce(), 4);
  options.checkpointEvery = {};
  options.checkpointEvery.seconds = 60;
  EXPECT_EQ(atOnce(), 10);
  options.checkpointKeep = 0;
  EXPECT_EQ(atOnce(), 1);
  options.checkpointEvery = {};
  options.checkpointEvery.epochs = 2;
  options.epochs = 5;
  EXPECT_EQ(atOnce(), 3);
  options.checkpointKeep = 1;
  EXPECT_EQ(atOnce(), 2);
}
