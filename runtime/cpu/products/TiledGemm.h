// Matrix products over micro-kernels (MicroKernels.h), blocked and packed as in
// BLIS (GemmBlocking.h): operands are packed, and converted where they must be,
// block by block into memory of the calling thread.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_TILEDGEMM_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_TILEDGEMM_H

#include "runtime/cpu/products/Gemm.h"
#include "runtime/cpu/products/GemmDesc.h"

namespace shardc::runtime::cpu {

/// Whether this processor runs products that way (AVX2), and SHARDC_GEMM in
/// the environment does not say openblas. Throws an Error where it names
/// something else.
bool runsTiledGemm();
/// Whether a product is run that way. Small ones of float32 are not, nor are
/// those with alpha and something to add to.
bool isTiled(const GemmDesc &product);

/// Compute a product on the calling thread, and a batch of them on at most
/// `workers` threads of a pool. Every element of the result is one chain of
/// fused multiply-adds along k (bfloat16 operands: of dot products of pairs),
/// begun with c, the bias or zero, so that no cut changes a bit.
void tiledGemm(const GemmDesc &product);
void tiledGemm(const GemmDesc &product, const Batch &batch, int workers,
               ThreadPool &pool);

/// Generates the kernels that tiledGemm() will need.
void prepareTiledGemm(const GemmDesc &product, const Batch &batch, int workers);

/// Bytes that every thread which multiplies keeps for packed operands.
constexpr int64_t tiledGemmBytes = int64_t(5) << 20;
/// Allocates them for each thread of the pool; otherwise a thread's first
/// product does.
void prepareTiledGemmThreads(ThreadPool &pool);

} // namespace shardc::runtime::cpu

#endif
