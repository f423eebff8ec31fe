// What this process was started as.
#include "runtime/launch/Launch.h"

#include "runtime/base/Error.h"
#include "runtime/base/HostName.h"
#include "runtime/store/Connection.h"

#include <unistd.h>

namespace shardc::runtime {

Environment currentEnvironment() {
  Environment all;
  for (char **each = environ; *each; ++each) {
    std::string text = *each;
    if (size_t equals = text.find('='); equals != std::string::npos)
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

const char *launchKindName(LaunchKind kind) {
  switch (kind) {
  case LaunchKind::Alone:
    return "alone";
  case LaunchKind::Hand:
    return "by hand";
  case LaunchKind::Spawned:
    return "--nproc-per-node";
  case LaunchKind::Torchrun:
    return "torchrun";
  case LaunchKind::Slurm:
    return "srun";
  case LaunchKind::Mpi:
    return "mpirun";
  }
  return "";
}

void Launch::startHere(int perNode) {
  kind = LaunchKind::Hand;
  processes = nodes * perNode;
  process = node * perNode;
  spawns = localProcesses = perNode;
  job = concat("by hand, ", processes, " processes");
  prefix = "shardc";
}

std::string Launch::text() const {
  if (processes == 1 && spawns == 0)
    return launchKindName(kind);
  if (spawns > 0)
    return concat(launchKindName(kind), ", starts ", spawns, " of ", processes,
                  " processes");
  return concat(launchKindName(kind), ", process ", process, " of ", processes);
}

Environment spawnedEnvironment(const Launch &supervisor, int localProcess,
                               const StoreAddress &store, int restarts) {
  return {
      {"SHARDC_PROCESS", std::to_string(supervisor.process + localProcess)},
      {"SHARDC_PROCESSES", std::to_string(supervisor.processes)},
      {"SHARDC_LOCAL_PROCESS", std::to_string(localProcess)},
      {"SHARDC_LOCAL_PROCESSES", std::to_string(supervisor.spawns)},
      {"SHARDC_STORE", addressText(store.host, store.port)},
      {"SHARDC_RESTARTS", std::to_string(restarts)},
      {"SHARDC_JOB", supervisor.job},
      {"SHARDC_RUN", concat("process ", getpid(), " of ", hostName())},
  };
}

} // namespace shardc::runtime
