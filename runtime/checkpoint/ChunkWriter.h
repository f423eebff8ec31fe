// A rank's files of a checkpoint, written while the run goes on.
#ifndef SHARDC_RUNTIME_CHECKPOINT_CHUNKWRITER_H
#define SHARDC_RUNTIME_CHECKPOINT_CHUNKWRITER_H

#include "runtime/base/Memory.h"
#include "runtime/checkpoint/Chunks.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/engine/Executor.h"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace shardc::runtime {

/// Memory for copies of a rank's chunks, for all saves of a run. A step waits
/// for a copy, and memory that is touched for the first time can cost twenty
/// times the copy, so a thread touches it when the run begins.
class ChunkCopy {
public:
  /// `isExpected`: the run will save and go on. Otherwise memory is taken when
  /// it is asked for. Throws an Error when the system has no more.
  ChunkCopy(const RankChunks &chunks, bool isExpected);
  ~ChunkCopy();
  /// Enough for all of them.
  std::byte *data();

private:
  int64_t bytes = 0;
  Memory memory;
  std::thread toucher;
};

/// Writes and syncs files on a thread of its own. Values are read where they
/// lie, since between two optimizer phases they stay as they are; before the
/// next one the rank calls release(), which copies what is not out yet.
class ChunkWriter {
public:
  /// A file, and what goes into it; `name` is its path in the checkpoint.
  struct File {
    std::string path, name;
    const std::vector<Chunk> *chunks;
  };

  /// `rank`, the chunks, and `copy`, which no other writer uses meanwhile, must
  /// outlive the writer. `updates`: what chunks without a slice say.
  ChunkWriter(Rank &rank, std::vector<File> files, int64_t updates,
              ChunkCopy &copy);
  /// Gives up what is not written.
  ~ChunkWriter();

  /// Called by the rank's thread: returns when no value is read any more.
  void release();
  bool isDone() const { return done; }
  /// Waits for the end. Throws the Error of a file that cannot be written.
  std::vector<CheckpointFile> finish();
  /// From its begin to its end, which is there.
  double seconds() const { return took; }

private:
  void run();
  CheckpointFile write(const File &file, size_t number);
  /// Elements [at, at + count) of a chunk.
  void read(size_t file, size_t chunk, int64_t at, int64_t count,
            std::byte *to);

  Rank &rank;
  std::vector<File> files;
  int64_t updates;
  ChunkCopy &copy;

  /// What the thread has read up to: elements of a chunk of a file. Whoever
  /// reads values, or copies them, holds the mutex.
  std::mutex mutex;
  size_t file = 0, chunk = 0;
  int64_t element = 0;
  bool released = false;
  /// By file and chunk: the values from `from` on, where they were copied.
  struct Copied {
    int64_t from = 0;
    const std::byte *values = nullptr;
  };
  std::vector<std::vector<Copied>> copies;

  std::vector<CheckpointFile> written;
  std::string problem;
  double took = 0;
  std::atomic<bool> done = false, cancelled = false;
  std::thread thread;
};

} // namespace shardc::runtime

#endif
