// Launches as launchers' environments say them. Those in environments/ are
// recorded: torchrun of torch 2.15, srun 22.05, Open MPI 4.1, MPICH 4.0.
#include "runtime/base/Error.h"
#include "runtime/launch/HostList.h"
#include "runtime/launch/Launch.h"
#include "runtime/store/Connection.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace shardc::runtime;

namespace {

Environment recorded(const std::string &name) {
  std::ifstream file(SHARDC_TEST_RECORDED "/launch/environments/" + name +
                     ".env");
  Environment all;
  for (std::string line; std::getline(file, line);)
    if (size_t equals = line.find('='); equals != std::string::npos)
      all[line.substr(0, equals)] = line.substr(equals + 1);
  EXPECT_FALSE(all.empty()) << name;
  return all;
}

Environment with(Environment base, const Environment &changes) {
  for (const auto &[name, value] : changes)
    base[name] = value;
  return base;
}

/// "torchrun, process 1 of 2, local 1 of 2, at localhost:1234, served"
std::string textOf(const Launch &launch) {
  std::string text = launch.text();
  if (launch.localProcesses > 1)
    text +=
        concat(", local ", launch.localProcess, " of ", launch.localProcesses);
  if (!launch.store.host.empty())
    text += ", at " + addressText(launch.store.host, launch.store.port);
  return text + (launch.storeIsServed ? ", served" : "");
}

std::string found(const Environment &environment, LaunchFlags flags = {}) {
  try {
    return textOf(detectLaunch(flags, environment));
  } catch (const Error &error) {
    return std::string("error: ") + error.what();
  }
}

LaunchFlags hand(std::optional<int> nodes, std::optional<int> node,
                 std::optional<int> here,
                 std::optional<std::string> master = {}) {
  LaunchFlags flags;
  flags.nodes = nodes;
  flags.nodeRank = node;
  flags.processesPerNode = here;
  flags.master = master;
  return flags;
}

LaunchFlags launcher(LaunchFlags::Launcher which) {
  LaunchFlags flags;
  flags.launcher = which;
  return flags;
}

using Which = LaunchFlags::Launcher;

} // namespace

TEST(DetectLaunch, AloneWithoutALauncher) {
  EXPECT_EQ(found({}), "alone");
  EXPECT_EQ(found({{"MASTER_ADDR", "x"}, {"LOCAL_WORLD_SIZE", "8"}}), "alone");
  EXPECT_EQ(found({{"NUM_NODES", "1"}, {"NODE_RANK", "0"}}), "alone");
  EXPECT_EQ(found({{"RANK", ""}, {"WORLD_SIZE", ""}}), "alone");
  EXPECT_EQ(found(recorded("torchrun-static"), launcher(Which::None)), "alone");
}

