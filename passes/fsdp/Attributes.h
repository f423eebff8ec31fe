// The names of attributes that the passes of the fsdp dialect leave for each
// other.
#ifndef SHARDC_PASSES_FSDP_ATTRIBUTES_H
#define SHARDC_PASSES_FSDP_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace shardc::fsdp {

/// Of the module, texts: why each unit is one, until there are units.
inline constexpr llvm::StringLiteral unitReasonsAttr = "fsdp.unit_reasons";
/// Of a unit, a text: units of one text are gathered together.
inline constexpr llvm::StringLiteral gatheredWithAttr = "fsdp.gathered_with";
/// Of the module, a text: whether gradients are added over micro-batches sharded
/// or unsharded.
inline constexpr llvm::StringLiteral accumulateAttr = "fsdp.accumulate";

} // namespace shardc::fsdp

#endif
