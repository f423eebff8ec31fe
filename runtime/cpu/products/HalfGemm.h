// Matrix products with operands of 16 bits (half precision): sums are formed in
// float32 and rounded once. bfloat16 is multiplied as it is where the processor
// can (TiledGemm.h); otherwise tiles are converted to float32 on the way.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_HALFGEMM_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_HALFGEMM_H

#include "runtime/cpu/products/Gemm.h"
#include "runtime/cpu/products/GemmDesc.h"

#include <cstddef>
#include <cstdint>

namespace shardc::runtime::cpu {

/// Bytes of scratch memory per thread, for operands of any types; plan.proto
/// has the formula. The size grows with each dim up to that of a tile.
int64_t halfGemmWorkspace(int64_t m, int64_t n, int64_t k);

/// Computes a product on at most `workers` threads of the pool. Worker w uses
/// slice w of `workspace`, of halfGemmWorkspace() bytes. The result has the
/// same bits for every number of threads: tiles, and the order of their sums,
/// follow from the shape.
void halfGemm(const GemmDesc &product, std::byte *workspace, int workers,
              ThreadPool &pool);
void halfGemm(const GemmDesc &product, const Batch &batch, std::byte *workspace,
              int workers, ThreadPool &pool);

/// Does what prepareGemm() of Gemm.h does.
void prepareHalfGemm(const GemmDesc &product, const Batch &batch, int workers,
                     ThreadPool &pool);

} // namespace shardc::runtime::cpu

#endif
