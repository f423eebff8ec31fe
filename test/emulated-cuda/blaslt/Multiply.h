// The arithmetic of a product, at addresses that the host may use.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_MULTIPLY_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_MULTIPLY_H

#include "test/emulated-cuda/blaslt/Problem.h"

namespace shardc::test::cuda {

struct Addresses {
  const void *a, *b, *c;
  void *d;
  void *bias; // null without an epilogue that has one
};

/// Sums float64 in float64 and everything else in float32: in `splits` parts of
/// k, each by OpenBLAS, the last part first. What leaves is rounded once to D's
/// type. C is not read where `beta` is zero.
void multiply(const Problem &problem, int splits, double alpha, double beta,
              const Addresses &addresses);

} // namespace shardc::test::cuda

#endif
