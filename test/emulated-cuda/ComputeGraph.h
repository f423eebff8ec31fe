// A TensorGraph computed step by step, in place of the library that fuses it.
#ifndef SHARDC_TEST_EMULATEDCUDA_COMPUTEGRAPH_H
#define SHARDC_TEST_EMULATEDCUDA_COMPUTEGRAPH_H

#include "runtime/cuda/attention/TensorGraph.h"

namespace shardc::test {

/// Addresses are this process's. In float64, but for what a tensor's type rounds.
void compute(const runtime::cuda::TensorGraph &graph);

} // namespace shardc::test

#endif
