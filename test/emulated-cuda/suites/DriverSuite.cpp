// How the suites open the driver, and what their tests begin with.
#include "DriverSuite.h"

#include <cstring>
#include <dlfcn.h>

namespace shardc::test::cuda {

static void *library() {
  static void *opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return opened;
}

const Driver *driver() {
  static const Driver *functions = []() -> const Driver * {
    if (!library())
      return nullptr;
    static Driver all;
    bool complete = true;
#define SHARDC_FIND(name, symbol, arguments)                                   \
  all.name = reinterpret_cast<decltype(all.name)>(dlsym(library(), #symbol));  \
  if (!all.name) {                                                             \
    ADD_FAILURE() << "libcuda.so.1 has no " #symbol;                           \
    complete = false;                                                          \
  }
    SHARDC_CUDA_DRIVER(SHARDC_FIND)
#undef SHARDC_FIND
    return complete && all.cuInit(0) == CUDA_SUCCESS ? &all : nullptr;
  }();
  return functions;
}

bool isEmulated() {
  char name[64] = "";
  return driver() && driver()->cuDeviceGetName(name, 64, 0) == CUDA_SUCCESS &&
         std::strcmp(name, "Emulated GPU") == 0;
}

void DriverSuite::SetUp() {
  if (!driver())
    GTEST_SKIP() << "there is no CUDA driver, or no device";
  CHECK_CUDA(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CUDA(cuCtxSetCurrent(context));
  stream = newStream();
  CHECK_CUDA(cuMemHostAlloc(reinterpret_cast<void **>(&pinned), pinnedWords * 4,
                            CU_MEMHOSTALLOC_PORTABLE));
}

void DriverSuite::TearDown() {
  if (!driver())
    return;
  // Ends all that is left.
  EXPECT_CUDA(cuDevicePrimaryCtxRelease(0));
  cuda.cuCtxSetCurrent(nullptr);
}

CUfunction DriverSuite::kernel(const std::string &body, const char *name) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n" + body;
  char log[4096] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER,
                          CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule module = nullptr;
  EXPECT_CUDA(cuModuleLoadDataEx(&module, text.c_str(), 2, names, values))
      << log;
  CUfunction function = nullptr;
  if (module)
    EXPECT_CUDA(cuModuleGetFunction(&function, module, name));
  return function;
}

CUdeviceptr DriverSuite::allocate(size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_CUDA(cuMemAlloc(&address, bytes));
  return address;
}

CUstream DriverSuite::newStream() {
  CUstream made = nullptr;
  EXPECT_CUDA(cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0));
  return made;
}

CUevent DriverSuite::newEvent(unsigned flags) {
  CUevent made = nullptr;
  EXPECT_CUDA(cuEventCreate(&made, flags));
  return made;
}

void DriverSuite::upload(CUdeviceptr to, const std::vector<uint32_t> &words) {
  std::memcpy(pinned, words.data(), words.size() * 4);
  EXPECT_CUDA(cuMemcpyHtoDAsync(to, pinned, words.size() * 4, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
}

std::vector<uint32_t> DriverSuite::download(CUdeviceptr from, size_t words) {
  EXPECT_CUDA(cuMemcpyDtoHAsync(pinned, from, words * 4, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  return {pinned, pinned + words};
}

void DriverSuite::launch(CUfunction function, unsigned blocks, unsigned threads,
                         std::vector<void *> parameters, CUstream in) {
  EXPECT_CUDA(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0,
                             in ? in : stream, parameters.data(), nullptr));
}

// Each takes (p, n) or (to, from, n); thread i has element i.
const char *const wordKernels = R"(
.visible .entry add1(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.b64 %d0, [p];
  ld.param.b32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p0, %r4, %r0;
  @%p0 bra $end;
  mul.wide.u32 %d1, %r4, 4;
  add.s64 %d2, %d0, %d1;
  ld.global.b32 %r5, [%d2];
  add.s32 %r6, %r5, 1;
  st.global.b32 [%d2], %r6;
$end:
  ret;
}
.visible .entry copyWords(.param .u64 to, .param .u64 from, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  ld.param.b64 %d0, [to];
  ld.param.b64 %d1, [from];
  ld.param.b32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p0, %r4, %r0;
  @%p0 bra $end;
  mul.wide.u32 %d2, %r4, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.b32 %r5, [%d3];
  add.s64 %d4, %d0, %d2;
  st.global.b32 [%d4], %r5;
$end:
  ret;
}
.visible .entry spin(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.b64 %d0, [p];
  ld.param.b32 %r0, [n];
  mov.u32 %r4, %tid.x;
  setp.ge.u32 %p0, %r4, %r0;
  @%p0 bra $end;
  mul.wide.u32 %d1, %r4, 4;
  add.s64 %d2, %d0, %d1;
  mov.b32 %r5, 0;
$loop:
  ld.volatile.global.b32 %r6, [%d2];
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 400000;
  @%p1 bra $loop;
  st.global.b32 [%d2], 7;
$end:
  ret;
}
)";

} // namespace shardc::test::cuda
