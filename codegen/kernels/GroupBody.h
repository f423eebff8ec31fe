// What a kernel computes, in the words of nn: kept beside its function of
// linalg, so that a plan can be read without the compiler.
#ifndef SHARDC_CODEGEN_KERNELS_GROUPBODY_H
#define SHARDC_CODEGEN_KERNELS_GROUPBODY_H

#include "codegen/kernels/KernelFunction.h"

namespace shardc::kernels {

/// The group's ops and what they absorb, in the order in which
/// buildKernelFunction builds them: {ops = [{attributes = {...}, name =
/// "rms_norm", operands = array<i64: 0, 1>, results = [tensor<2x64xf32>]}],
/// results = array<i64: 2>}. Values are counted, the inputs of the signature
/// first, then the results of ops. Attributes of other dialects (where an op
/// comes from, when it runs) are left out.
mlir::DictionaryAttr groupBody(const OpGroup &group,
                               const GroupSignature &signature);

} // namespace shardc::kernels

#endif
