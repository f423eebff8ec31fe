// The bytes of host tensors, as kernels read and write them.
#ifndef SHARDC_TEST_LIB_TENSORBYTES_H
#define SHARDC_TEST_LIB_TENSORBYTES_H

#include "frontend/nn/HostTensor.h"

#include <vector>

namespace shardc::test {

/// Elements in row-major order; a boolean is one byte.
using Bytes = std::vector<char>;

/// How many bytes a tensor of this type has.
int64_t bytesOf(mlir::RankedTensorType type);

/// Floats are rounded to the tensor's type, integers cut to it.
Bytes toBytes(const nn::HostTensor &tensor);
/// `bytes` has as many as the type says.
nn::HostTensor fromBytes(mlir::RankedTensorType type, const Bytes &bytes);

} // namespace shardc::test

#endif
