// The world that a process was started into, by what its environment says.
#include "runtime/launch/Launcher.h"

#include "runtime/base/Error.h"
#include "runtime/launch/ThreadWorld.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace shardc::runtime {

void refuseSeveralProcesses() {
  // A launcher sets both. Platforms that start one command on every node of a
  // job say how many nodes there are, and not always which one this is.
  static constexpr struct {
    const char *rank, *size, *launcher;
  } launchers[] = {
      {"RANK", "WORLD_SIZE", "torchrun"},
      {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "torchrun"},
      {"GROUP_RANK", "GROUP_WORLD_SIZE", "torchrun"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"},
      {"PMI_RANK", "PMI_SIZE", "mpirun"},
      {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "mpirun"},
      {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux run"},
      {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "jsrun"},
  };
  static constexpr struct {
    const char *rank, *size;
  } platforms[] = {
      {"NODE_RANK", "NUM_NODES"},
      {"NODE_RANK", "NNODES"},
      {"NODE_RANK", "AZUREML_NODE_COUNT"},
      {"PET_NODE_RANK", "PET_NNODES"},
      {"SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"},
      {"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES"},
  };
  for (const auto &[rank, size, launcher] : launchers) {
    const char *rankText = std::getenv(rank), *sizeText = std::getenv(size);
    if (rankText && sizeText && std::atoll(sizeText) > 1)
      fail("started by ", launcher, " as one of ", sizeText, " processes (",
           size, "=", sizeText,
           "), and this trainer runs all its ranks in one process; start it "
           "once, without a launcher");
  }
  for (const auto &[rank, size] : platforms)
    for (auto [name, least] : {std::pair{size, 2}, std::pair{rank, 1}})
      if (const char *text = std::getenv(name);
          text && std::atoll(text) >= least)
        fail("this job has several nodes (", name, "=", text,
             "), each of which would train all of it into the same files, and "
             "this trainer runs all its ranks in one process; start it on one "
             "node, without ",
             name);
}

std::unique_ptr<World> launchedWorld(int ranks) {
  refuseSeveralProcesses();
  return std::make_unique<ThreadWorld>(ranks);
}

} // namespace shardc::runtime
