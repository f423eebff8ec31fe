// What a run's checkpoints take on disk, and in memory while they are written.
#ifndef SHARDC_RUNTIME_CHECKPOINT_SPACE_H
#define SHARDC_RUNTIME_CHECKPOINT_SPACE_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// Bytes of the tensors of a checkpoint, of all ranks together: master weights
/// and optimizer state of what is trained, and what goes on from `resumed` (null:
/// the run begins anew). Headers and the manifest are left out.
uint64_t checkpointBytes(const plan::Plan &plan,
                         const StoredCheckpoint *resumed = nullptr);

/// Whether state lies where it is because there is no memory for it: nor is
/// there for a copy.
bool isOffloaded(const plan::Plan &plan);

/// Bytes that a rank's writer holds at most: those of its slices of master
/// weights and state, where none of them is out when the next optimizer phase
/// begins; of state that is offloaded 0.
uint64_t copyBytes(const plan::Plan &plan);

/// Bytes of the files of the last `number` checkpoints in a folder.
uint64_t storedBytes(const CheckpointFolder &folder, int64_t number);

/// Says what `number` checkpoints of `each` bytes need. Throws an Error where
/// the file system has fewer, together with `reused`, those of checkpoints that
/// go meanwhile.
std::string checkSpace(const std::string &path, int64_t number, uint64_t each,
                       uint64_t reused);

} // namespace shardc::runtime

#endif
