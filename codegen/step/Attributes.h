// The names of attributes that entries and kernels carry beside their own.
#ifndef SHARDC_CODEGEN_STEP_ATTRIBUTES_H
#define SHARDC_CODEGEN_STEP_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace shardc::step {

// -- of entries ---------------------------------------------------------------

/// A text: whose parameters an entry works on.
inline constexpr llvm::StringLiteral unitAttr = "step.unit";
/// A text: forward, backward or optimizer.
inline constexpr llvm::StringLiteral phaseAttr = "step.phase";
/// An i64: its operations.
inline constexpr llvm::StringLiteral flopsAttr = "step.flops";
/// i64s: the ranks that run it; without, all do.
inline constexpr llvm::StringLiteral ranksAttr = "step.ranks";
/// On entries that run in the first, or last, micro-batch of a step alone.
inline constexpr llvm::StringLiteral firstAttr = "step.first";
inline constexpr llvm::StringLiteral lastAttr = "step.last";

// -- of kernels and their arguments -------------------------------------------

/// A dictionary: the ops that a kernel was made of (kernels/GroupBody.h).
inline constexpr llvm::StringLiteral bodyAttr = "step.body";
/// Of an input that does not lie row-major without gaps: an i64 for each of its
/// dims, in elements.
inline constexpr llvm::StringLiteral stridesAttr = "step.strides";

} // namespace shardc::step

#endif
