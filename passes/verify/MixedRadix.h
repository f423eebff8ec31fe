// Which of a mesh's slices a rank has, by the digits of its number.
#ifndef SHARDC_PASSES_VERIFY_MIXEDRADIX_H
#define SHARDC_PASSES_VERIFY_MIXEDRADIX_H

#include "passes/fsdp/FSDP.h"

namespace shardc {

/// A rank's number in mixed radix: the weight of each digit, and how many
/// values it has.
using MixedRadix = llvm::SmallVector<std::pair<int64_t, int64_t>, 2>;

/// Appends a less significant digit, the rank's place in its group of this
/// kind; two that are neighbours in the rank's number, too, become one.
void append(MixedRadix &digits, fsdp::GroupOp group);

/// The coordinates in these dimensions as one number, which is that of a rank's
/// slice.
MixedRadix mixedRadixOf(fsdp::MeshOp mesh, llvm::ArrayRef<int64_t> over);
MixedRadix mixedRadixOf(fsdp::GroupOp group);

/// Whether two ranks can be in one group of both kinds: a group steps through
/// the digits from its stride on.
bool overlap(fsdp::GroupOp a, fsdp::GroupOp b);

} // namespace shardc

#endif
