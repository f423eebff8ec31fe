// What a run's checkpoints take.
#include "runtime/checkpoint/Space.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/PoolNames.h"
#include "runtime/base/Text.h"
#include "runtime/engine/ParameterStates.h"

#include <algorithm>
#include <filesystem>
#include <sys/statvfs.h>

namespace shardc::runtime {

namespace fs = std::filesystem;

static uint64_t elementsOf(const plan::Parameter &parameter) {
  uint64_t elements = 1;
  for (int64_t dim : parameter.shape())
    elements *= uint64_t(dim);
  return elements;
}

uint64_t checkpointBytes(const plan::Plan &plan,
                         const StoredCheckpoint *resumed) {
  uint64_t bytes = 0;
  for (const plan::Parameter &parameter : plan.parameters())
    if (resumed && !parameter.trainable() && resumed->has(parameter))
      bytes += elementsOf(parameter) *
               elementSize(resumed->model().dtypeOf(parameter.name()));
  for (const plan::Unit &unit : plan.units()) {
    if (unit.optimizer_shards() == 0)
      continue;
    for (uint32_t index : unit.parameters()) {
      const plan::Parameter &parameter = plan.parameters(int(index));
      uint64_t copies = 1;
      for (int i = 0; i < unit.state_buffers_size(); ++i)
        copies += !isRunning(parameter) &&
                  (i == 0 || !isWholeMatrix(plan, parameter));
      // And its count of updates, a float32.
      bytes +=
          elementsOf(parameter) * copies * elementSize(unit.master_dtype()) + 4;
    }
  }
  return bytes;
}

bool isOffloaded(const plan::Plan &plan) {
  return std::ranges::any_of(plan.pools(), [](const plan::Pool &pool) {
    return isHostPool(pool.name()) && pool.bytes() > 0;
  });
}

uint64_t copyBytes(const plan::Plan &plan) {
  uint64_t bytes = 0;
  if (isOffloaded(plan))
    return 0;
  for (const plan::Unit &unit : plan.units())
    if (unit.optimizer_shards() > 0) {
      bytes += uint64_t(unit.elements() / unit.optimizer_shards()) *
               elementSize(unit.master_dtype());
      for (uint32_t state : unit.state_buffers())
        bytes += uint64_t(plan.buffers(int(state)).bytes());
    }
  return bytes;
}

uint64_t storedBytes(const CheckpointFolder &folder, int64_t number) {
  std::vector<int64_t> steps = folder.steps();
  uint64_t bytes = 0;
  for (size_t i = steps.size() - std::min(steps.size(), size_t(number));
       i < steps.size(); ++i) {
    std::error_code error;
    for (fs::recursive_directory_iterator each(folder.pathOf(steps[i]), error),
         end;
         !error && each != end; each.increment(error)) {
      std::error_code unknown;
      if (uint64_t size = each->file_size(unknown); !unknown)
        bytes += size;
    }
  }
  return bytes;
}

std::string checkSpace(const std::string &path, int64_t number, uint64_t each,
                       uint64_t reused) {
  // The folder may have to be made.
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(there, error) && there.has_parent_path() &&
         there != there.parent_path())
    there = there.parent_path();
  std::string needs = concat(
      number == 1 ? "one checkpoint" : concat(number, " checkpoints"), " of ",
      bytesText(double(each)), number == 1 ? " needs " : " need ",
      bytesText(double(each) * double(number)));
  struct statvfs status;
  if (statvfs(there.c_str(), &status) != 0 || status.f_blocks == 0)
    return concat(needs, "; the file system of ", path,
                  " does not say what is free");
  double free = double(status.f_bavail) * double(status.f_frsize);
  std::string has = concat(bytesText(free), " are free in ", path,
                           reused ? concat(", and ", bytesText(double(reused)),
                                           " become free as older ones go")
                                  : "");
  if (double(each) * double(number) > free + double(reused))
    fail("--checkpoint-dir: ", needs, ", and ", has,
         "; choose another folder, or a smaller --checkpoint-keep");
  return concat(needs, "; ", has);
}

} // namespace shardc::runtime
