// Sums and maxima as a ring makes them: one rank's values after the other's,
// rounded to their type at each hop.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_REDUCE_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_REDUCE_H

#include "runtime/cuda/api/Nccl.h"

#include <cstddef>

namespace shardc::test::cuda {

using namespace shardc::cuda;

/// 0 of a type that is not known here.
size_t bytesOf(ncclDataType_t type);
const char *nameOf(ncclDataType_t type);

/// sum[i] = sum[i] op values[i]
void reduce(ncclDataType_t type, ncclRedOp_t op, std::byte *sum,
            const std::byte *values, size_t count);

} // namespace shardc::test::cuda

#endif
