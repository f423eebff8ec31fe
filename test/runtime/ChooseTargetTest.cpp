// Which target a run takes, by flags, devices and ranks.
#include "runtime/ChooseTarget.h"

#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// A machine with so many devices.
class Devices final : public Platform {
public:
  explicit Devices(int count) : count(count) {}
  int deviceCount(const plan::Plan &) const override { return count; }
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
  int count;
};

plan::Plan planFor(const std::string &name) {
  plan::Plan plan;
  plan.mutable_target()->set_name(name);
  if (name.starts_with("cpu"))
    plan.mutable_target()->mutable_cpu();
  else
    plan.mutable_target()->mutable_cuda();
  return plan;
}

PlatformFactory machineWith(int count) {
  return
      [count](const plan::Plan &) { return std::make_unique<Devices>(count); };
}

PlatformFactory unasked() {
  return [](const plan::Plan &) -> std::unique_ptr<Platform> {
    fail("nobody is to be asked");
  };
}

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
    EXPECT_EQ(namedTarget(one, automatic), 0u);
    ChosenTarget chosen = chooseTarget(one, automatic, 4, unasked());
    EXPECT_EQ(chosen.index, 0u);
    EXPECT_EQ(chosen.why, "");
  }
}

TEST(ChooseTarget, AFlagDecides) {
  for (auto [device, index] :
       {std::pair(DeviceKind::Cpu, size_t(0)), {DeviceKind::Cuda, size_t(1)}}) {
    EXPECT_EQ(namedTarget(both, optionsOf(device)), index);
    EXPECT_EQ(chooseTarget(both, optionsOf(device), 4, unasked()).index, index);
  }
}

TEST(ChooseTarget, WhatWasNotCompiledIsRefused) {
  try {
    namedTarget({planFor("cpu:znver4")}, optionsOf(DeviceKind::Cuda));
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "--device cuda: this trainer was compiled for cpu:znver4; "
                 "compile it with shardc --target cpu,cuda");
  }
  EXPECT_THROW(namedTarget({planFor("cuda:sm_90")}, optionsOf(DeviceKind::Cpu)),
               Error);
}

TEST(ChooseTarget, GpusAreTakenWhereThereIsOneForEachRank) {
  EXPECT_EQ(namedTarget(both, automatic), std::nullopt);
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
