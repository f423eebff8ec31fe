// What the heuristic answers: an algorithm, which knows what it was asked for.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_ALGORITHM_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_ALGORITHM_H

#include "test/emulated-cuda/blaslt/Problem.h"

#include <optional>
#include <vector>

namespace shardc::test::cuda {

struct Algorithm {
  uint64_t problem = 0; // its digest
  uint64_t workspaceBytes = 0;
  int splits = 1; // parts of k
  int place = 0;  // among those that the heuristic names, from 0 on
  /// Parts, and the product beside what is added to it, are rounded to D's type:
  /// a scheme of reductions that the preference allows does so.
  bool roundsParts = false;
  /// What the pointers must be multiples of; the bias's, 16 at most, as it was
  /// when the heuristic was asked.
  uint16_t alignmentA = 0, alignmentB = 0, alignmentC = 0, alignmentD = 0,
           alignmentBias = 0;

  cublasLtMatmulAlgo_t encode() const;
  /// Nothing of bytes that encode() did not make.
  static std::optional<Algorithm> decode(const cublasLtMatmulAlgo_t &bytes);
};

/// The algorithms that need no more than the preference allows, the best first;
/// their sums differ in their order. Empty where an alignment is below an
/// element's size, or no power of two.
std::vector<Algorithm> choose(const Problem &problem,
                              const BlasLtMatmulPreference &preference,
                              const void *bias);

} // namespace shardc::test::cuda

#endif
