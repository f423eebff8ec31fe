// Decides which generated ops of a function share a kernel.
#ifndef SHARDC_CODEGEN_KERNELS_KERNELGROUPS_H
#define SHARDC_CODEGEN_KERNELS_KERNELGROUPS_H

#include "codegen/kernels/KernelFunction.h"
#include "codegen/kernels/LoopNest.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::kernels {

/// The iteration space of an op or a group.
struct KernelSpace {
  LoopNest::Kind kind = LoopNest::Kind::Elements;
  /// With Elements the number of a result's elements, with Rows items x lanes,
  /// with Columns items x steps x lanes.
  int64_t elements = 0;
  int64_t items = 1, steps = 1, lanes = 1;
  /// Whether results are the operands' elements at the same place.
  bool elementwise = false;
};

/// Finds the iteration space of ops, that of each distinct one once.
class KernelSpaces {
public:
  /// Returns nothing where the op alone is not a kernel.
  std::optional<KernelSpace> of(mlir::Operation *op);

private:
  llvm::StringMap<std::optional<KernelSpace>> known;
};

struct KernelGroup {
  OpGroup ops;
  /// The kernel takes the place of this op: all that it reads has been
  /// computed, nothing that it reads has been released, and no one needs its
  /// results before.
  mlir::Operation *place = nullptr;
};

/// Groups the generated ops of a straight-line block, each into one group;
/// without `fuse` each is alone. Groups are in the order of their places.
llvm::SmallVector<KernelGroup> groupKernels(mlir::Block &block,
                                            KernelSpaces &spaces, bool fuse);

} // namespace shardc::kernels

#endif
