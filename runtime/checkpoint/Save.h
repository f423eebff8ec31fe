// Saving a run: every rank writes what it holds, and one of them commits it.
#ifndef SHARDC_RUNTIME_CHECKPOINT_SAVE_H
#define SHARDC_RUNTIME_CHECKPOINT_SAVE_H

#include "runtime/checkpoint/ChunkWriter.h"
#include "runtime/checkpoint/Commit.h"
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
  uint64_t bytes = 0; // of all files of the new one
  /// Until the files of all ranks were on the disk.
  double writeSeconds = 0;
  std::string warning; // of what was committed; the leader's alone
};

struct SaveOptions {
  int64_t keep = 0; // how many checkpoints stay; 0: all
  /// That of the best evaluation stays as well, and has a link.
  bool keepsBest = false;
  bool goesOn = false; // values change while it writes
  bool leads = false;  // commits
};

/// A checkpoint of a rank's run. Files of a rank: model/ and optim/ of
/// shard-0000K-model-00001-of-00001.safetensors, K its number from 1 on, as
/// torch.distributed.checkpoint.HuggingFaceStorageReader reads them.
class CheckpointSaver {
public:
  /// `resumed`: what the run goes on from, which must outlive this; null: it
  /// begins anew. Made by all ranks together. Nothing is written yet.
  CheckpointSaver(const plan::Plan &plan, Rank &rank, CheckpointFolder folder,
                  const StoredCheckpoint *resumed, const SaveOptions &options);

  /// Called by all ranks together, between two steps, as advance() is. Begins to
  /// write; a failure is advance()'s. `manifest`: without files.
  void start(const Manifest &manifest);
  /// Whether a save has begun that advance() has not ended.
  bool isActive() const { return active; }
  /// Whether advance() would not wait for this rank.
  bool isReady() const {
    return (!writer || writer->isDone()) && (!commit || commit->isDone());
  }
  /// Called by the rank before its values change: before every optimizer phase.
  void release() {
    if (writer)
      writer->release();
  }
  /// Waits for what goes on, and begins what comes next: when the files of all
  /// ranks are written, the commit, whose end is the save's. Returns what became
  /// of it then, the same on all ranks.
  std::optional<SaveResult> advance();

private:
  std::vector<ChunkWriter::File> files(int64_t step) const;
  void gatherFiles();
  SaveResult gatherResult();

  Rank &rank;
  CheckpointFolder folder;
  SaveOptions options;
  RankChunks chunks;
  ChunkCopy copy;
  // Of the save that goes on:
  Manifest manifest;
  std::string problem;
  double writeSeconds = 0;
  bool active = false, isCommitting = false;
  std::optional<ChunkWriter> writer;
  std::optional<Commit> commit; // the leader's
};

} // namespace shardc::runtime

#endif
