// A rank's hold of its GPU.
#include "runtime/cuda/Context.h"

#include "runtime/base/Error.h"

namespace shardc::runtime::cuda {

int capabilityOf(const Driver &driver, CUdevice device) {
  int major = 0, minor = 0;
  driver.cuDeviceGetAttribute(
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * major + minor;
}

void requireCapability(const Driver &driver, CUdevice device,
                       const plan::Plan &plan) {
  int needed = plan.target().cuda().capability();
  int has = capabilityOf(driver, device);
  if (has < needed)
    fail("the trainer is for GPUs of compute capability ", needed / 10, ".",
         needed % 10, " or newer, and ", nameOf(driver, device), " has ",
         has / 10, ".", has % 10, "; compile with --target cuda:sm_", has);
}

std::string modelOf(const Driver &driver, CUdevice device) {
  char name[128] = "";
  driver.cuDeviceGetName(name, sizeof(name), device);
  return name;
}

std::string nameOf(const Driver &driver, CUdevice device) {
  char bus[32] = "";
  driver.cuDeviceGetPCIBusId(bus, sizeof(bus), device);
  return concat(modelOf(driver, device), " (", bus, ")");
}

Context::Context(const Libraries &libraries, int ordinal)
    : libraries(libraries), driver(libraries.driver), ordinal(ordinal) {
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (ordinal >= count)
    fail("there ", count == 1 ? "is " : "are ", count,
         count == 1 ? " GPU" : " GPUs", " here, and a rank that wants number ",
         ordinal,
         "; start a process for each GPU, or compile for a smaller mesh");
  driver.cuDeviceGet(&device, ordinal);
  driver.cuDevicePrimaryCtxRetain(&context, device);
  use();
  capability = capabilityOf(driver, device);
  multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

Context::~Context() {
  driver.cuCtxSetCurrent.function(nullptr);
  driver.cuDevicePrimaryCtxRelease.function(device);
}

void Context::use() const { driver.cuCtxSetCurrent(context); }

int Context::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, attribute, device);
  return value;
}

int64_t Context::freeBytes() const {
  size_t free = 0, total = 0;
  driver.cuMemGetInfo(&free, &total);
  return static_cast<int64_t>(free);
}
int64_t Context::totalBytes() const {
  size_t bytes = 0;
  driver.cuDeviceTotalMem(&bytes, device);
  return static_cast<int64_t>(bytes);
}

} // namespace shardc::runtime::cuda
