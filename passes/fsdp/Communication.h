// What collectives say between ranks, as reports show it.
#ifndef SHARDC_PASSES_FSDP_COMMUNICATION_H
#define SHARDC_PASSES_FSDP_COMMUNICATION_H

#include "frontend/nn/support/ElementBytes.h"

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace shardc::fsdp {

enum class PhaseKind : uint32_t;

/// What waits for a collective, whose token it takes.
template <typename ConcreteOp>
class EndsCollective
    : public mlir::OpTrait::TraitBase<ConcreteOp, EndsCollective> {};

struct Communication {
  /// The elements and bytes of `tensor`.
  Communication(llvm::StringRef kind, PhaseKind phase, llvm::StringRef unit,
                llvm::StringRef group, mlir::Type tensor)
      : kind(kind), phase(phase), unit(unit), group(group),
        elementType(mlir::getElementTypeOrSelf(tensor)),
        bytes(nn::bytesOf(tensor)) {}

  llvm::StringRef kind; // all_gather, reduce_scatter, ...
  PhaseKind phase;
  llvm::StringRef unit;  // empty: of none, or of several
  llvm::StringRef group; // the `fsdp.group`; empty: all ranks of the mesh
  mlir::Type elementType;
  /// Of the whole that is gathered, or of what a rank gives to a reduction, or
  /// of all ranks' parts in an all-to-all.
  int64_t bytes;
  bool first = false, last = false; // in that micro-batch of a step alone
};

} // namespace shardc::fsdp

#endif
