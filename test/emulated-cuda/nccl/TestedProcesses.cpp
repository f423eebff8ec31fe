// Starting ranks as processes, with a file for the unique id.
#include "test/emulated-cuda/nccl/TestedProcesses.h"

#include "test/emulated-cuda/nccl/NcclParts.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace shardc::test::cuda {
namespace {

constexpr const char *variable = "SHARDC_TEST_NCCL_RANK";

void writeId(const std::string &path, const ncclUniqueId &id) {
  std::ofstream(path + ".new", std::ios::binary)
      .write(id.internal, sizeof(id.internal));
  std::filesystem::rename(path + ".new", path);
}

ncclUniqueId readId(const std::string &path) {
  while (!std::filesystem::exists(path))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ncclUniqueId id;
  std::ifstream(path, std::ios::binary).read(id.internal, sizeof(id.internal));
  return id;
}

} // namespace

std::optional<int> runAsRank() {
  const char *text = std::getenv(variable);
  if (!text)
    return std::nullopt;
  std::istringstream words(text);
  int rank, ranks;
  std::string folder, part;
  words >> rank >> ranks >> folder >> part;
  std::string path = folder + "/id";
  try {
    Device device(rank);
    TestedRank self{device, rank, ranks};
    ncclUniqueId id;
    if (rank == 0)
      writeId(path, id = newId());
    else
      id = readId(path);
    partOf(part)(self, id);
    return 0;
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

std::vector<Ended>
inProcesses(int ranks, const std::string &part,
            const std::map<std::string, std::string> &variables) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "shardc-nccl-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    throw std::runtime_error("no temporary folder");
  std::vector<pid_t> processes(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> environment = {
        std::string(variable) + "=" + std::to_string(rank) + " " +
        std::to_string(ranks) + " " + folder + " " + part};
    for (auto &[name, value] : variables)
      environment.push_back(name + "=" + value);
    for (char **one = environ; *one; ++one)
      environment.push_back(*one);
    std::vector<char *> pointers;
    for (std::string &one : environment)
      pointers.push_back(one.data());
    pointers.push_back(nullptr);
    std::string output = folder + "/" + std::to_string(rank);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, output.c_str(),
                                     O_WRONLY | O_CREAT, 0600);
    char name[] = "nccl-tests";
    char *arguments[] = {name, nullptr};
    int error = posix_spawn(&processes[rank], "/proc/self/exe", &actions,
                            nullptr, arguments, pointers.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error)
      throw std::runtime_error("a rank's process cannot be started");
  }
  std::vector<Ended> all;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(processes[rank], &status, 0);
    std::ifstream output(folder + "/" + std::to_string(rank));
    all.push_back({WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                   {std::istreambuf_iterator<char>(output), {}}});
  }
  std::filesystem::remove_all(folder);
  return all;
}

} // namespace shardc::test::cuda
