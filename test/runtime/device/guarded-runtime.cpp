// A runtime like the one that trainers are made of, but on guarded devices;
// SHARDC_GUARD_SEED draws their order.
#include "runtime/TrainerMain.h"
#include "runtime/cpu/CpuPlatform.h"
#include "runtime/launch/Launcher.h"
#include "test/runtime/device/GuardedDevice.h"

#include <cstdlib>

namespace {

using namespace shardc;
using namespace shardc::runtime;

class GuardedPlatform final : public cpu::CpuPlatform {
public:
  DeviceFactory devices(const plan::Plan &plan,
                        std::span<const std::byte> section,
                        const DeviceOptions &) override {
    kernels.emplace(KernelLibrary::open(section, plan));
    const char *seed = std::getenv("SHARDC_GUARD_SEED");
    return guardedDevices(plan, *kernels,
                          seed ? std::strtoull(seed, nullptr, 10) : 0);
  }
};

} // namespace

int main(int argc, char **argv) {
  return shardc::runtime::trainerMain(
      argc, argv,
      [](const plan::Plan &) { return std::make_unique<GuardedPlatform>(); },
      shardc::runtime::launchedWorld);
}
