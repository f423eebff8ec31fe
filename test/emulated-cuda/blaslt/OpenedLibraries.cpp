// Opening what the loader finds, and one device of it.
#include "test/emulated-cuda/blaslt/OpenedLibraries.h"

#include <dlfcn.h>

namespace shardc::test::cuda {
namespace {

template <typename Function>
void find(void *library, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

OpenedLibraries open() {
  OpenedLibraries all;
  if (void *driver = dlopen("libcuda.so.1", RTLD_NOW)) {
#define SHARDC_FIND(name, symbol, arguments) find(driver, #symbol, all.name);
    SHARDC_CUDA_DRIVER(SHARDC_FIND)
#undef SHARDC_FIND
    // currentDevice() of test/emulated-cuda/driver/Work.h.
    all.emulated = dlsym(driver, "_ZN6shardc4test4cuda13currentDeviceEv");
    all.hasDriver = all.cuInit(0) == CUDA_SUCCESS;
    if (all.hasDriver)
      all.cuDeviceGetCount(&all.devices);
  }
#define SHARDC_FIND(result, name, arguments) find(library, #name, all.name);
  for (const char *soname : {"libcublasLt.so.13", "libcublasLt.so.12"})
    if (!all.hasBlasLt)
      if (void *library = dlopen(soname, RTLD_NOW)) {
        all.hasBlasLt = true;
        SHARDC_CUDA_BLASLT(SHARDC_FIND)
      }
  if (void *library = dlopen("libnccl.so.2", RTLD_NOW)) {
    all.hasNccl = true;
    SHARDC_CUDA_NCCL(SHARDC_FIND)
  }
#undef SHARDC_FIND
  return all;
}

} // namespace

const OpenedLibraries &opened() {
  static const OpenedLibraries all = open();
  return all;
}

void check(int result, const char *call) {
  if (result)
    throw std::runtime_error(std::string(call) + " returns " +
                             std::to_string(result));
}

Device::Device(int ordinal) : ordinal(ordinal) {
  const OpenedLibraries &cuda = opened();
  CUdevice device;
  CUcontext context;
  SHARDC_CHECK(cuda.cuDeviceGet(&device, ordinal));
  SHARDC_CHECK(cuda.cuDevicePrimaryCtxRetain(&context, device));
  SHARDC_CHECK(cuda.cuCtxSetCurrent(context));
  SHARDC_CHECK(
      cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
}

Device::~Device() {
  const OpenedLibraries &cuda = opened();
  cuda.cuStreamSynchronize(stream);
  for (CUdeviceptr address : allocations)
    cuda.cuMemFree(address);
  if (pinned)
    cuda.cuMemFreeHost(pinned);
  cuda.cuStreamDestroy(stream);
  cuda.cuCtxSetCurrent(nullptr);
  cuda.cuDevicePrimaryCtxRelease(ordinal);
}

CUdeviceptr Device::allocate(size_t bytes) {
  CUdeviceptr address;
  SHARDC_CHECK(opened().cuMemAlloc(&address, bytes));
  allocations.push_back(address);
  return address;
}

void *Device::staging(size_t bytes) {
  if (bytes > pinnedBytes) {
    if (pinned)
      SHARDC_CHECK(opened().cuMemFreeHost(pinned));
    pinned = nullptr;
    SHARDC_CHECK(opened().cuMemHostAlloc(&pinned, bytes, 0));
    pinnedBytes = bytes;
  }
  return pinned;
}

void Device::upload(CUdeviceptr to, const void *from, size_t bytes) {
  std::memcpy(staging(bytes), from, bytes);
  SHARDC_CHECK(opened().cuMemcpyHtoDAsync(to, pinned, bytes, stream));
  settle();
}

void Device::download(void *to, CUdeviceptr from, size_t bytes) {
  SHARDC_CHECK(opened().cuMemcpyDtoHAsync(staging(bytes), from, bytes, stream));
  settle();
  std::memcpy(to, pinned, bytes);
}

} // namespace shardc::test::cuda
