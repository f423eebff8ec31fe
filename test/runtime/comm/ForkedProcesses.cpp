// fork(), pipes, and files that stand for a store.
#include "test/runtime/comm/ForkedProcesses.h"

#include "test/runtime/TemporaryFolder.h"

#include "gtest/gtest.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace shardc::runtime {

static constexpr std::chrono::seconds mostTime{60};

static TextExchange exchangeIn(const std::string &folder, int process,
                               int processes) {
  return [=, round = 0](const std::string &mine) mutable {
    auto path = [&](int of) { return concat(folder, "/", round, "-", of); };
    std::ofstream(path(process) + ".tmp", std::ios::binary) << mine;
    std::filesystem::rename(path(process) + ".tmp", path(process));
    std::vector<std::string> all;
    for (int of = 0; of < processes; ++of) {
      while (!std::filesystem::exists(path(of)))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::ostringstream text;
      text << std::ifstream(path(of), std::ios::binary).rdbuf();
      all.push_back(text.str());
    }
    ++round;
    return all;
  };
}

[[noreturn]] static void
runChild(int process, int processes, const std::string &folder, int output,
         const std::function<void(const ForkedProcess &)> &body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(unsigned(mostTime.count()));
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  int code = 0;
  try {
    body({process, processes, exchangeIn(folder, process, processes)});
  } catch (const std::exception &error) {
    fprintf(stderr, "process %d: %s\n", process, error.what());
    code = 1;
  }
  fflush(nullptr);
  // The test's own ends of this are the parent's.
  _exit(testing::Test::HasFailure() ? 1 : code);
}

std::vector<ChildEnd>
runForked(int processes,
          const std::function<void(const ForkedProcess &)> &body) {
  TemporaryFolder folder;
  fflush(nullptr);
  std::vector<pid_t> children;
  std::vector<int> outputs;
  for (int process = 0; process < processes; ++process) {
    int ends[2];
    if (pipe(ends) != 0)
      failErrno("cannot make a pipe");
    pid_t child = fork();
    if (child == 0)
      runChild(process, processes, folder.path(), ends[1], body);
    close(ends[1]);
    children.push_back(child);
    outputs.push_back(ends[0]);
  }
  std::vector<ChildEnd> all(processes);
  for (int process = 0; process < processes; ++process) {
    char text[4096];
    for (ssize_t got; (got = read(outputs[process], text, sizeof(text))) > 0;)
      all[process].text.append(text, got);
    close(outputs[process]);
    int status = 0;
    waitpid(children[process], &status, 0);
    all[process].exitCode =
        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return all;
}

} // namespace shardc::runtime
