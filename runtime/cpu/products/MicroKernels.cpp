// libxsmm's matrices are column-major: its a is our b, its m our columns.
#include "runtime/cpu/products/MicroKernels.h"

#include "runtime/base/Error.h"
#include "runtime/simd/Level.h"

#include <cstdlib>
#include <libxsmm.h>
#include <string>

namespace shardc::runtime::cpu {
namespace {

// libxsmm reads its environment when it starts. Variables are meant for other
// programs' copies, as OpenBLAS's are: see Gemm.cpp.
__attribute__((constructor(101))) void prepareLibxsmm() {
  for (const char *name : {"LIBXSMM_TARGET", "LIBXSMM_VERBOSE", "LIBXSMM_DUMP",
                           "LIBXSMM_INIT", "LIBXSMM_TRACE"})
    unsetenv(name);
}

/// The instructions of libxsmm's kernels: never more than those of the loops
/// that pack operands for them (simd/Pack.cpp).
int target() {
  static const int id = [] {
    libxsmm_init();
    if (simd::level() < 4 && libxsmm_get_target_archid() > LIBXSMM_X86_AVX2)
      libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
    return libxsmm_get_target_archid();
  }();
  return id;
}

int64_t toldLanes = 0;

} // namespace

bool hasMicroKernels(Factors factors) {
  return simd::level() >= 3 &&
         target() >= (factors == Factors::bfloat16 ? LIBXSMM_X86_AVX512_CPX
                                                   : LIBXSMM_X86_AVX2);
}

MicroKernel microKernel(Factors factors, const MicroKernelShape &s) {
  libxsmm_blasint columns = s.columns, rows = s.rows, depth = s.depth;
  libxsmm_blasint strideA = s.strideA, strideB = s.strideB, strideC = s.strideC;
  float alpha = 1, beta = s.accumulate ? 1 : 0;
  int flags = s.transposeA ? LIBXSMM_GEMM_FLAG_TRANS_B : 0;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  MicroKernel kernel = nullptr;
  target(); // starts the library
  if (factors == Factors::bfloat16) {
    flags |= LIBXSMM_GEMM_FLAG_VNNI_A;
    kernel = reinterpret_cast<MicroKernel>(
        libxsmm_bsmmdispatch(columns, rows, depth, &strideB, &strideA, &strideC,
                             &alpha, &beta, &flags, &prefetch));
  } else {
    kernel = reinterpret_cast<MicroKernel>(
        libxsmm_smmdispatch(columns, rows, depth, &strideB, &strideA, &strideC,
                            &alpha, &beta, &flags, &prefetch));
  }
  if (!kernel)
    fail("libxsmm has no kernel for a product of ", s.rows, " x ", s.columns,
         " x ", s.depth, "; set SHARDC_GEMM=openblas");
  return kernel;
}

int64_t microKernelLanes() {
  if (toldLanes)
    return toldLanes;
  return target() >= LIBXSMM_X86_AVX512_CORE ? 16 : 8;
}

void blockAsForLanes(int64_t lanes) { toldLanes = lanes; }

bool isOfIntel() {
  static const bool is = __builtin_cpu_is("intel");
  return is;
}

const char *microKernelLibrary() {
  static const std::string name = [] {
    target();
    return std::string("libxsmm " LIBXSMM_VERSION " ") +
           libxsmm_get_target_arch();
  }();
  return name.c_str();
}

} // namespace shardc::runtime::cpu
