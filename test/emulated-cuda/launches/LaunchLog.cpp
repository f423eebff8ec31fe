// What a trainer asks of CUDA's libraries, a line for each call, so that a real
// GPU's calls can be held against the emulated one's. Preloaded (LD_PRELOAD), it
// answers the trainer's dlsym with functions that write a line and go on to the
// library's own; what the libraries call of each other is none of its business.
//
// SHARDC_LAUNCH_LOG names the file; FILE.memory has the most bytes of the device
// that were in use, as its driver reports them. Addresses, streams and events
// are numbered as they are made. One rank, on one thread.
#include "test/emulated-cuda/launches/Recording.h"

#include <cinttypes>
#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

namespace shardc::test::cuda {
namespace {

#define SHARDC_LOGGED() std::lock_guard lock(recording().mutex)

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  SHARDC_LOGGED();
  CUresult result = real.cuModuleGetFunction(function, module, name);
  if (result == CUDA_SUCCESS)
    recording().kernels[*function] = name;
  return result;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags,
                                    int priority) {
  SHARDC_LOGGED();
  CUresult result = real.cuStreamCreateWithPriority(stream, flags, priority);
  if (result == CUDA_SUCCESS)
    recording().streams.made(*stream);
  return result;
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  SHARDC_LOGGED();
  CUresult result = real.cuEventCreate(event, flags);
  if (result == CUDA_SUCCESS)
    recording().events.made(*event);
  return result;
}
CUresult cuEventDestroy(CUevent event) {
  SHARDC_LOGGED();
  recording().events.destroyed(event);
  return real.cuEventDestroy(event);
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  SHARDC_LOGGED();
  CUresult result = real.cuMemAlloc(address, bytes);
  if (result == CUDA_SUCCESS)
    allocated(*address, bytes);
  return result;
}
CUresult cuMemFree(CUdeviceptr address) {
  SHARDC_LOGGED();
  recording().allocations.erase(address);
  return real.cuMemFree(address);
}
ncclResult_t ncclMemAlloc(void **address, size_t bytes) {
  SHARDC_LOGGED();
  ncclResult_t result = real.ncclMemAlloc(address, bytes);
  if (result == ncclSuccess)
    allocated(reinterpret_cast<CUdeviceptr>(*address), bytes);
  return result;
}
ncclResult_t ncclMemFree(void *address) {
  SHARDC_LOGGED();
  recording().allocations.erase(reinterpret_cast<CUdeviceptr>(address));
  return real.ncclMemFree(address);
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  SHARDC_LOGGED();
  line("kernel %s: grid %u x %u x %u, block %u x %u x %u, shared %u, stream %d",
       recording().kernels[function].c_str(), gridX, gridY, gridZ, blockX,
       blockY, blockZ, sharedBytes, number(stream));
  return real.cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY,
                             blockZ, sharedBytes, stream, parameters, extra);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  SHARDC_LOGGED();
  line("upload %zu bytes to %s, stream %d", bytes, place(to).c_str(),
       number(stream));
  return real.cuMemcpyHtoDAsync(to, from, bytes, stream);
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  SHARDC_LOGGED();
  line("download %zu bytes from %s, stream %d", bytes, place(from).c_str(),
       number(stream));
  noteMemory();
  return real.cuMemcpyDtoHAsync(to, from, bytes, stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  SHARDC_LOGGED();
  line("copy %zu bytes from %s to %s, stream %d", bytes, place(from).c_str(),
       place(to).c_str(), number(stream));
  return real.cuMemcpyDtoDAsync(to, from, bytes, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  SHARDC_LOGGED();
  line("fill %zu bytes at %s with %u, stream %d", bytes, place(to).c_str(),
       value, number(stream));
  return real.cuMemsetD8Async(to, value, bytes, stream);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  SHARDC_LOGGED();
  line("stream %d waits for event %d", number(stream), number(event));
  return real.cuStreamWaitEvent(stream, event, flags);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  SHARDC_LOGGED();
  line("record event %d, stream %d", number(event), number(stream));
  return real.cuEventRecord(event, stream);
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address,
                              uint32_t value, unsigned flags) {
  SHARDC_LOGGED();
  line("write %" PRIu32 ", stream %d", value, number(stream));
  return real.cuStreamWriteValue32(stream, address, value, flags);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
  SHARDC_LOGGED();
  line("host function, stream %d", number(stream));
  return real.cuLaunchHostFunc(stream, function, userData);
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  SHARDC_LOGGED();
  line("begin capture, stream %d, mode %d", number(stream), mode);
  recording().isCapturing = true;
  return real.cuStreamBeginCapture(stream, mode);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  SHARDC_LOGGED();
  line("end capture, stream %d", number(stream));
  recording().isCapturing = false;
  return real.cuStreamEndCapture(stream, graph);
}
CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph,
                            unsigned long long flags) {
  SHARDC_LOGGED();
  CUresult result = real.cuGraphInstantiate(executable, graph, flags);
  if (result == CUDA_SUCCESS)
    recording().graphs.made(*executable);
  return result;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  SHARDC_LOGGED();
  line("graph %d, stream %d", recording().graphs.of(executable),
       number(stream));
  return real.cuGraphLaunch(executable, stream);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType scale) {
  SHARDC_LOGGED();
  cublasStatus_t result = real.cublasLtMatmulDescCreate(desc, compute, scale);
  if (result == CUBLAS_STATUS_SUCCESS)
    recording().products[*desc] = "compute " + std::to_string(compute);
  return result;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  SHARDC_LOGGED();
  std::string text;
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER) {
    text = place(*static_cast<void *const *>(value));
  } else {
    int32_t word = 0;
    std::memcpy(&word, value, std::min(bytes, sizeof(word)));
    text = std::to_string(word);
  }
  recording().products[desc] +=
      ", " + std::to_string(attribute) + " is " + text;
  return real.cublasLtMatmulDescSetAttribute(desc, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns,
                                          int64_t leadingDimension) {
  SHARDC_LOGGED();
  cublasStatus_t result = real.cublasLtMatrixLayoutCreate(
      layout, type, rows, columns, leadingDimension);
  if (result == CUBLAS_STATUS_SUCCESS)
    recording().layouts[*layout] =
        "type " + std::to_string(type) + " " + std::to_string(rows) + " x " +
        std::to_string(columns) + " of " + std::to_string(leadingDimension);
  return result;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  SHARDC_LOGGED();
  int64_t number = 0;
  std::memcpy(&number, value, std::min(bytes, sizeof(number)));
  recording().layouts[layout] +=
      ", " + std::to_string(attribute) + " is " + std::to_string(number);
  return real.cublasLtMatrixLayoutSetAttribute(layout, attribute, value, bytes);
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
               const void *alpha, const void *a, cublasLtMatrixLayout_t layoutA,
               const void *b, cublasLtMatrixLayout_t layoutB, const void *beta,
               const void *c, cublasLtMatrixLayout_t layoutC, void *d,
               cublasLtMatrixLayout_t layoutD, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, CUstream stream) {
  SHARDC_LOGGED();
  auto matrix = [](cublasLtMatrixLayout_t layout, const void *data) {
    return recording().layouts[layout] + " at " + place(data);
  };
  line("product (%s) of (%s) and (%s) to (%s), stream %d",
       recording().products[desc].c_str(), matrix(layoutA, a).c_str(),
       matrix(layoutB, b).c_str(), matrix(layoutD, d).c_str(), number(stream));
  return real.cublasLtMatmul(handle, desc, alpha, a, layoutA, b, layoutB, beta,
                             c, layoutC, d, layoutD, algo, workspace,
                             workspaceBytes, stream);
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t sendCount,
                           ncclDataType_t type, ncclComm_t comm,
                           CUstream stream) {
  SHARDC_LOGGED();
  line("all-gather %zu of type %d from %s to %s, stream %d", sendCount, type,
       place(send).c_str(), place(receive).c_str(), number(stream));
  return real.ncclAllGather(send, receive, sendCount, type, comm, stream);
}
ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count,
                          ncclDataType_t type, ncclComm_t comm,
                          CUstream stream) {
  SHARDC_LOGGED();
  line("all-to-all %zu of type %d from %s to %s, stream %d", count, type,
       place(send).c_str(), place(receive).c_str(), number(stream));
  return real.ncclAlltoAll(send, receive, count, type, comm, stream);
}
#undef SHARDC_LOGGED

