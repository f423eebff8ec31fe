// What entries put on links, as the cost model takes it.
#ifndef SHARDC_CODEGEN_STEP_COMMUNICATION_H
#define SHARDC_CODEGEN_STEP_COMMUNICATION_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace shardc::step {

struct Communication {
  enum class Primitive {
    allGather,
    reduceScatter,
    allReduce,
    allToAll,
    transfer
  };
  Primitive primitive;
  /// What has one queue and one group runs one behind the other.
  llvm::StringRef queue;
  /// The `fsdp.group`; empty: all ranks of the mesh, or no other (transfer).
  llvm::StringRef group;
  /// Of the whole that is gathered, or of what a rank gives to a reduction or
  /// an all-to-all, or of what is copied.
  int64_t bytes = 0;
  /// What is done before that begins, in the place of the start: bytes of
  /// other all-to-alls over the group, and bytes that are read and written.
  int64_t exchangedBefore = 0, movedBefore = 0;
};

} // namespace shardc::step

#endif
