// The executable that shardc copies and appends plans to: the place where its
// devices and its world are chosen.
#include "runtime/TrainerMain.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/CpuPlatform.h"
#include "runtime/cuda/CudaPlatform.h"
#include "runtime/launch/Launcher.h"

using namespace shardc;
using namespace shardc::runtime;

static std::unique_ptr<Platform> platformOf(const plan::Plan &plan) {
  switch (plan.target().kind_case()) {
  case plan::Target::kCpu:
    return std::make_unique<cpu::CpuPlatform>();
  case plan::Target::kCuda:
    return std::make_unique<runtime::cuda::CudaPlatform>();
  default:
    fail("this trainer is for ", plan.target().name(),
         ", which its runtime has no devices for");
  }
}

int main(int argc, char **argv) {
  return trainerMain(argc, argv, platformOf, launchedWorld);
}
