// A program that is started as trainers are, for test/tools/test_launchers.py:
// it finds its place, meets the others, prints who they are, and does what
// LAUNCHED_DO says: "1:kill9,3:exit2", in its first attempt alone. With
// LAUNCHED_LOST every attempt ends as those do that lose another process.
#include "runtime/base/Printable.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cli/LaunchFlagTable.h"
#include "runtime/flags/Settings.h"
#include "runtime/launch/Affinity.h"
#include "runtime/launch/ChooseTransport.h"
#include "runtime/launch/ErrorFile.h"
#include "runtime/launch/ExitCode.h"
#include "runtime/launch/Rendezvous.h"
#include "runtime/launch/Supervisor.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace shardc::runtime;

namespace {

volatile sig_atomic_t noted = 0;

/// What this process is to do: "exit3", "kill9", "fail", "wait", "hang".
std::string actionOf(const Launch &launch) {
  const char *all = std::getenv("LAUNCHED_DO");
  if (!all || launch.restarts > 0)
    return "";
  std::istringstream words(all);
  for (std::string word; std::getline(words, word, ',');)
    if (std::string own = concat(launch.process, ":"); word.starts_with(own))
      return word.substr(own.size());
  return "";
}

int act(const std::string &action) {
  if (action.starts_with("exit"))
    return std::atoi(action.c_str() + 4);
  if (action.starts_with("kill"))
    std::raise(std::atoi(action.c_str() + 4));
  if (action == "fail")
    fail("the disk of this one is full");
  if (action == "hang")
    for (;;)
      pause();
  // As a trainer that is told to stop.
  while (action == "wait" && !noted)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return action == "wait" ? exitCodeOf(noted) : Done;
}

int run(int argc, char **argv) {
  LaunchFlags flags;
  cli::FlagTable table;
  cli::declareLaunch(table, flags);
  cli::Program program;
  program.description = "finds its place among processes";
  cli::Settings settings(table, program, argc, argv);
  settings.apply();
  Launch launch = detectLaunch(flags, currentEnvironment());
  if (launch.spawns > 0) {
    SupervisorOptions options;
    options.arguments.assign(argv, argv + argc);
    options.grace = std::chrono::seconds(1);
    return supervise(launch, options);
  }
  std::string action = actionOf(launch);
  if (std::getenv("LAUNCHED_LOST"))
    return LostProcess;
  for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU}) {
    struct sigaction handler = {};
    handler.sa_handler = [](int number) { noted = number; };
    handler.sa_flags = static_cast<int>(SA_RESETHAND);
    if (action == "hang")
      handler.sa_handler = SIG_IGN;
    sigaction(signal, &handler, nullptr);
  }
  std::printf("%s%s\n", launch.text().c_str(),
              launch.restarts ? concat(", restart ", launch.restarts).c_str()
                              : "");
  std::fflush(stdout);
  std::string warning = oneCoreWarning(
      launch, usableCores(), static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  if (!warning.empty())
    std::fprintf(stderr, "launched: warning: %s\n", warning.c_str());
  std::shared_ptr<MpiLibrary> mpi;
  TextExchange overMpi;
  if (launch.kind == LaunchKind::Mpi && launch.processes > 1) {
    mpi = MpiLibrary::find(mpiKinds(currentEnvironment()));
    mpi->begin();
    overMpi = [&](const std::string &mine) { return mpi->exchange(mine); };
  }
  Rendezvous here(launch, std::chrono::seconds(flags.startTimeout), overMpi);
  Deadline deadline = after(std::chrono::seconds(60));
  std::vector<std::string> masks =
      here.exchange("mask", maskText(usableCoreList()), deadline);
  std::vector<int> share =
      chosenShare(usableCoreList(), masks, here.localProcess());
  if (!share.empty())
    bindThread(share);
  std::vector<std::string> all = here.exchange(
      "place",
      concat(launch.process, " is ", here.localProcess(), " of ",
             here.localProcesses(), ", on ", maskText(usableCoreList())),
      deadline);
  if (launch.process == 0)
    for (const std::string &each : all)
      std::printf("%s\n", each.c_str());
  std::fflush(stdout);
  int code = act(action);
  here.leave(after(std::chrono::seconds(10)));
  if (mpi)
    mpi->finish();
  return code;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Error &error) {
    std::fprintf(stderr, "launched: error: %s\n",
                 printable(error.what()).c_str());
    writeErrorFile(currentEnvironment(), error.what());
    bool isLost = dynamic_cast<const StoreTimeout *>(&error) ||
                  dynamic_cast<const StoreLost *>(&error);
    return isLost ? LostProcess : BadInput;
  }
}
