// What the runtime checks of a plan before it runs one: a serialized plan is
// described, its flags are resolved, and every rank binds it to memory.
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/CpuPlatform.h"
#include "runtime/engine/CheckPlan.h"
#include "runtime/engine/Executor.h"
#include "runtime/launch/ThreadWorld.h"
#include "runtime/train/Report.h"
#include "runtime/train/RunSettings.h"
#include "runtime/weights/RandomParameters.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;
using namespace shardc::runtime;

static void doNothing(void *const *, int64_t, int64_t) {}

/// Memory that the plan asks for is the plan's right: too much of it is no
/// finding, but would end the fuzzer.
static bool isSmall(const plan::Plan &plan) {
  int64_t bytes = 0;
  for (const plan::Pool &pool : plan.pools())
    if (pool.bytes() > 1 << 20 || (bytes += pool.bytes()) > 4 << 20)
      return false;
  for (const plan::Unit &unit : plan.units())
    if (unit.elements() > 1 << 20)
      return false;
  return plan.mesh().ranks() <= 4 && plan.target().cpu().workers() <= 4;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plan::Plan plan;
  if (!plan.ParseFromArray(data, static_cast<int>(size)))
    return 0;
  cpu::CpuPlatform platform;
  bool holds = false;
  fuzz::read([&] {
    checkPlan(plan);
    platform.checkTarget(plan);
    holds = true;
  });
  if (!holds)
    return 0;
  DeviceTraits device = platform.traits(plan);
  Options options;
  options.threads = 1;
  fuzz::read([&] { reportText(plan, device, 2, 2); });
  fuzz::read([&] {
    bannerText(plan, RunSettings::resolve(options, plan, device, 1000,
                                          ThreadWorld(1)));
  });
  fuzz::read([&] { RandomParameters drawn(plan, 0, nullptr); });
  if (!isSmall(plan))
    return 0;
  KernelLibrary library = KernelLibrary::of(
      std::vector<KernelFunction>(plan.kernels_size(), doNothing));
  fuzz::read([&] {
    ThreadWorld(static_cast<int>(plan.mesh().ranks()))
        .run([&](Communicator &communicator) {
          Rank::create(plan, cpu::cpuDevices(plan, library, {}), communicator,
                       RankOptions());
        });
  });
  return 0;
}
