// Matrix products with operands of 16 bits: sums are formed in float32 and
// rounded once. bfloat16 is multiplied as it is where the processor can
// (TiledGemm.h); otherwise tiles are converted to float32 on the way.
#ifndef SHARDC_RUNTIME_CPU_NARROWGEMM_H
#define SHARDC_RUNTIME_CPU_NARROWGEMM_H

#include "runtime/cpu/Gemm.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>

namespace shardc::runtime::cpu {

/// c = op(a) op(b) (+ bias) (+ c) as in Gemm.h; a, b, c and bias are float32,
/// bfloat16 or float16, each on its own. Strides are in elements.
struct NarrowGemm {
  struct Matrix {
    std::byte *data = nullptr;
    plan::DType dtype = plan::INVALID;
    int64_t stride = 0;
    bool transpose = false;
  };
  int64_t m, n, k;
  Matrix a, b, c;
  const std::byte *bias = nullptr; // [n]; not together with accumulate
  plan::DType biasDtype = plan::INVALID;
  bool accumulate = false;
  float alpha = 1; // a factor of the product
};

/// Bytes of scratch memory per thread, for any types; plan.proto has the
/// formula. Grows with each dim up to the size of a tile.
int64_t narrowGemmWorkspace(int64_t m, int64_t n, int64_t k);

/// On at most `workers` threads of the pool, worker w with slice w of
/// narrowGemmWorkspace() bytes of `workspace`. The result has the same bits for
/// every number of threads: tiles, and the order of their sums, follow from the
/// shape.
void narrowGemm(const NarrowGemm &product, std::byte *workspace, int workers,
                ThreadPool &pool);
void narrowGemm(const NarrowGemm &product, const Batch &batch,
                std::byte *workspace, int workers, ThreadPool &pool);

/// As prepareGemm() of Gemm.h.
void prepareNarrowGemm(const NarrowGemm &product, const Batch &batch,
                       int workers, ThreadPool &pool);

} // namespace shardc::runtime::cpu

#endif
