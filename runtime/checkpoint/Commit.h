// The end of a save: a folder of written files becomes a checkpoint.
#ifndef SHARDC_RUNTIME_CHECKPOINT_COMMIT_H
#define SHARDC_RUNTIME_CHECKPOINT_COMMIT_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Manifest.h"

#include <atomic>
#include <string>
#include <thread>

namespace shardc::runtime {

/// Of the rank that leads. It waits for the disk several times, so a thread of
/// its own does it.
class Commit {
public:
  struct Result {
    std::string failure = {}; // empty: the checkpoint is there
    bool olderStands = false; // whether there is one, where it failed
    std::string warning = {}; // of what was committed
  };

  /// Begins. `manifest`: with the files of all ranks. `keep`, `keepsBest`: as
  /// SaveOptions says. `problem`: why there is nothing to commit: then what
  /// was written is removed.
  Commit(CheckpointFolder folder, Manifest manifest, int64_t keep,
         bool keepsBest, std::string problem);
  /// Waits for the end.
  ~Commit();

  bool isDone() const { return done; }
  /// Waits for the end.
  Result finish();

private:
  void run();
  void writeManifest() const;
  /// What becomes of older ones, once there is a new one.
  void tidy() const;

  CheckpointFolder folder;
  Manifest manifest;
  int64_t keep;
  bool keepsBest;
  Result result;
  std::atomic<bool> done = false;
  std::thread thread;
};

} // namespace shardc::runtime

#endif