TEST(DetectLaunch, ProcessesOfANodeAreOpenWhereNobodySaysHowMany) {
  auto isOpen = [](const Environment &environment, LaunchFlags flags = {}) {
    return detectLaunch(flags, environment).isOpen;
  };
  EXPECT_TRUE(isOpen({}));
  EXPECT_TRUE(isOpen(recorded("srun"), launcher(Which::None)));
  EXPECT_TRUE(isOpen(recorded("sbatch")));
  EXPECT_TRUE(isOpen({{"NUM_NODES", "1"}, {"NODE_RANK", "0"}}));
  EXPECT_TRUE(isOpen({}, hand(2, 1, std::nullopt, "a:1")));
  for (int processes : {1, 2}) {
    EXPECT_FALSE(isOpen({}, hand(std::nullopt, std::nullopt, processes)));
    EXPECT_FALSE(isOpen({}, hand(2, 1, processes, "a:1")));
  }
  EXPECT_FALSE(isOpen(
      {{"NUM_NODES", "1"}, {"NODE_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}}));
  for (const char *one : {"srun", "srun-one", "torchrun-static"})
    EXPECT_FALSE(isOpen(recorded(one)));
}

TEST(DetectLaunch, OpenLaunchesStartAsIfTheyWereTold) {
  for (auto [nodes, node] : {std::pair(1, 0), {2, 1}}) {
    auto master = nodes > 1 ? std::optional<std::string>("a:1") : std::nullopt;
    Launch told = detectLaunch(hand(nodes, node, 4, master), {});
    Launch open = detectLaunch(hand(nodes, node, std::nullopt, master), {});
    EXPECT_EQ(open.spawns, 0);
    EXPECT_EQ(open.processes, nodes);
    open.startHere(4);
    EXPECT_EQ(textOf(open), textOf(told));
    EXPECT_EQ(open.process, told.process);
    EXPECT_EQ(open.job, told.job);
    EXPECT_EQ(open.prefix, told.prefix);
  }
}

TEST(DetectLaunch, Torchrun) {
  Launch launch = detectLaunch({}, recorded("torchrun-static"));
  std::string port = recorded("torchrun-static")["MASTER_PORT"];
  std::string run = recorded("torchrun-static")["TORCHELASTIC_RUN_ID"];
  EXPECT_EQ(textOf(launch), "torchrun, process 1 of 2, local 1 of 2, at "
                            "localhost:" +
                                port + ", served");
  // What another attempt left is not read, nor what torch itself has there.
  EXPECT_EQ(launch.prefix, "shardc/" + run + "/0/2");
  EXPECT_EQ(launch.job, "");
  launch = detectLaunch({}, with(recorded("torchrun-c10d"),
                                 {{"TORCHELASTIC_RESTART_COUNT", "1"}}));
  EXPECT_EQ(launch.prefix, "shardc/job7/1/2");
  EXPECT_EQ(launch.restarts, 1);
  EXPECT_TRUE(launch.storeIsServed);
  // TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1: process 0 serves.
  launch = detectLaunch({}, recorded("torchrun-own-store"));
  EXPECT_FALSE(launch.storeIsServed);
  EXPECT_EQ(launch.job, "torchrun job7, restart 0, 2 processes");
  // Of an operator that sets the places of pods, without an agent.
  EXPECT_EQ(found({{"RANK", "3"},
                   {"WORLD_SIZE", "4"},
                   {"MASTER_ADDR", "job-master-0"},
                   {"MASTER_PORT", "23456"}}),
            "torchrun, process 3 of 4, at job-master-0:23456");
  EXPECT_EQ(found({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "torchrun");
}

TEST(DetectLaunch, Srun) {
  Launch launch = detectLaunch({}, recorded("srun"));
  EXPECT_EQ(textOf(launch), concat("srun, process 1 of 2, local 1 of 2, at "
                                   "node1:",
                                   slurmPort(1, 0)));
  EXPECT_EQ(launch.store.ports, slurmPorts);
  EXPECT_EQ(launch.job, "slurm 1.0, restart 0");
  EXPECT_EQ(detectLaunch({}, recorded("srun-pmi2")).kind, LaunchKind::Slurm);
  EXPECT_EQ(found(recorded("srun-one")), "srun");
  EXPECT_EQ(found(recorded("sbatch")), "alone");
  // Several nodes: the third task of the second one.
  EXPECT_EQ(
      found(with(recorded("srun"), {{"SLURM_STEP_NODELIST", "gpu[07-09]"},
                                    {"SLURM_STEP_NUM_TASKS", "9"},
                                    {"SLURM_STEP_TASKS_PER_NODE", "4(x2),1"},
                                    {"SLURM_NODEID", "1"},
                                    {"SLURM_LOCALID", "2"},
                                    {"SLURM_PROCID", "6"}})),
      concat("srun, process 6 of 9, local 2 of 4, at gpu07:", slurmPort(1, 0)));
  // An interactive shell, and the step of a batch script.
  for (const char *step : {"4294967290", "4294967291"})
    EXPECT_EQ(found(with(recorded("srun"),
                         {{"SLURM_STEP_ID", step}, {"SLURM_PROCID", "0"}})),
              "alone");
  LaunchFlags master;
  master.master = "10.0.0.1:4000";
  EXPECT_EQ(found(recorded("srun"), master),
            "srun, process 1 of 2, local 1 of 2, at 10.0.0.1:4000");
}

TEST(DetectLaunch, Mpirun) {
  std::string second = "mpirun, process 1 of 2, local 1 of 2";
  EXPECT_EQ(found(recorded("openmpi-4")), second);
  EXPECT_EQ(found(recorded("mpich-4")), second);
  EXPECT_EQ(found(recorded("sbatch-openmpi")), second);
  // Open MPI 5, whose PRRTE sets these; Intel MPI, whose Hydra sets these.
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                   {"PRTE_LAUNCHED", "1"},
                   {"PMIX_RANK", "1"}}),
            second);
  EXPECT_EQ(found({{"PMI_RANK", "1"},
                   {"PMI_SIZE", "2"},
                   {"MPI_LOCALRANKID", "1"},
                   {"MPI_LOCALNRANKS", "2"},
                   {"I_MPI_INFO_NP", "2"}}),
            second);
  // On a node where srun started mpirun's helper.
  EXPECT_EQ(found(with(recorded("srun"), recorded("openmpi-4"))), second);
  EXPECT_EQ(found(with(recorded("srun"),
                       with(recorded("mpich-4"), {{"PMI_SIZE", "8"}}))),
            "mpirun, process 1 of 8, local 1 of 2");
}

TEST(DetectLaunch, ByHand) {
  EXPECT_EQ(found({}, hand(2, 1, {}, "a:29500")),
            "by hand, process 1 of 2, at a:29500");
  EXPECT_EQ(found({}, hand(2, 1, 4, "a:29500")),
            "by hand, starts 4 of 8 processes, local 0 of 4, at a:29500");
  EXPECT_EQ(detectLaunch(hand(2, 1, 4, "a:29500"), {}).process, 4);
  EXPECT_EQ(found({}, hand({}, {}, 4)),
            "by hand, starts 4 of 4 processes, local 0 of 4");
  EXPECT_EQ(found({}, hand(1, 0, 1)), "alone");
  LaunchFlags again = hand({}, {}, 1);
  again.maxRestarts = 3;
  EXPECT_EQ(detectLaunch(again, {}).spawns, 1);
  Environment platform = {{"NUM_NODES", "2"},
                          {"NODE_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "10.0.0.1"},
                          {"MASTER_PORT", "29500"}};
  EXPECT_EQ(found(platform),
            "by hand, starts 2 of 4 processes, local 0 of 2, at "
            "10.0.0.1:29500");
  // Flags say more than variables, one by one.
  EXPECT_EQ(found(platform, hand({}, {}, 1)),
            "by hand, process 1 of 2, at 10.0.0.1:29500");
  EXPECT_EQ(found(with(platform, {{"MASTER_ADDR", "fd00::1"}}), hand({}, 0, 1)),
            "by hand, process 0 of 2, at [fd00::1]:29500");
  // torchrun on such a platform.
  EXPECT_EQ(detectLaunch({}, with(platform, recorded("torchrun-static"))).kind,
            LaunchKind::Torchrun);
}

TEST(DetectLaunch, ASpawnedProcessSpawnsNone) {
  LaunchFlags flags = hand({}, {}, 4);
  Launch supervisor = detectLaunch(flags, {});
  Environment child =
      spawnedEnvironment(supervisor, 3, {"127.0.0.1", 5000, 1}, 2);
  for (const Environment &base : {Environment{}, recorded("torchrun-static"),
                                  recorded("srun"), recorded("openmpi-4")}) {
    Launch launch = detectLaunch(flags, with(base, child));
    EXPECT_EQ(textOf(launch), "--nproc-per-node, process 3 of 4, local 3 of 4, "
                              "at 127.0.0.1:5000, served");
    EXPECT_EQ(launch.spawns, 0);
    EXPECT_EQ(launch.restarts, 2);
    EXPECT_EQ(launch.prefix, "shardc/2");
    EXPECT_EQ(launch.job, supervisor.job);
  }
  child.erase("SHARDC_STORE");
  EXPECT_EQ(found(child).substr(0, 36), "error: SHARDC_STORE expects HOST:POR");
}

TEST(DetectLaunch, ContradictionsAreSaidWithBothValues) {
  auto error = [](const Environment &environment, LaunchFlags flags = {}) {
    return found(environment, flags);
  };
  EXPECT_EQ(error({}, hand(2, 2, {}, "a:1")),
            "error: --node-rank=2 with --nnodes=2: nodes are counted from 0");
  EXPECT_EQ(error({}, hand(2, {}, {}, "a:1")),
            "error: --nnodes=2: each node needs its place, from 0 to 1: "
            "--node-rank or NODE_RANK");
  EXPECT_EQ(error({{"RANK", "1"}}),
            "error: RANK=1 says that this is one of several processes, and "
            "WORLD_SIZE "
            "is not set: set it as well, or say --launcher none");
  EXPECT_EQ(error({{"WORLD_SIZE", "2"}}),
            "error: WORLD_SIZE=2 says that this is one of several processes, "
            "and RANK "
            "is not set: set it as well, or say --launcher none");
  EXPECT_EQ(found({{"WORLD_SIZE", "1"}}), "alone");
  EXPECT_EQ(found({{"RANK", "0"}}), "alone");
  EXPECT_EQ(error({}, hand(2, 0, {})),
            "error: 2 nodes need a place to meet: --master HOST:PORT, or "
            "MASTER_ADDR and MASTER_PORT, got MASTER_ADDR='' and "
            "MASTER_PORT=''");
  EXPECT_EQ(error({}, hand({}, {}, 2, "a:1")),
            "error: --master a:1 is where several nodes meet, and this run has "
            "one; leave it out, or say --nnodes and --node-rank");
  EXPECT_EQ(error({}, hand({}, 1, {})),
            "error: --node-rank=1 is a place among several nodes: how many, "
            "--nnodes or NUM_NODES says");
  EXPECT_EQ(error(with(recorded("torchrun-static"), {{"RANK", "2"}})),
            "error: started by torchrun with RANK=2 and WORLD_SIZE=2: places "
            "are counted from 0");
  EXPECT_EQ(error(with(recorded("torchrun-static"), {{"WORLD_SIZE", "two"}})),
            "error: the environment variable WORLD_SIZE is an integer of 1 or "
            "more, got 'two'");
  EXPECT_EQ(error(with(recorded("torchrun-static"),
                       {{"LOCAL_WORLD_SIZE", "3"}, {"LOCAL_RANK", "2"}})),
            "error: started by torchrun with LOCAL_WORLD_SIZE=3 and "
            "WORLD_SIZE=2: a host has more processes than there are");
  EXPECT_EQ(error(recorded("torchrun-static"), hand({}, {}, 4)),
            "error: --nproc-per-node=4, and torchrun started this process as "
            "one of 2 (WORLD_SIZE=2): leave out one of them, or say "
            "--launcher hand where each of these is a node");
  EXPECT_NE(error(recorded("srun"), hand({}, {}, 4)).find("srun started"),
            std::string::npos);
  EXPECT_NE(error(recorded("mpich-4"), hand({}, {}, 4)).find("mpirun started"),
            std::string::npos);
  // One process of srun's for each node is no contradiction.
  EXPECT_EQ(error(recorded("srun"), hand(2, 1, 1, "a:1")),
            "by hand, process 1 of 2, at a:1");
  EXPECT_EQ(error(with(recorded("srun"), {{"SLURM_STEP_NUM_TASKS", "3"}})),
            "error: SLURM_STEP_TASKS_PER_NODE=2 are 2 tasks, and "
            "SLURM_STEP_NUM_TASKS=3");
  EXPECT_EQ(error(recorded("srun"), launcher(Which::Mpi)),
            "error: --launcher mpi, and this process was not started by "
            "mpirun: neither OMPI_COMM_WORLD_RANK nor PMI_RANK nor "
            "MV2_COMM_WORLD_RANK is set");
  EXPECT_EQ(error({}, launcher(Which::Torchrun)),
            "error: started by torchrun, which sets RANK, and it is not set; "
            "--launcher none runs this process alone");
  LaunchFlags restarts;
  restarts.maxRestarts = 2;
  EXPECT_EQ(error({}, restarts),
            "error: --max-restarts 2 starts processes again that "
            "--nproc-per-node started; say how many");
  EXPECT_EQ(error(recorded("torchrun-static"), restarts),
            "error: --max-restarts 2, and torchrun starts these processes");
  restarts.nodes = 2;
  restarts.nodeRank = 0;
  restarts.master = "a:1";
  EXPECT_NE(error({}, restarts).find("a node cannot start the others again"),
            std::string::npos);
  LaunchFlags master;
  master.master = "a:1";
  EXPECT_NE(error({}, master).find("this one is alone"), std::string::npos);
  EXPECT_NE(error(recorded("openmpi-4"), master).find("meet through MPI"),
            std::string::npos);
}

TEST(DetectLaunch, OneOfSeveralWhosePlaceIsUnknownIsRefused) {
  EXPECT_EQ(found({{"PET_NNODES", "2"}}),
            "error: this job has several nodes (PET_NNODES=2), each of which "
            "would train all of it into the same files: say --nnodes, "
            "--node-rank and --master, or --launcher none");
  EXPECT_EQ(found({{"NUM_NODES", "2"}}).substr(0, 35),
            "error: this job has several nodes (");
  EXPECT_EQ(
      found({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}}).substr(0, 38),
      "error: started by flux run as one of 2");
  EXPECT_EQ(found({{"PET_NNODES", "2"}}, hand(2, 0, {}, "a:1")),
            "by hand, process 0 of 2, at a:1");
  EXPECT_EQ(found({{"PET_NNODES", "2"}}, launcher(Which::None)), "alone");
  for (const char *one : {"1", "0", ""})
    EXPECT_EQ(found({{"NNODES", one}}), "alone");
}
