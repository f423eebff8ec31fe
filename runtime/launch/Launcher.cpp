// Whether a launcher (torchrun, srun, mpirun) started this process as one of
// several.
#include "runtime/launch/Launcher.h"

#include "runtime/Error.h"

#include <cstdlib>
#include <string>

namespace shardc::runtime {

void refuseSeveralProcesses() {
  static constexpr struct {
    const char *rank, *size, *launcher;
  } launchers[] = {
      {"RANK", "WORLD_SIZE", "torchrun"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"},
      {"PMI_RANK", "PMI_SIZE", "mpirun"},
  };
  for (const auto &[rank, size, launcher] : launchers) {
    const char *rankText = std::getenv(rank), *sizeText = std::getenv(size);
    if (rankText && sizeText && std::atoll(sizeText) > 1)
      fail("started by ", launcher, " as one of ", sizeText, " processes (",
           size, "=", sizeText,
           "), and this trainer runs all its ranks in one process; start it "
           "once, without a launcher");
  }
}

} // namespace shardc::runtime
