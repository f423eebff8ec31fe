// Saving a run: every rank writes what it holds, and one of them commits it.
#ifndef SHARDC_RUNTIME_CHECKPOINT_SAVE_H
#define SHARDC_RUNTIME_CHECKPOINT_SAVE_H

#include "runtime/checkpoint/ChunkWriter.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/engine/Executor.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct SaveResult {
  std::string failure; // why there is no new checkpoint; empty: there is one
  /// Whether the folder has a checkpoint, where there is no new one.
  bool olderStands = false;
  uint64_t bytes = 0;  // of all files of the new one
  std::string warning; // of what was committed; the leader's alone
};

/// A checkpoint of a rank's run. Files of a rank: model/ and optim/ of
/// shard-0000K-model-00001-of-00001.safetensors, K its number from 1 on, as
/// torch.distributed.checkpoint.HuggingFaceStorageReader reads them.
class CheckpointSaver {
public:
  /// `keep`: how many checkpoints stay; 0: all. `keepsBest`: that of the best
  /// evaluation does as well, and has a link. Made by all ranks together;
  /// `leads`: commits. Nothing is written yet.
  CheckpointSaver(const plan::Plan &plan, Rank &rank, CheckpointFolder folder,
                  int64_t keep, bool keepsBest, bool leads);

  /// Called by all ranks together, between two steps, as finish() is. Begins to
  /// write; a failure is finish()'s. `manifest`: without files.
  void start(const Manifest &manifest);
  /// Whether start() was called, and not yet finish().
  bool isActive() const { return active; }
  /// Whether this rank has nothing left to write.
  bool isWritten() const { return !writer || writer->isDone(); }
  /// Called by the rank before its values change: before every optimizer phase.
  void release() {
    if (writer)
      writer->release();
  }
  /// Waits for the files of all ranks, and commits. The failure is the same on
  /// all ranks.
  SaveResult finish();

private:
  std::vector<ChunkWriter::File> files(int64_t step) const;
  void commit(Manifest &manifest);
  /// What becomes of older ones, once there is a new one.
  void tidy() const;

  const plan::Plan &plan;
  Rank &rank;
  CheckpointFolder folder;
  int64_t keep;
  bool keepsBest;
  bool leads;
  RankChunks chunks;
  Manifest manifest; // of the save that goes on
  std::string problem;
  bool active = false;
  std::optional<ChunkWriter> writer;
};

} // namespace shardc::runtime

#endif
