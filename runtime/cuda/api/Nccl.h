// What the runtime calls of libnccl.so.2 (2.28 or later), with its own names,
// types and numbers. Written after nccl.h of 2.28.9; test/emulated-cuda holds it
// against nccl.h where that is.
#ifndef SHARDC_RUNTIME_CUDA_API_NCCL_H
#define SHARDC_RUNTIME_CUDA_API_NCCL_H

#include "runtime/cuda/api/Driver.h"

#include <climits>

namespace shardc::cuda {

using ncclResult_t = int;
using ncclComm_t = struct ncclComm *;
using ncclWindow_t = struct ncclWindow_vidmem *;
struct ncclUniqueId {
  char internal[128];
};

enum : ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum ncclRedOp_t : int { ncclSum = 0, ncclMax = 2 };
enum ncclDataType_t : int {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt64 = 4,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};
/// Flags of ncclCommWindowRegister: buffers at equal offsets on all ranks.
enum : int { NCCL_WIN_COLL_SYMMETRIC = 1 };
/// ncclConfig_t::CTAPolicy: copies by copy engines, where that is possible.
enum : int { NCCL_CTA_POLICY_DEFAULT = 0, NCCL_CTA_POLICY_ZERO = 2 };
inline constexpr int ncclUndefined = INT_MIN;

struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 22809; // of the fields that follow
  int blocking = ncclUndefined;
  int cgaClusterSize = ncclUndefined;
  int minCTAs = ncclUndefined;
  int maxCTAs = ncclUndefined;
  const char *netName = nullptr;
  int splitShare = ncclUndefined;
  int trafficClass = ncclUndefined;
  const char *commName = nullptr;
  int collnetEnable = ncclUndefined;
  int CTAPolicy = ncclUndefined;
  int shrinkShare = ncclUndefined;
  int nvlsCTAs = ncclUndefined;
  int nChannelsPerNetPeer = ncclUndefined;
  int nvlinkCentricSched = ncclUndefined;
};

/// F(result, name, arguments)
#define SHARDC_CUDA_NCCL(F)                                                    \
  F(ncclResult_t, ncclGetVersion, (int *version))                              \
  F(const char *, ncclGetErrorString, (ncclResult_t result))                   \
  F(const char *, ncclGetLastError, (ncclComm_t comm))                         \
  F(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))                        \
  F(ncclResult_t, ncclCommInitRankConfig,                                      \
    (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank,                  \
     ncclConfig_t *config))                                                    \
  F(ncclResult_t, ncclCommDestroy, (ncclComm_t comm))                          \
  F(ncclResult_t, ncclCommAbort, (ncclComm_t comm))                            \
  F(ncclResult_t, ncclCommGetAsyncError,                                       \
    (ncclComm_t comm, ncclResult_t * result))                                  \
  F(ncclResult_t, ncclMemAlloc, (void **address, size_t bytes))                \
  F(ncclResult_t, ncclMemFree, (void *address))                                \
  F(ncclResult_t, ncclCommWindowRegister,                                      \
    (ncclComm_t comm, void *buffer, size_t bytes, ncclWindow_t *window,        \
     int flags))                                                               \
  F(ncclResult_t, ncclCommWindowDeregister,                                    \
    (ncclComm_t comm, ncclWindow_t window))                                    \
  F(ncclResult_t, ncclGroupStart, ())                                          \
  F(ncclResult_t, ncclGroupEnd, ())                                            \
  F(ncclResult_t, ncclAllGather,                                               \
    (const void *send, void *receive, size_t sendCount, ncclDataType_t type,   \
     ncclComm_t comm, CUstream stream))                                        \
  F(ncclResult_t, ncclReduceScatter,                                           \
    (const void *send, void *receive, size_t receiveCount,                     \
     ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream))   \
  F(ncclResult_t, ncclAllReduce,                                               \
    (const void *send, void *receive, size_t count, ncclDataType_t type,       \
     ncclRedOp_t op, ncclComm_t comm, CUstream stream))                        \
  F(ncclResult_t, ncclAlltoAll,                                                \
    (const void *send, void *receive, size_t count, ncclDataType_t type,       \
     ncclComm_t comm, CUstream stream))                                        \
  F(ncclResult_t, ncclSend,                                                    \
    (const void *send, size_t count, ncclDataType_t type, int peer,            \
     ncclComm_t comm, CUstream stream))                                        \
  F(ncclResult_t, ncclRecv,                                                    \
    (void *receive, size_t count, ncclDataType_t type, int peer,               \
     ncclComm_t comm, CUstream stream))

} // namespace shardc::cuda

#endif
