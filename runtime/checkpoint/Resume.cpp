// The last checkpoint that is whole.
#include "runtime/checkpoint/Resume.h"

#include "runtime/base/Error.h"
#include "runtime/weights/ShardedParameters.h"

#include <filesystem>

namespace shardc::runtime {

static Resumed lastOf(const CheckpointFolder &folder) {
  Resumed resumed;
  std::vector<int64_t> steps = folder.steps();
  for (size_t i = steps.size(); i-- > 0;) {
    try {
      resumed.checkpoint =
          std::make_unique<StoredCheckpoint>(folder.pathOf(steps[i]));
      return resumed;
    } catch (const Error &error) {
      resumed.warnings.push_back(error.what());
    }
  }
  if (!resumed.warnings.empty())
    fail(folder.where(),
         " has no checkpoint that is whole: ", resumed.warnings.front());
  return resumed;
}

Resumed findCheckpoint(const std::optional<std::string> &resume,
                       const std::optional<std::string> &folder) {
  if (resume && *resume != "auto" && *resume != "none") {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path path = *resume;
    // A folder of ours has a manifest, or is damaged.
    bool isOurs = CheckpointFolder::isCheckpointName(path.filename());
    if (isOurs || fs::exists(path / Manifest::fileName, error))
      return {std::make_unique<StoredCheckpoint>(*resume), {}};
    if (!shardFiles(concat(*resume, "/", modelFolder)).empty())
      return {std::make_unique<StoredCheckpoint>(
                  *resume, StoredCheckpoint::Writer::Torch),
              {}};
    if (!fs::is_directory(*resume, error))
      fail("--resume ", *resume, " is no checkpoint: it is no folder");
    Resumed resumed = lastOf(CheckpointFolder(*resume));
    if (!resumed.checkpoint)
      fail("--resume ", *resume, " is no checkpoint: it has neither a ",
           Manifest::fileName, " nor folders step-…");
    return resumed;
  }
  if (!folder)
    return {};
  CheckpointFolder of(*folder);
  if (resume == "auto")
    return lastOf(of);
  if (std::vector<int64_t> steps = of.steps(); !resume && !steps.empty())
    fail("--checkpoint-dir ", *folder, " has checkpoints up to step ",
         steps.back(),
         "; give --resume auto to go on from it, or --resume none to begin "
         "anew");
  return {};
}

} // namespace shardc::runtime
