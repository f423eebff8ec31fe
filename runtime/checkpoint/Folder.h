// The folder of a run's checkpoints. One that is committed is called
// step-00001000, one that is being written step-00001000.tmp.
#ifndef SHARDC_RUNTIME_CHECKPOINT_FOLDER_H
#define SHARDC_RUNTIME_CHECKPOINT_FOLDER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

class CheckpointFolder {
public:
  explicit CheckpointFolder(std::string path) : path(std::move(path)) {}

  /// Whether a folder of that name is a checkpoint: step-00001000.
  static bool isCheckpointName(const std::string &name);
  /// The same, or one that is being written.
  static bool isOwnName(const std::string &name);

  const std::string &where() const { return path; }
  std::string pathOf(int64_t step) const;
  std::string temporaryPathOf(int64_t step) const;
  /// The steps of which there are committed checkpoints, ascending. A folder
  /// that is not there has none. Throws an Error where it cannot be read.
  std::vector<int64_t> steps() const;

  // Of the one process that writes it. They throw an Error with the path.

  /// Makes the folder, unless it is there.
  void make() const;
  /// Takes away what an earlier run has begun to write.
  void clean() const;
  /// Makes an empty step-….tmp with the folders of a checkpoint in it.
  void begin(int64_t step) const;
  /// Gives it its name; what has the name already is replaced. Everything in it
  /// is on disk.
  void commit(int64_t step) const;
  /// Takes step-….tmp away, as far as that goes.
  void discard(int64_t step) const noexcept;
  /// The step that the link `best` leads to, where there is a checkpoint of it.
  std::optional<int64_t> best() const;
  /// Lets the link `best` lead to the checkpoint of that step.
  void markBest(int64_t step) const;
  /// Removes the oldest checkpoints but for the last `keep`, and the best one.
  /// Those behind `newest` are neither counted nor removed: another run's, or
  /// what is not whole.
  void prune(int64_t keep, std::optional<int64_t> newest = std::nullopt) const;
  /// Moves the checkpoints behind a step, or all, to a folder earlier-N in it,
  /// and returns its path; empty: there were none.
  std::string setAside(int64_t behind = -1) const;

private:
  std::string path;
};

/// The folders of a checkpoint: PyTorch's reader takes all files of one.
inline constexpr const char *modelFolder = "model";
inline constexpr const char *optimFolder = "optim";
/// The link to the checkpoint of the best evaluation.
inline constexpr const char *bestLink = "best";

} // namespace shardc::runtime

#endif
