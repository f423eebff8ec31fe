// CUDA's driver is opened by its name, since the compiler needs none.
#include "codegen/gpu/InstalledGpu.h"

#include <algorithm>
#include <dlfcn.h>
#include <limits>

namespace shardc::gpu {
namespace {

// As cuda.h has them.
using Init = int(unsigned flags);
using GetCount = int(int *count);
using GetDevice = int(int *device, int ordinal);
using GetAttribute = int(int *value, int attribute, int device);
constexpr int success = 0, capabilityMajor = 75, capabilityMinor = 76;

template <typename Function> Function *find(void *library, const char *name) {
  return reinterpret_cast<Function *>(dlsym(library, name));
}

/// The least compute capability of 8.0 or more among the GPUs, 90 for 9.0.
int leastCapability(void *driver) {
  auto *init = find<Init>(driver, "cuInit");
  auto *getCount = find<GetCount>(driver, "cuDeviceGetCount");
  auto *getDevice = find<GetDevice>(driver, "cuDeviceGet");
  auto *getAttribute = find<GetAttribute>(driver, "cuDeviceGetAttribute");
  int none = std::numeric_limits<int>::max(), count = 0;
  if (!init || !getCount || !getDevice || !getAttribute || init(0) != success ||
      getCount(&count) != success)
    return none;
  int least = none;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0, major = 0, minor = 0;
    if (getDevice(&device, ordinal) == success &&
        getAttribute(&major, capabilityMajor, device) == success &&
        getAttribute(&minor, capabilityMinor, device) == success && major >= 8)
      least = std::min(least, major * 10 + minor);
  }
  return least;
}

} // namespace

std::optional<std::string> installedGpu() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return std::nullopt;
  // Stays open: it may have threads by now.
  int least = leastCapability(driver);
  if (least == std::numeric_limits<int>::max())
    return std::nullopt;
  return least >= 100 ? "sm_100" : least >= 90 ? "sm_90" : "sm_80";
}

} // namespace shardc::gpu
