// Which checkpoint a run goes on from: --resume.
#ifndef SHARDC_RUNTIME_CHECKPOINT_RESUME_H
#define SHARDC_RUNTIME_CHECKPOINT_RESUME_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/StoredCheckpoint.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct Resumed {
  std::unique_ptr<StoredCheckpoint> checkpoint; // null: the run begins anew
  /// Of checkpoints that were passed over, and why.
  std::vector<std::string> warnings;
};

/// `resume`: auto, none or a path, where it was given; `folder`: of
/// --checkpoint-dir. With auto it is the last checkpoint in the folder that is
/// undamaged. A path is a checkpoint, or a folder of them. Throws an Error
/// where there is none that can be read, and where a folder has checkpoints
/// that nothing is said of.
Resumed findCheckpoint(const std::optional<std::string> &resume,
                       const std::optional<std::string> &folder);

} // namespace shardc::runtime

#endif
