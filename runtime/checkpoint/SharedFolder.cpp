// Whether a path leads all processes of a run to one folder.
#include "runtime/checkpoint/SharedFolder.h"

#include "runtime/base/HostName.h"
#include "runtime/base/Text.h"
#include "runtime/comm/GatherTexts.h"
#include "runtime/files/Descriptor.h"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

namespace shardc::runtime {

namespace fs = std::filesystem;

namespace {

/// A file of a random name, and the folders that lead to it, until they go out
/// of scope.
class Mark {
public:
  explicit Mark(const std::string &folder) {
    std::error_code error;
    for (fs::path each = fs::absolute(folder, error);
         !fs::exists(each, error) && each != each.parent_path();
         each = each.parent_path())
      made.push_back(each);
    fs::create_directories(folder, error);
    if (error)
      fail("cannot make the folder ", folder, ": ", error.message());
    std::random_device random;
    for (int word = 0; word < 4; ++word)
      name += format("%08x", unsigned(random()));
    name = ".shared-" + name;
    path = folder + "/" + name;
    Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) {
      int code = errno;
      removeFolders();
      errno = code;
      failErrno("cannot write to the folder ", folder);
    }
  }
  Mark(Mark &&) = delete;
  ~Mark() {
    unlink(path.c_str());
    removeFolders();
  }

  std::string name;

private:
  void removeFolders() {
    for (const fs::path &each : made)
      rmdir(each.c_str());
  }

  std::string path;
  std::vector<fs::path> made; // the innermost first
};

/// A network's file system may show it a moment later.
bool isThere(const std::string &path) {
  using namespace std::chrono_literals;
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (access(path.c_str(), F_OK) == 0)
      return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

} // namespace

void checkSharedFolder(Communicator &communicator, const std::string &path) {
  constexpr int leader = 0;
  std::optional<Mark> mark;
  std::string said;
  if (communicator.rank() == leader) {
    try {
      mark.emplace(path);
      said = "+" + mark->name;
    } catch (const Error &error) {
      said = std::string("-") + error.what();
    }
  }
  said = gatherTexts(communicator, said)[leader];
  if (said.starts_with("-"))
    fail("--checkpoint-dir: ", said.substr(1));
  bool sees = isThere(path + "/" + said.substr(1));
  std::vector<std::string> all =
      gatherTexts(communicator,
                  sees ? "" : concat("process ", getpid(), " on ", hostName()));
  mark.reset();
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty())
      fail("--checkpoint-dir ", path,
           " is not one folder for all processes: ", "rank ", rank, " (",
           all[rank], ") does not see what rank ", leader,
           " writes there; choose a folder of a shared file system");
}

} // namespace shardc::runtime
