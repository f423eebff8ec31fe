// The flags that say which processes a run has.
#include "runtime/cli/LaunchFlagTable.h"

#include "runtime/store/Connection.h"

namespace shardc::runtime::cli {

void declareLaunch(FlagTable &flags, LaunchFlags &launch) {
  using Launcher = LaunchFlags::Launcher;
  flags.group("Processes", /*isLocal=*/true);
  flags.value("--launcher", "NAME",
              "what started this process: none, hand, torchrun, slurm or mpi "
              "[auto: as the environment says]",
              [&](const std::string &name, const std::string &text) {
                launch.launcher =
                    parseChoice<Launcher>(name, text,
                                          {{"auto", Launcher::Auto},
                                           {"none", Launcher::None},
                                           {"hand", Launcher::Hand},
                                           {"torchrun", Launcher::Torchrun},
                                           {"slurm", Launcher::Slurm},
                                           {"mpi", Launcher::Mpi}});
              });
  auto count = [&](const char *flag, std::optional<int> &target, int low,
                   const char *help) {
    flags
        .value(
            flag, "N", help,
            [&target, low](const std::string &name, const std::string &text) {
              target = parseInteger<int>(name, text, low, 1 << 20);
            })
        .isNumber = true;
  };
  count("--nnodes", launch.nodes, 1, "nodes of the run [NUM_NODES, or 1]");
  count("--node-rank", launch.nodeRank, 0,
        "which of them this one is, from 0 [NODE_RANK]");
  count("--nproc-per-node", launch.processesPerNode, 1,
        "starts so many processes here, which share out the ranks "
        "[LOCAL_WORLD_SIZE, or 1; on GPUs one for each rank]");
  flags.value("--master", "HOST:PORT",
              "where the processes of several nodes meet: a port of node 0 "
              "[MASTER_ADDR:MASTER_PORT]",
              [&](const std::string &name, const std::string &text) {
                parseHostAndPort(name, text);
                launch.master = text;
              });
  flags
      .value("--start-timeout", "SECONDS",
             "how long processes wait for each other at the start [300]",
             [&](const std::string &name, const std::string &text) {
               launch.startTimeout =
                   parseInteger<int>(name, text, 1, 7 * 24 * 3600);
             })
      .isNumber = true;
  flags
      .value("--timeout", "SECONDS",
             "how long a rank may wait in a step while no rank goes on; "
             "outside of steps --start-timeout holds [30]",
             [&](const std::string &name, const std::string &text) {
               launch.timeout = parseInteger<int>(name, text, 1, 7 * 24 * 3600);
             })
      .isNumber = true;
  flags.toggle("--no-host-memory", launch.leavesHostMemory,
               "processes of a host send each other what they could read in "
               "each other's memory, too [they read, where the kernel lets "
               "them]");
  flags
      .value("--max-restarts", "K",
             "with --nproc-per-node: starts the run again after a fault, so "
             "many times at most [0]",
             [&](const std::string &name, const std::string &text) {
               launch.maxRestarts = parseInteger<int>(name, text, 0, 1 << 20);
             })
      .isNumber = true;
  flags
      .value("--transport", "NAME",
             "what carries messages between processes: ucx or mpi [mpi where "
             "mpirun started them, else ucx]",
             [&](const std::string &name, const std::string &text) {
               launch.transport = parseChoice<TransportKind>(
                   name, text,
                   {{"ucx", TransportKind::Ucx}, {"mpi", TransportKind::Mpi}});
             })
      .isLocal = false;
}

} // namespace shardc::runtime::cli
