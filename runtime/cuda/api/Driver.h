// What the runtime calls of libcuda.so.1, with CUDA's own names, types, numbers
// and the symbols of CUDA 12 (a function without its suffix _v2 is another one).
// Written after the CUDA Driver API reference, 13.0; test/emulated-cuda holds it
// against cuda.h where CUDA's toolkit is.
#ifndef SHARDC_RUNTIME_CUDA_API_DRIVER_H
#define SHARDC_RUNTIME_CUDA_API_DRIVER_H

#include <cstddef>
#include <cstdint>

namespace shardc::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUhostFn = void (*)(void *userData);
struct CUuuid {
  char bytes[16];
};

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
  CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  CUDA_ERROR_UNKNOWN = 999,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, // kHz
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       // kHz
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, // bits
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97, // bytes
};
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};
enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,            // char *
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6, // a number, cast to void *
};
enum : unsigned {
  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_MEMHOSTALLOC_PORTABLE = 1,
};
enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};
enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

/// F(name, symbol, arguments): all return a CUresult.
#define SHARDC_CUDA_DRIVER(F)                                                  \
  F(cuInit, cuInit, (unsigned flags))                                          \
  F(cuDriverGetVersion, cuDriverGetVersion, (int *version))                    \
  F(cuGetErrorName, cuGetErrorName, (CUresult error, const char **text))       \
  F(cuGetErrorString, cuGetErrorString, (CUresult error, const char **text))   \
  F(cuDeviceGetCount, cuDeviceGetCount, (int *count))                          \
  F(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                \
  F(cuDeviceGetName, cuDeviceGetName, (char *name, int size, CUdevice device)) \
  F(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId,                                  \
    (char *name, int size, CUdevice device))                                   \
  F(cuDeviceGetAttribute, cuDeviceGetAttribute,                                \
    (int *value, CUdevice_attribute attribute, CUdevice device))               \
  F(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))   \
  F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                        \
    (CUcontext * context, CUdevice device))                                    \
  F(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2,                   \
    (CUdevice device))                                                         \
  F(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context))                     \
  F(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange,                  \
    (int *least, int *greatest))                                               \
  F(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))          \
  F(cuMemFree, cuMemFree_v2, (CUdeviceptr address))                            \
  F(cuMemGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))              \
  F(cuMemHostAlloc, cuMemHostAlloc,                                            \
    (void **address, size_t bytes, unsigned flags))                            \
  F(cuMemFreeHost, cuMemFreeHost, (void *address))                             \
  F(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                   \
    (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))         \
  F(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                   \
    (void *to, CUdeviceptr from, size_t bytes, CUstream stream))               \
  F(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                   \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))         \
  F(cuMemsetD8Async, cuMemsetD8Async,                                          \
    (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))      \
  F(cuStreamCreateWithPriority, cuStreamCreateWithPriority,                    \
    (CUstream * stream, unsigned flags, int priority))                         \
  F(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream))                    \
  F(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))               \
  F(cuStreamQuery, cuStreamQuery, (CUstream stream))                           \
  F(cuStreamWaitEvent, cuStreamWaitEvent,                                      \
    (CUstream stream, CUevent event, unsigned flags))                          \
  F(cuStreamWriteValue32, cuStreamWriteValue32_v2,                             \
    (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))    \
  F(cuLaunchHostFunc, cuLaunchHostFunc,                                        \
    (CUstream stream, CUhostFn function, void *userData))                      \
  F(cuEventCreate, cuEventCreate, (CUevent * event, unsigned flags))           \
  F(cuEventDestroy, cuEventDestroy_v2, (CUevent event))                        \
  F(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))            \
  F(cuEventQuery, cuEventQuery, (CUevent event))                               \
  F(cuEventSynchronize, cuEventSynchronize, (CUevent event))                   \
  F(cuEventElapsedTime, cuEventElapsedTime,                                    \
    (float *milliseconds, CUevent begin, CUevent end))                         \
  F(cuModuleLoadDataEx, cuModuleLoadDataEx,                                    \
    (CUmodule * module, const void *image, unsigned options,                   \
     CUjit_option *names, void **values))                                      \
  F(cuModuleUnload, cuModuleUnload, (CUmodule module))                         \
  F(cuModuleGetFunction, cuModuleGetFunction,                                  \
    (CUfunction * function, CUmodule module, const char *name))                \
  F(cuFuncGetAttribute, cuFuncGetAttribute,                                    \
    (int *value, CUfunction_attribute attribute, CUfunction function))         \
  F(cuFuncSetAttribute, cuFuncSetAttribute,                                    \
    (CUfunction function, CUfunction_attribute attribute, int value))          \
  F(cuLaunchKernel, cuLaunchKernel,                                            \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,      \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     CUstream stream, void **parameters, void **extra))                        \
  F(cuStreamBeginCapture, cuStreamBeginCapture_v2,                             \
    (CUstream stream, CUstreamCaptureMode mode))                               \
  F(cuStreamEndCapture, cuStreamEndCapture,                                    \
    (CUstream stream, CUgraph * graph))                                        \
  F(cuStreamIsCapturing, cuStreamIsCapturing,                                  \
    (CUstream stream, CUstreamCaptureStatus * status))                         \
  F(cuGraphGetNodes, cuGraphGetNodes,                                          \
    (CUgraph graph, CUgraphNode * nodes, size_t *count))                       \
  F(cuGraphInstantiate, cuGraphInstantiateWithFlags,                           \
    (CUgraphExec * executable, CUgraph graph, unsigned long long flags))       \
  F(cuGraphLaunch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))   \
  F(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec executable))          \
  F(cuGraphDestroy, cuGraphDestroy, (CUgraph graph))

} // namespace shardc::cuda

#endif
