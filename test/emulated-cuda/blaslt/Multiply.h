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

/// The parts of k that are added up, the last one first.
struct Parts {
  int count;
  bool areRounded; // to D's type, each by itself
};

/// Sums float64 in float64 and everything else in float32, each part by
/// OpenBLAS. What leaves is rounded to D's type, and nothing before where parts
/// are not. C is not read where `beta` is zero.
void multiply(const Problem &problem, Parts parts, double alpha, double beta,
              const Addresses &addresses);

} // namespace shardc::test::cuda

#endif
