// A driver without a device, under its soname: as much as cuDNN asks for while it
// makes plans for a device that is described to it (CudnnPlan.h). It takes code,
// and runs none.
#include "runtime/cuda/api/Driver.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

using shardc::cuda::CUresult;

namespace {

constexpr CUresult found = CUresult(0), notFound = CUresult(500),
                   notSupported = CUresult(801);

CUresult nothing() { return notSupported; }

CUresult init(unsigned) { return found; }
CUresult driverVersion(int *version) {
  *version = 13000;
  return found;
}
CUresult deviceCount(int *count) {
  *count = 1;
  return found;
}
CUresult errorText(CUresult, const char **text) {
  *text = "a driver that runs nothing";
  return found;
}
CUresult exportTable(const void **, const void *) { return notFound; }

int library, kernel; // for their addresses
CUresult loadLibrary(void **to, const void *, void *, void *, unsigned, void *,
                     void *, unsigned) {
  *to = &library;
  return found;
}
CUresult findKernel(void **to, void *, const char *) {
  *to = &kernel;
  return found;
}
CUresult done() { return found; }

/// What NVIDIA's runtime, which is linked into cuDNN, gets by name.
CUresult procAddress(const char *name, void **to, int, uint64_t, int *status);

struct Function {
  std::string_view name;
  void *address;
};
const Function functions[] = {
    {"cuInit", reinterpret_cast<void *>(init)},
    {"cuDriverGetVersion", reinterpret_cast<void *>(driverVersion)},
    {"cuDeviceGetCount", reinterpret_cast<void *>(deviceCount)},
    {"cuGetErrorString", reinterpret_cast<void *>(errorText)},
    {"cuGetErrorName", reinterpret_cast<void *>(errorText)},
    {"cuGetExportTable", reinterpret_cast<void *>(exportTable)},
    {"cuGetProcAddress", reinterpret_cast<void *>(procAddress)},
    {"cuLibraryLoadData", reinterpret_cast<void *>(loadLibrary)},
    {"cuLibraryGetKernel", reinterpret_cast<void *>(findKernel)},
    {"cuLibraryUnload", reinterpret_cast<void *>(done)},
};

CUresult procAddress(const char *name, void **to, int, uint64_t, int *status) {
  *to = reinterpret_cast<void *>(nothing);
  for (const Function &each : functions)
    if (each.name == name)
      *to = each.address;
  if (status)
    *status = 0;
  return found;
}

} // namespace

// What cuDNN finds by symbol.
extern "C" {
CUresult cuGetProcAddress_v2(const char *name, void **to, int version,
                             uint64_t flags, int *status) {
  return procAddress(name, to, version, flags, status);
}
CUresult cuInit(unsigned flags) { return init(flags); }
CUresult cuDriverGetVersion(int *version) { return driverVersion(version); }
CUresult cuDeviceGetCount(int *count) { return deviceCount(count); }
CUresult cuGetErrorString(CUresult error, const char **text) {
  return errorText(error, text);
}
CUresult cuLibraryLoadData(void **to, const void *code, void *a, void *b,
                           unsigned c, void *d, void *e, unsigned f) {
  return loadLibrary(to, code, a, b, c, d, e, f);
}
CUresult cuLibraryGetKernel(void **to, void *from, const char *name) {
  return findKernel(to, from, name);
}
CUresult cuLibraryUnload() { return done(); }
CUresult cuGetErrorName(CUresult error, const char **text) {
  return errorText(error, text);
}
CUresult cuGetExportTable(const void **table, const void *id) {
  return exportTable(table, id);
}
#define SHARDC_NOTHING(name)                                                   \
  CUresult name() { return nothing(); }
SHARDC_NOTHING(cuCtxGetCurrent)
SHARDC_NOTHING(cuCtxGetDevice)
SHARDC_NOTHING(cuCtxGetLimit)
SHARDC_NOTHING(cuCtxPopCurrent)
SHARDC_NOTHING(cuCtxPushCurrent)
SHARDC_NOTHING(cuDeviceGet)
SHARDC_NOTHING(cuDeviceGetAttribute)
SHARDC_NOTHING(cuDevicePrimaryCtxRelease)
SHARDC_NOTHING(cuDevicePrimaryCtxReset)
SHARDC_NOTHING(cuDevicePrimaryCtxRetain)
SHARDC_NOTHING(cuFuncGetAttribute)
SHARDC_NOTHING(cuFuncSetAttribute)
SHARDC_NOTHING(cuKernelGetAttribute)
SHARDC_NOTHING(cuKernelGetFunction)
SHARDC_NOTHING(cuKernelSetAttribute)
SHARDC_NOTHING(cuLaunchCooperativeKernel)
SHARDC_NOTHING(cuLaunchKernel)
SHARDC_NOTHING(cuLaunchKernelEx)
SHARDC_NOTHING(cuLibraryLoadFromFile)
SHARDC_NOTHING(cuLinkAddData)
SHARDC_NOTHING(cuLinkAddData_v2)
SHARDC_NOTHING(cuLinkAddFile_v2)
SHARDC_NOTHING(cuLinkComplete)
SHARDC_NOTHING(cuLinkCreate)
SHARDC_NOTHING(cuLinkCreate_v2)
SHARDC_NOTHING(cuLinkDestroy)
SHARDC_NOTHING(cuMemcpyDtoH_v2)
SHARDC_NOTHING(cuModuleGetFunction)
SHARDC_NOTHING(cuModuleGetGlobal_v2)
SHARDC_NOTHING(cuModuleLoadData)
SHARDC_NOTHING(cuModuleLoadDataEx)
SHARDC_NOTHING(cuModuleLoadFatBinary)
SHARDC_NOTHING(cuModuleUnload)
SHARDC_NOTHING(cuOccupancyMaxActiveBlocksPerMultiprocessor)
SHARDC_NOTHING(cuOccupancyMaxPotentialClusterSize)
SHARDC_NOTHING(cuStreamGetCtx)
SHARDC_NOTHING(cuStreamSynchronize)
SHARDC_NOTHING(cuTensorMapEncodeIm2col)
SHARDC_NOTHING(cuTensorMapEncodeTiled)
#undef SHARDC_NOTHING
}
