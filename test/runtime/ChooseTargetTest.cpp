// Which target a run takes, by flags, devices and ranks.
#include "runtime/ChooseTarget.h"

#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// A machine with so many devices, or one that nobody is to look at (-1); GPUs
/// are other processes'.
class Devices final : public Platform {
public:
  Devices(const plan::Plan &plan, int count)
      : isGpu(plan.target().has_cuda()), count(count) {}
  DeviceTraits traits(const plan::Plan &) const override {
    return {.kind = isGpu ? DeviceKind::Cuda : DeviceKind::Cpu,
            .ranksShare = !isGpu};
  }
  void checkTarget(const plan::Plan &) const override {}
  bool wantsProcesses() const override { return isGpu; }
  void requireDevices(const plan::Plan &, int64_t ranks,
                      int64_t bytes) const override {
    if (ranks > count)
      fail(count, " here, and ", ranks, " ranks of ", bytes, " bytes");
  }
  int deviceCount(const plan::Plan &) const override {
    if (count < 0)
      fail("nobody is to look");
    return count;
  }
  void check(const plan::Plan &) const override {}
  int64_t bytesPerThread() const override { return 0; }
  DeviceRates measure(Device &, const DeviceOptions &, int64_t) const override {
    return {};
  }
  DeviceFactory devices(const plan::Plan &, std::span<const std::byte>,
                        const DeviceOptions &) override {
    return {};
  }

private:
  bool isGpu;
  int count;
};

plan::Plan planFor(const std::string &name, int ranks = 4) {
  plan::Plan plan;
  plan.mutable_mesh()->set_ranks(ranks);
  plan.add_pools()->set_bytes(1000);
  plan.mutable_target()->set_name(name);
  if (name.starts_with("cpu"))
    plan.mutable_target()->mutable_cpu();
  else
    plan.mutable_target()->mutable_cuda();
  return plan;
}

PlatformFactory machineWith(int count) {
  return [count](const plan::Plan &plan) {
    return std::make_unique<Devices>(plan, count);
  };
}

PlatformFactory unasked() { return machineWith(-1); }

Options optionsOf(DeviceKind device) {
  Options options;
  options.device = device;
  return options;
}

const std::vector<plan::Plan> both = {planFor("cpu:znver4"),
                                      planFor("cuda:sm_90")};
const Options automatic = optionsOf(DeviceKind::Auto);

} // namespace

TEST(ChooseTarget, TheOnlyOneIsTakenUnasked) {
  for (const char *name : {"cpu:znver4", "cuda:sm_90"}) {
    std::vector<plan::Plan> one = {planFor(name)};
    EXPECT_EQ(namedTarget(one, automatic, unasked()), 0u);
    ChosenTarget chosen = chooseTarget(one, automatic, 4, unasked());
    EXPECT_EQ(chosen.index, 0u);
    EXPECT_EQ(chosen.why, "");
  }
}

TEST(ChooseTarget, AFlagDecides) {
  for (auto [device, index] :
       {std::pair(DeviceKind::Cpu, size_t(0)), {DeviceKind::Cuda, size_t(1)}}) {
    EXPECT_EQ(namedTarget(both, optionsOf(device), unasked()), index);
    EXPECT_EQ(chooseTarget(both, optionsOf(device), 4, unasked()).index, index);
  }
}

TEST(ChooseTarget, WhatWasNotCompiledIsRefused) {
  try {
    namedTarget({planFor("cpu:znver4")}, optionsOf(DeviceKind::Cuda),
                unasked());
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "--device cuda: this trainer was compiled for cpu:znver4; "
                 "compile it with shardc --target cpu,cuda");
  }
  EXPECT_THROW(namedTarget({planFor("cuda:sm_90")}, optionsOf(DeviceKind::Cpu),
                           unasked()),
               Error);
}

TEST(ChooseTarget, GpusAreTakenWhereThereIsOneForEachRank) {
  EXPECT_EQ(namedTarget(both, automatic, unasked()), std::nullopt);
  ChosenTarget gpus = chooseTarget(both, automatic, 4, machineWith(4));
  EXPECT_EQ(gpus.index, 1u);
  EXPECT_EQ(gpus.why, "runs on cuda:sm_90, of cpu:znver4 and cuda:sm_90: 4 "
                      "devices here for cuda:sm_90 and 4 ranks");
  ChosenTarget processor = chooseTarget(both, automatic, 4, machineWith(1));
  EXPECT_EQ(processor.index, 0u);
  EXPECT_EQ(processor.why, "runs on cpu:znver4, of cpu:znver4 and cuda:sm_90: "
                           "1 device here for cuda:sm_90 and 4 ranks");
  // Whatever comes first in the file.
  std::vector<plan::Plan> turned = {both[1], both[0]};
  EXPECT_EQ(chooseTarget(turned, automatic, 1, machineWith(0)).index, 1u);
  EXPECT_EQ(chooseTarget(turned, automatic, 1, machineWith(8)).index, 0u);
}

namespace {

/// A launch that says how many processes each of `nodes` has, or does not.
Launch launchOf(bool isOpen, int nodes = 1) {
  Launch launch;
  launch.nodes = launch.processes = nodes;
  launch.isOpen = isOpen;
  return launch;
}

} // namespace

TEST(StartForDevices, GpusHaveAProcessEach) {
  for (int nodes : {1, 2}) {
    Launch launch = launchOf(true, nodes);
    auto chosen = startForDevices(launch, {both[1]}, automatic, machineWith(4));
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->index, 0u);
    EXPECT_EQ(launch.spawns, 4 / nodes);
    EXPECT_EQ(launch.processes, 4);
  }
}

TEST(StartForDevices, OthersDoNot) {
  Launch launch = launchOf(true);
  // The machine has to be asked, which is not done twice.
  auto chosen = startForDevices(launch, both, automatic, machineWith(2));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->index, 0u);
  EXPECT_EQ(chosen->why, "runs on cpu:znver4, of cpu:znver4 and cuda:sm_90: 2 "
                         "devices here for cuda:sm_90 and 4 ranks");
  EXPECT_EQ(launch.spawns, 0);
  EXPECT_FALSE(startForDevices(launch, both, optionsOf(DeviceKind::Cpu),
                               machineWith(4)));
  EXPECT_FALSE(startForDevices(launch, {planFor("cuda:sm_90", 1)}, automatic,
                               unasked()));
  Launch told = launchOf(false);
  EXPECT_FALSE(startForDevices(told, both, automatic, unasked()));
  // Ranks that do not fall into nodes are an error later on.
  Launch three = launchOf(true, 3);
  EXPECT_FALSE(startForDevices(three, both, automatic, unasked()));
  EXPECT_EQ(launch.spawns + told.spawns + three.spawns, 0);
}

TEST(StartForDevices, TooFewAreAnError) {
  Launch launch = launchOf(true);
  try {
    startForDevices(launch, both, optionsOf(DeviceKind::Cuda), machineWith(3));
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "3 here, and 4 ranks of 1000 bytes");
  }
  EXPECT_EQ(launch.spawns, 0);
}