/// Keeps the library's function, and gives the one that is called in its place
/// (the function itself where nobody asks for its calls).
void *inPlaceOf(const char *symbol, void *found) {
#define SHARDC_KEEP(name, exported, arguments)                                 \
  if (!std::strcmp(symbol, #exported))                                         \
    real.name = reinterpret_cast<decltype(real.name)>(found);
  SHARDC_CUDA_DRIVER(SHARDC_KEEP)
#undef SHARDC_KEEP
#define SHARDC_KEEP(result, name, arguments)                                   \
  if (!std::strcmp(symbol, #name))                                             \
    real.name = reinterpret_cast<decltype(real.name)>(found);
  SHARDC_CUDA_BLASLT(SHARDC_KEEP)
  SHARDC_CUDA_NCCL(SHARDC_KEEP)
#undef SHARDC_KEEP
#define SHARDC_INSTEAD(name, exported)                                         \
  {                                                                            \
    #exported, reinterpret_cast<void *>(name)                                  \
  }
  static const std::map<std::string, void *> logged = {
      SHARDC_INSTEAD(cuModuleGetFunction, cuModuleGetFunction),
      SHARDC_INSTEAD(cuStreamCreateWithPriority, cuStreamCreateWithPriority),
      SHARDC_INSTEAD(cuEventCreate, cuEventCreate),
      SHARDC_INSTEAD(cuEventDestroy, cuEventDestroy_v2),
      SHARDC_INSTEAD(cuMemAlloc, cuMemAlloc_v2),
      SHARDC_INSTEAD(cuMemFree, cuMemFree_v2),
      SHARDC_INSTEAD(cuLaunchKernel, cuLaunchKernel),
      SHARDC_INSTEAD(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2),
      SHARDC_INSTEAD(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2),
      SHARDC_INSTEAD(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2),
      SHARDC_INSTEAD(cuMemsetD8Async, cuMemsetD8Async),
      SHARDC_INSTEAD(cuStreamWaitEvent, cuStreamWaitEvent),
      SHARDC_INSTEAD(cuEventRecord, cuEventRecord),
      SHARDC_INSTEAD(cuStreamWriteValue32, cuStreamWriteValue32_v2),
      SHARDC_INSTEAD(cuLaunchHostFunc, cuLaunchHostFunc),
      SHARDC_INSTEAD(cuStreamBeginCapture, cuStreamBeginCapture_v2),
      SHARDC_INSTEAD(cuStreamEndCapture, cuStreamEndCapture),
      SHARDC_INSTEAD(cuGraphInstantiate, cuGraphInstantiateWithFlags),
      SHARDC_INSTEAD(cuGraphLaunch, cuGraphLaunch),
      SHARDC_INSTEAD(cublasLtMatmulDescCreate, cublasLtMatmulDescCreate),
      SHARDC_INSTEAD(cublasLtMatmulDescSetAttribute,
                     cublasLtMatmulDescSetAttribute),
      SHARDC_INSTEAD(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutCreate),
      SHARDC_INSTEAD(cublasLtMatrixLayoutSetAttribute,
                     cublasLtMatrixLayoutSetAttribute),
      SHARDC_INSTEAD(cublasLtMatmul, cublasLtMatmul),
      SHARDC_INSTEAD(ncclMemAlloc, ncclMemAlloc),
      SHARDC_INSTEAD(ncclMemFree, ncclMemFree),
      SHARDC_INSTEAD(ncclAllGather, ncclAllGather),
      SHARDC_INSTEAD(ncclAlltoAll, ncclAlltoAll),
  };
#undef SHARDC_INSTEAD
  auto instead = logged.find(symbol);
  return instead == logged.end() ? found : instead->second;
}

/// Whether code of the program itself, and of no library, lies there.
bool isOfTheProgram(void *address) {
  Dl_info of = {}, program = {};
  return dladdr(address, &of) &&
         dladdr(reinterpret_cast<void *>(getauxval(AT_PHDR)), &program) &&
         of.dli_fbase == program.dli_fbase;
}

} // namespace
} // namespace shardc::test::cuda

extern "C" __attribute__((visibility("default"))) void *
dlsym(void *library, const char *symbol) noexcept {
  using Lookup = void *(void *, const char *);
  static auto *own = [] {
    void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return reinterpret_cast<Lookup *>(
        found ? found : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  }();
  void *found = own(library, symbol);
  if (!found ||
      !shardc::test::cuda::isOfTheProgram(__builtin_return_address(0)))
    return found;
  return shardc::test::cuda::inPlaceOf(symbol, found);
}
