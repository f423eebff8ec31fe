// Which launcher started this process, and as which one of how many.
#include "runtime/launch/ChooseTransport.h"
#include "runtime/launch/HostList.h"
#include "runtime/launch/Launch.h"
#include "runtime/store/Connection.h"

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>

namespace shardc::runtime {

namespace {

/// A number, and who says it.
struct Number {
  std::string source; // "WORLD_SIZE", "--nnodes"
  int64_t value = 0;
  std::string text() const { return concat(source, "=", value); }
};

/// Names of what one launcher sets.
struct Names {
  const char *process, *processes, *localProcess, *localProcesses;
};

class Detection {
public:
  Detection(const LaunchFlags &flags, const Environment &environment)
      : flags(flags), environment(environment) {}

  Launch find();

private:
  using Launcher = LaunchFlags::Launcher;

  /// Empty where it is not set, or to nothing.
  std::string text(std::string_view name) const;
  std::optional<Number> number(const char *name, int64_t low) const;
  Number needed(const char *name, int64_t low, LaunchKind kind) const;
  /// What the flag says, else what the variable says.
  std::optional<Number> either(const std::optional<int> &flag,
                               const char *flagName, const char *name,
                               int64_t low) const;
  StoreAddress master(bool needed, const std::string &why) const;

  bool isTorchrun() const;
  bool isSlurm() const;
  bool isHandByEnvironment() const;
  const Names *mpi() const;
  void refuseConflict() const;
  void refuseUnknown() const;
  void refuseFlags(LaunchKind kind) const;

  Launch spawned() const;
  Launch byHand() const;
  Launch torchrun() const;
  Launch slurm() const;
  Launch mpirun() const;
  /// A launch whose place is checked.
  static Launch at(LaunchKind kind, const Number &process,
                   const Number &processes,
                   const std::optional<Number> &localProcess,
                   const std::optional<Number> &localProcesses);

