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

class HashedFile;

/// Memory for copies of a rank's chunks, for all saves of a run. A step waits
/// for a copy, and memory that is touched for the first time can cost twenty
/// times the copy, so a thread touches it when the run begins.
class ChunkCopy {
public:
  /// `isExpected`: the run will save and go on. Otherwise memory is taken when
  /// it is asked for; with `isStreamed` none is. Throws an Error when the system
  /// has no more.
  ChunkCopy(const RankChunks &chunks, bool isExpected, bool isStreamed = false);
  ~ChunkCopy();
  /// Enough for all of them; null where they are written without a copy.
  std::byte *data();

private:
  int64_t bytes = 0;
  bool isStreamed;
  Memory memory;
  std::thread toucher;
};

/// Copies a rank's values, then writes and syncs files of them, on a thread of
/// its own. Between two optimizer phases values stay as they are, which is time
/// enough for the copy; before the next one the rank calls release(), which
/// copies what is not copied yet. Without memory for a copy it waits until all is
/// written.
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
  /// Copies the next elements, so many bytes at most. Returns whether there were
  /// any.
  bool copyPiece(int64_t most);
  CheckpointFile write(const File &file, const std::byte *values) const;
  /// The same of values that are read meanwhile, from the rank or from an
  /// earlier checkpoint.
  void stream(const Chunk &chunk, HashedFile &output) const;

  Rank &rank;
  std::vector<File> files;
  int64_t updates;

  /// Chunks whose values are copied, one behind the other from `values` on, and
  /// how far that has come. Whoever copies holds the mutex.
  std::vector<const Chunk *> chunks;
  std::byte *values;
  std::mutex mutex;
  size_t chunk = 0;
  int64_t element = 0;
  std::byte *end; // of what is copied

  std::vector<CheckpointFile> written;
  std::string problem;
  double took = 0;
  std::atomic<bool> done = false, cancelled = false;
  std::thread thread;
};

} // namespace shardc::runtime

#endif
