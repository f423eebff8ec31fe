// This machine's processor as the device of all ranks.
#include "runtime/cpu/CpuPlatform.h"

#include "runtime/base/Error.h"
#include "runtime/base/PlanNumbers.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/Processor.h"
#include "runtime/cpu/products/Gemm.h"

#include <chrono>
#include <unistd.h>
#include <vector>

namespace shardc::runtime::cpu {

DeviceTraits CpuPlatform::traits(const plan::Plan &plan) const {
  DeviceTraits traits;
  if (int64_t workers = plan.target().cpu().workers(); workers > 0)
    traits.mostThreads = workers;
  return traits;
}

void CpuPlatform::checkTarget(const plan::Plan &plan) const {
  const plan::CpuTarget &cpu = plan.target().cpu();
  if (cpu.extents_size() != plan.kernels_size())
    refusePlan("the target has ", cpu.extents_size(), " extents, the plan ",
               plan.kernels_size(), " kernels");
  for (int64_t extent : cpu.extents())
    checkPlanRange(extent, 0, mostInPlan, "an extent", "the target");
  checkPlanRange(cpu.workers(), 0, mostInPlan, "the workers", "the target");
}

void CpuPlatform::check(const plan::Plan &plan) const {
  if (!plan.target().has_cpu())
    fail("the plan is for ", plan.target().name(), ", and not for processors");
  checkProcessor(plan.target().cpu().processor());
}

int64_t CpuPlatform::bytesPerThread() const { return gemmThreadBytes(); }

namespace {

using Clock = std::chrono::steady_clock;

/// Runs of `body` per second, in a tenth of one, behind a first.
template <typename Body> double rateOf(Body body) {
  body();
  Clock::time_point begin = Clock::now();
  std::chrono::duration<double> seconds(0);
  int64_t runs = 0;
  for (; seconds.count() < 0.1; seconds = Clock::now() - begin, ++runs)
    body();
  return double(runs) / seconds.count();
}

template <typename T> double multiplies(ThreadPool &pool) {
  constexpr int64_t n = 768;
  std::vector<T> a(n * n, T(0.5)), b(n * n, T(0.25)), c(n * n);
  Gemm<T> product{n, n, n, a.data(), n, false, b.data(), n, false, c.data(), n};
  return 2 * double(n * n * n) * rateOf([&] { gemm(product, pool); });
}

/// Bytes that adding two vectors into a third reads and writes, all larger than
/// caches.
double streams(ThreadPool &pool) {
  constexpr int64_t count = 8 << 20;
  std::vector<float> a(count, 1), b(count, 2), c(count);
  return 3 * count * sizeof(float) * rateOf([&] {
           pool.forRanges(count, 1 << 16, [&](int64_t begin, int64_t end, int) {
             for (int64_t i = begin; i < end; ++i)
               c[i] = a[i] + b[i];
           });
         });
}

} // namespace

DeviceRates CpuPlatform::measure(Device &, const DeviceOptions &options,
                                 int64_t ranksPerHost) const {
  ThreadPool pool(options.workers, options.spin);
  DeviceRates rates;
  rates.flops32 = multiplies<float>(pool);
  rates.flops16 = rates.flops32; // products of 16 bits are computed in float32
  rates.flops64 = multiplies<double>(pool);
  rates.memoryBandwidth = streams(pool);
  rates.memory = double(sysconf(_SC_PHYS_PAGES)) *
                 double(sysconf(_SC_PAGESIZE)) / double(ranksPerHost);
  return rates;
}

DeviceFactory CpuPlatform::devices(const plan::Plan &plan,
                                   std::span<const std::byte> section,
                                   const DeviceOptions &options) {
  kernels.emplace(KernelLibrary::open(section, plan));
  return cpuDevices(plan, *kernels, options);
}

} // namespace shardc::runtime::cpu
