// Devices, contexts and errors' names.
#include "Api.h"
#include "Checks.h"
#include "Findings.h"
#include "Settings.h"

#include <cstdio>
#include <cstring>

namespace shardc::test::cuda {

static std::atomic<bool> isInitialized = false;
static thread_local CUctx_st *current = nullptr;

static CUctx_st &contextOf(int device) {
  static CUctx_st *all = new CUctx_st[16];
  all[device].device = device;
  return all[device];
}

template <typename T> static std::set<T *> &live() {
  static auto *all = new std::set<T *>;
  return *all;
}
template <typename T> bool isLive(T *handle) { return live<T>().count(handle); }
template <typename T> T *made(T *handle) {
  live<T>().insert(handle);
  return handle;
}
template <typename T> void destroyed(T *handle) {
  forget(handle);
  delete handle;
}
template <typename T> void forget(T *handle) { live<T>().erase(handle); }
#define SHARDC_HANDLE(T)                                                       \
  template bool isLive(T *);                                                   \
  template T *made(T *);                                                       \
  template void destroyed(T *);                                                \
  template void forget(T *);
SHARDC_HANDLE(CUstream_st)
SHARDC_HANDLE(CUevent_st)
SHARDC_HANDLE(CUmod_st)
SHARDC_HANDLE(CUfunc_st)
SHARDC_HANDLE(CUgraph_st)
SHARDC_HANDLE(CUgraphExec_st)
#undef SHARDC_HANDLE

CUresult enter(Context *&context) {
  if (!isInitialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!current || !current->users)
    return CUDA_ERROR_INVALID_CONTEXT;
  context = current;
  return current->error;
}

int currentDevice() { return current ? current->device : -1; }

static bool isDevice(CUdevice device) {
  return device >= 0 && device < settings().devices;
}

/// Cuts what does not fit, as the driver does.
static CUresult write(char *to, int size, const std::string &text) {
  if (!to || size <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, size_t(size), "%s", text.c_str());
  return CUDA_SUCCESS;
}

struct ErrorText {
  CUresult error;
  const char *name, *text;
};
static const ErrorText errorTexts[] = {
#define SHARDC_ERROR(name, text) {name, #name, text},
    SHARDC_ERROR(CUDA_SUCCESS, "no error") SHARDC_ERROR(
        CUDA_ERROR_INVALID_VALUE,
        "invalid argument") SHARDC_ERROR(CUDA_ERROR_OUT_OF_MEMORY,
                                         "out of memory")
        SHARDC_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error") SHARDC_ERROR(
            CUDA_ERROR_NO_DEVICE,
            "no CUDA-capable device is "
            "detected") SHARDC_ERROR(CUDA_ERROR_INVALID_DEVICE,
                                     "invalid device "
                                     "ordinal") SHARDC_ERROR(CUDA_ERROR_INVALID_IMAGE,
                                                             "device kernel "
                                                             "image is "
                                                             "invalid")
            SHARDC_ERROR(
                CUDA_ERROR_INVALID_CONTEXT,
                "invalid device "
                "context") SHARDC_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
                                        "no kernel image is "
                                        "available for "
                                        "execution on the "
                                        "device") SHARDC_ERROR(CUDA_ERROR_INVALID_PTX,
                                                               "a PTX JIT "
                                                               "compilation "
                                                               "failed")
                SHARDC_ERROR(
                    CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                    "the provided PTX was compiled with "
                    "an unsupported "
                    "toolchain.") SHARDC_ERROR(CUDA_ERROR_INVALID_HANDLE,
                                               "invalid resource "
                                               "handle") SHARDC_ERROR(CUDA_ERROR_NOT_FOUND,
                                                                      "named "
                                                                      "symbol "
                                                                      "not "
                                                                      "found")
                    SHARDC_ERROR(
                        CUDA_ERROR_NOT_READY,
                        "device not ready") SHARDC_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
                                                         "an illegal "
                                                         "memory "
                                                         "access was "
                                                         "encountered")
                        SHARDC_ERROR(
                            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                            "too "
                            "many "
                            "resou"
                            "rces "
                            "reque"
                            "sted "
                            "for "
                            "launc"
                            "h") SHARDC_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS,
                                              "misali"
                                              "gned "
                                              "addres"
                                              "s") SHARDC_ERROR(CUDA_ERROR_LAUNCH_FAILED,
                                                                "unspecified "
                                                                "launch "
                                                                "failure")
                            SHARDC_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                         "operation "
                                         "not "
                                         "permitted "
                                         "when "
                                         "stream "
                                         "is "
                                         "capturing")
                                SHARDC_ERROR(
                                    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                                    "operation failed due to a previous "
                                    "error "
                                    "during capture")
                                    SHARDC_ERROR(
                                        CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                                        "capture was not ended in the same "
                                        "stream as it began")
                                        SHARDC_ERROR(
                                            CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                                            "capturing stream has unjoined "
                                            "work")
                                            SHARDC_ERROR(
                                                CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                                                "dependency created on "
                                                "uncaptured work in "
                                                "another "
                                                "stream")
                                                SHARDC_ERROR(
                                                    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                                    "operation would make "
                                                    "the "
                                                    "legacy stream depend "
                                                    "on a "
                                                    "capturing "
                                                    "blocking stream")
                                                    SHARDC_ERROR(
                                                        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                                                        "attempt to "
                                                        "terminate "
                                                        "a thread-local "
                                                        "capture sequence "
                                                        "from "
                                                        "another thread")
                                                        SHARDC_ERROR(
                                                            CUDA_ERROR_UNKNOWN,
                                                            "unknown error")
#undef SHARDC_ERROR
};

static CUresult textOf(CUresult error, const char **text,
                       const char *ErrorText::*member) {
  for (const ErrorText &each : errorTexts)
    if (each.error == error) {
      *text = each.*member;
      return CUDA_SUCCESS;
    }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

} // namespace shardc::test::cuda

namespace shardc::cuda {
using namespace shardc::test::cuda;

extern "C" {

CUresult cuInit(unsigned flags) {
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (settings().devices == 0)
    return CUDA_ERROR_NO_DEVICE;
  static std::once_flag once;
  std::call_once(once, [] {
    reserveDeviceMemory();
    if (settings().checked)
      reserveGranules();
    watchFaults();
  });
  isInitialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  return textOf(error, text, &ErrorText::name);
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  return textOf(error, text, &ErrorText::text);
}

CUresult cuDeviceGetCount(int *count) {
  if (!isInitialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = settings().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (!isInitialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  return write(name, size, "Emulated GPU");
}

CUresult cuDeviceGetPCIBusId(char *name, int size, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", unsigned(device) & 0xff);
  return write(name, size, text);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 1000000;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 2;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    *value = 64;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = settings().capability / 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = settings().capability % 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = 227 << 10;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  *bytes = settings().bytes;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (!isInitialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard lock(driverMutex);
  *context = &contextOf(device);
  ++(*context)->users;
  return (*context)->error;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  std::vector<CUstream> streams;
  {
    std::lock_guard lock(driverMutex);
    CUcontext context = &contextOf(device);
    if (!context->users)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->users)
      return CUDA_SUCCESS;
    streams.assign(context->streams.begin(), context->streams.end());
    context->streams.clear();
  }
  for (CUstream each : streams) {
    each->finish();
    std::lock_guard lock(driverMutex);
    destroyed(each);
  }
  releaseAll(device);
  contextOf(device).error = CUDA_SUCCESS;
  contextOf(device).hasLaunchedGraphs = false;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (!isInitialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  current = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  SHARDC_ENTER;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

} // extern "C"

} // namespace shardc::cuda