  const LaunchFlags &flags;
  const Environment &environment;
};

std::string Detection::text(std::string_view name) const {
  auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::optional<Number> Detection::number(const char *name, int64_t low) const {
  std::string value = text(name);
  if (value.empty())
    return std::nullopt;
  Number number{name, 0};
  const char *end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number.value);
  if (error != std::errc() || stop != end || number.value < low ||
      number.value > 1 << 30)
    fail("the environment variable ", name, " is an integer of ", low,
         " or more, got '", value, "'");
  return number;
}

Number Detection::needed(const char *name, int64_t low, LaunchKind kind) const {
  if (std::optional<Number> found = number(name, low))
    return *found;
  fail("started by ", launchKindName(kind), ", which sets ", name,
       ", and it is not set; --launcher none runs this process alone");
}

std::optional<Number> Detection::either(const std::optional<int> &flag,
                                        const char *flagName, const char *name,
                                        int64_t low) const {
  if (flag)
    return Number{flagName, *flag};
  return number(name, low);
}

StoreAddress Detection::master(bool needed, const std::string &why) const {
  if (flags.master) {
    HostAndPort parsed = parseHostAndPort("--master", *flags.master);
    return {parsed.host, parsed.port, 1};
  }
  std::string host = text("MASTER_ADDR"), port = text("MASTER_PORT");
  if (host.empty() && port.empty() && !needed)
    return {};
  if (host.empty() || port.empty())
    fail(why,
         " need a place to meet: --master HOST:PORT, or MASTER_ADDR and "
         "MASTER_PORT, got MASTER_ADDR='",
         host, "' and MASTER_PORT='", port, "'");
  bool isV6 = host.find(':') != std::string::npos && host.front() != '[';
  HostAndPort parsed = parseHostAndPort(
      "MASTER_ADDR:MASTER_PORT", (isV6 ? "[" + host + "]" : host) + ":" + port);
  return {parsed.host, parsed.port, 1};
}

bool Detection::isTorchrun() const {
  return !text("RANK").empty() && !text("WORLD_SIZE").empty();
}

bool Detection::isSlurm() const {
  // A batch script has a place, too, and no step; that of an interactive shell
  // has one task. What Slurm itself numbers is no step of srun's.
  constexpr int64_t firstReserved = 0xfffffff0;
  std::string step = text("SLURM_STEP_ID");
  if (step.empty())
    step = text("SLURM_STEPID");
  if (text("SLURM_PROCID").empty() || text("SLURM_STEP_NUM_TASKS").empty())
    return false;
  return std::atoll(step.c_str()) < firstReserved;
}

/// As platforms set them, once per node.
bool Detection::isHandByEnvironment() const {
  return !text("NUM_NODES").empty() && !text("NODE_RANK").empty() &&
         text("LOCAL_RANK").empty();
}

const Names *Detection::mpi() const {
  static constexpr Names all[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
       "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
      // MPICH and Intel MPI.
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};
  for (const Names &names : all)
    if (!text(names.process).empty() && !text(names.processes).empty())
      return &names;
  return nullptr;
}

Launch Detection::at(LaunchKind kind, const Number &process,
                     const Number &processes,
                     const std::optional<Number> &localProcess,
                     const std::optional<Number> &localProcesses) {
  auto below = [&](const Number &index, const Number &count) {
    if (index.value >= count.value)
      fail("started by ", launchKindName(kind), " with ", index.text(), " and ",
           count.text(), ": places are counted from 0");
  };
  below(process, processes);
  Launch launch;
  launch.kind = kind;
  launch.process = static_cast<int>(process.value);
  launch.processes = static_cast<int>(processes.value);
  if (localProcesses) {
    if (localProcesses->value > processes.value)
      fail("started by ", launchKindName(kind), " with ",
           localProcesses->text(), " and ", processes.text(),
           ": a host has more processes than there are");
    launch.localProcesses = static_cast<int>(localProcesses->value);
  }
  if (localProcess && localProcesses) {
    below(*localProcess, *localProcesses);
    launch.localProcess = static_cast<int>(localProcess->value);
  }
  return launch;
}

Launch Detection::spawned() const {
  LaunchKind kind = LaunchKind::Spawned;
  Launch launch = at(kind, needed("SHARDC_PROCESS", 0, kind),
                     needed("SHARDC_PROCESSES", 1, kind),
                     needed("SHARDC_LOCAL_PROCESS", 0, kind),
                     needed("SHARDC_LOCAL_PROCESSES", 1, kind));
  HostAndPort store = parseHostAndPort("SHARDC_STORE", text("SHARDC_STORE"));
  launch.store = {store.host, store.port, 1};
  launch.storeIsServed = true;
  launch.restarts = static_cast<int>(needed("SHARDC_RESTARTS", 0, kind).value);
  launch.job = text("SHARDC_JOB");
  launch.run = text("SHARDC_RUN");
  launch.prefix = concat("shardc/", launch.restarts);
  return launch;
}

Launch Detection::byHand() const {
  std::optional<Number> nodes = either(flags.nodes, "--nnodes", "NUM_NODES", 1);
  std::optional<Number> node =
      either(flags.nodeRank, "--node-rank", "NODE_RANK", 0);
  std::optional<Number> here =
      either(flags.processesPerNode, "--nproc-per-node", "LOCAL_WORLD_SIZE", 1);
  if (!nodes && node && node->value > 0)
    fail(node->text(), " is a place among several nodes: how many, --nnodes "
                       "or NUM_NODES says");
  Launch launch;
  launch.kind = LaunchKind::Hand;
  launch.nodes = nodes ? static_cast<int>(nodes->value) : 1;
  int perNode = here ? static_cast<int>(here->value) : 1;
  if (int64_t(launch.nodes) * perNode > 1 << 20)
    fail(nodes->text(), " and ", here->text(), " are more than ", 1 << 20,
         " processes");
  launch.isOpen = !here;
  if (launch.nodes > 1) {
    if (!node)
      fail(nodes->text(), ": each node needs its place, from 0 to ",
           launch.nodes - 1, ": --node-rank or NODE_RANK");
    if (node->value >= nodes->value)
      fail(node->text(), " with ", nodes->text(), ": nodes are counted from 0");
    launch.node = static_cast<int>(node->value);
    launch.store = master(true, concat(launch.nodes, " nodes"));
  } else if (flags.master)
    fail("--master ", *flags.master,
         " is where several nodes meet, and this run has one; leave it out, "
         "or say --nnodes and --node-rank");
  launch.maxRestarts = flags.maxRestarts;
  if (launch.maxRestarts > 0 && launch.nodes > 1)
    fail("--max-restarts ", launch.maxRestarts, " with ", nodes->text(),
         ": a node cannot start the others again; leave it to what starts the "
         "nodes");
  launch.startHere(perNode);
  if (perNode > 1 || launch.maxRestarts > 0)
    return launch;
  launch.spawns = 0;
  if (launch.processes == 1)
    launch.kind = LaunchKind::Alone;
  return launch;
}

Launch Detection::torchrun() const {
  LaunchKind kind = LaunchKind::Torchrun;
  Launch launch =
      at(kind, needed("RANK", 0, kind), needed("WORLD_SIZE", 1, kind),
         number("LOCAL_RANK", 0), number("LOCAL_WORLD_SIZE", 1));
  if (launch.processes > 1)
    launch.store =
        master(true, concat("WORLD_SIZE=", launch.processes, " processes"));
  launch.storeIsServed = text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (std::optional<Number> restarts = number("TORCHELASTIC_RESTART_COUNT", 0))
    launch.restarts = static_cast<int>(restarts->value);
  // An agent's store stays when it starts its workers again, also in another
  // number.
  std::string run = text("TORCHELASTIC_RUN_ID");
  launch.prefix = concat("shardc/", run, run.empty() ? "" : "/",
                         launch.restarts, "/", launch.processes);
  if (launch.processes > 1)
    launch.run = concat("torchrun ", run, " at ",
                        addressText(launch.store.host, launch.store.port));
  if (!launch.storeIsServed)
    launch.job = concat("torchrun ", run, ", restart ", launch.restarts, ", ",
                        launch.processes, " processes");
  return launch;
}

Launch Detection::slurm() const {
  LaunchKind kind = LaunchKind::Slurm;
  // Where this process's node is in the step's list.
  std::optional<Number> node = number("SLURM_NODEID", 0), here;
  std::string tasks = text("SLURM_STEP_TASKS_PER_NODE");
  Number processes = needed("SLURM_STEP_NUM_TASKS", 1, kind);
  if (!tasks.empty() && node) {
    std::vector<int> counts = expandTaskCounts(tasks);
    int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t(0));
    if (sum != processes.value)
      fail("SLURM_STEP_TASKS_PER_NODE=", tasks, " are ", sum, " tasks, and ",
           processes.text());
    if (node->value >= int64_t(counts.size()))
      fail(node->text(), ", and SLURM_STEP_TASKS_PER_NODE=", tasks, " has ",
           counts.size(), " nodes");
    here = Number{"SLURM_STEP_TASKS_PER_NODE",
                  counts[static_cast<size_t>(node->value)]};
  }
  Launch launch = at(kind, needed("SLURM_PROCID", 0, kind), processes,
                     number("SLURM_LOCALID", 0), here);
  if (launch.processes == 1)
    return launch;
  auto id = [&](const char *name, const char *olderName) {
    std::optional<Number> found = number(name, 0);
    if (!found)
      found = number(olderName, 0);
    return found ? found->value : 0;
  };
  int64_t job = id("SLURM_JOB_ID", "SLURM_JOBID");
  int64_t step = id("SLURM_STEP_ID", "SLURM_STEPID");
  if (std::optional<Number> restarts = number("SLURM_RESTART_COUNT", 0))
    launch.restarts = static_cast<int>(restarts->value);
  if (flags.master)
    launch.store = master(true, "");
  else {
    std::string list = text("SLURM_STEP_NODELIST");
    if (list.empty())
      fail("started by srun, which sets SLURM_STEP_NODELIST, and it is not "
           "set; --master HOST:PORT says where the processes meet");
    launch.store = {expandHostList(list).front(), slurmPort(job, step),
                    slurmPorts};
  }
  launch.run = concat("slurm ", job, ".", step);
  launch.job = concat(launch.run, ", restart ", launch.restarts);
  launch.prefix = "shardc";
  return launch;
}

Launch Detection::mpirun() const {
  LaunchKind kind = LaunchKind::Mpi;
  const Names *names = mpi();
  if (!names)
    fail("--launcher mpi, and this process was not started by mpirun: neither "
         "OMPI_COMM_WORLD_RANK nor PMI_RANK nor MV2_COMM_WORLD_RANK is set");
  Launch launch = at(
      kind, needed(names->process, 0, kind), needed(names->processes, 1, kind),
      number(names->localProcess, 0), number(names->localProcesses, 1));
  launch.prefix = "shardc";
  return launch;
}

/// Flags or variables that say this process's place, and a launcher that says
/// another: unless it has started one for each node.
void Detection::refuseConflict() const {
  std::optional<Number> nodes = either(flags.nodes, "--nnodes", "NUM_NODES", 1);
  Number own = flags.processesPerNode
                   ? Number{"--nproc-per-node", *flags.processesPerNode}
               : nodes ? *nodes
                       : Number{"--node-rank", *flags.nodeRank};
  auto refuse = [&](const char *launcher, const Number &processes) {
    if (processes.value == 1 || (nodes && nodes->value == processes.value))
      return;
    fail(own.text(), ", and ", launcher, " started this process as one of ",
         processes.value, " (", processes.text(),
         "): leave out one of them, or say --launcher hand where each of "
         "these is a node");
  };
  if (isTorchrun())
    refuse("torchrun", needed("WORLD_SIZE", 1, LaunchKind::Torchrun));
  if (isSlurm())
    refuse("srun", needed("SLURM_STEP_NUM_TASKS", 1, LaunchKind::Slurm));
  if (const Names *names = mpi())
    refuse("mpirun", needed(names->processes, 1, LaunchKind::Mpi));
}

void Detection::refuseFlags(LaunchKind kind) const {
  const char *launcher = launchKindName(kind);
  if (flags.byHand())
    fail("--nnodes, --node-rank and --nproc-per-node are for runs that are "
         "started by hand, and this one is ",
         kind == LaunchKind::Alone ? "to be alone (--launcher none)"
                                   : std::string("started by ") + launcher);
  if (flags.master && kind != LaunchKind::Slurm)
    fail("--master ", *flags.master,
         kind == LaunchKind::Torchrun
             ? concat(", and torchrun says MASTER_ADDR=", text("MASTER_ADDR"),
                      " and MASTER_PORT=", text("MASTER_PORT"))
         : kind == LaunchKind::Mpi
             ? std::string(", and mpirun's processes meet through MPI")
             : std::string(" is where several processes meet, and this one is "
                           "alone"));
  if (flags.maxRestarts > 0)
    fail("--max-restarts ", flags.maxRestarts,
         kind == LaunchKind::Alone
             ? std::string(" starts processes again that --nproc-per-node "
                           "started; say how many")
             : concat(", and ", launcher, " starts these processes"));
}

/// A process of several whose place nothing says as it is understood here.
void Detection::refuseUnknown() const {
  static constexpr struct {
    const char *rank, *size, *launcher;
  } launchers[] = {{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux run"},
                   {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "jsrun"},
                   {"GROUP_RANK", "GROUP_WORLD_SIZE", "torchrun"}};
  for (const auto &[rank, size, launcher] : launchers)
    if (!text(rank).empty() && std::atoll(text(size).c_str()) > 1)
      fail("started by ", launcher, " as one of ", text(size), " (", size, "=",
           text(size),
           "), whose settings are not known: say --nnodes, "
           "--node-rank and --master, or --launcher none");
  for (auto [name, other, least] : {std::tuple{"RANK", "WORLD_SIZE", 1},
                                    std::tuple{"WORLD_SIZE", "RANK", 2}})
    if (std::atoll(text(name).c_str()) >= least)
      fail(name, "=", text(name),
           " says that this is one of several processes, "
           "and ",
           other, " is not set: set it as well, or say --launcher none");
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
  for (const auto &[rank, size] : platforms)
    for (auto [name, least] : {std::pair{size, 2}, std::pair{rank, 1}})
      if (std::atoll(text(name).c_str()) >= least)
        fail("this job has several nodes (", name, "=", text(name),
             "), each of which would train all of it into the same files: say "
             "--nnodes, --node-rank and --master, or --launcher none");
}

Launch Detection::find() {
  // Its arguments are those of the process that started it.
  if (!text("SHARDC_PROCESS").empty())
    return spawned();
  auto launched = [&](LaunchKind kind, Launch launch) {
    refuseFlags(kind);
    launch.isOpen = kind == LaunchKind::Alone;
    return launch;
  };
  switch (flags.launcher) {
  case Launcher::None:
    return launched(LaunchKind::Alone, {});
  case Launcher::Hand:
    return byHand();
  case Launcher::Torchrun:
    return launched(LaunchKind::Torchrun, torchrun());
  case Launcher::Slurm:
    return launched(LaunchKind::Slurm, slurm());
  case Launcher::Mpi:
    return launched(LaunchKind::Mpi, mpirun());
  case Launcher::Auto:
    break;
  }
  if (flags.byHand() || isHandByEnvironment()) {
    refuseConflict();
    return byHand();
  }
  if (isTorchrun())
    return launched(LaunchKind::Torchrun, torchrun());
  // mpirun starts its helpers on other nodes with srun, and its processes have
  // what those were told as well. srun may be told to set PMI_RANK itself.
  const Names *names = mpi();
  bool bySlurm = isSlurm() &&
                 (!names || (names->process == std::string("PMI_RANK") &&
                             text("PMI_RANK") == text("SLURM_PROCID") &&
                             text("PMI_SIZE") == text("SLURM_STEP_NUM_TASKS")));
  if (bySlurm)
    return launched(LaunchKind::Slurm, slurm());
  if (names)
    return launched(LaunchKind::Mpi, mpirun());
  refuseUnknown();
  return launched(LaunchKind::Alone, {});
}

} // namespace

Launch detectLaunch(const LaunchFlags &flags, const Environment &environment) {
  Launch launch = Detection(flags, environment).find();
  launch.leavesHostMemory = flags.leavesHostMemory;
  launch.transport = chosenTransport(flags, launch, environment);
  return launch;
}

} // namespace shardc::runtime
