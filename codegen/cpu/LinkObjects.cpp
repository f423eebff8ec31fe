// lld reads files, and writes one in a temporary folder.
#include "codegen/cpu/LinkObjects.h"

#include "lld/Common/Driver.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

LLD_HAS_DRIVER(elf)

// Debian's archive of link-time optimization asks for Polly, which is in a plugin
// alone. No bitcode is linked here.
llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }

namespace shardc::cpu {

namespace {
/// A folder that is removed with this object.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  std::error_code create() {
    return llvm::sys::fs::createUniqueDirectory("shardc-kernels", path);
  }
  ~TemporaryFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }
};

/// What lld reads: in memory, where the system has such files and names for
/// them (memfd_create(2), proc(5)), since a dozen of small files on a disk take
/// longer than they take to link; else in the folder.
class InputFiles {
public:
  explicit InputFiles(const TemporaryFolder &folder) : folder(folder) {}
  ~InputFiles() {
    for (int descriptor : descriptors)
      close(descriptor);
  }
  /// Returns the path of a file of these bytes.
  llvm::Expected<std::string> add(const llvm::Twine &name,
                                  llvm::StringRef bytes) {
    std::string path = folder.file(name);
    // A process may have 1024 open files, which more than these do not take up.
    constexpr size_t mostInMemory = 256;
    int descriptor = descriptors.size() < mostInMemory
                         ? memfd_create(name.str().c_str(), MFD_CLOEXEC)
                         : -1;
    if (descriptor >= 0) {
      descriptors.push_back(descriptor);
      std::string named = "/proc/self/fd/" + std::to_string(descriptor);
      if (access(named.c_str(), R_OK) == 0)
        path = named;
      else
        descriptor = -1;
    }
    std::error_code error;
    std::optional<llvm::raw_fd_ostream> os;
    if (descriptor >= 0)
      os.emplace(descriptor, /*shouldClose=*/false);
    else
      os.emplace(path, error);
    if (!error) {
      *os << bytes;
      os->flush();
      error = os->error();
      os->clear_error();
    }
    if (error)
      return llvm::createStringError(error, "cannot write " + path + ": " +
                                                error.message());
    return path;
  }

private:
  const TemporaryFolder &folder;
  std::vector<int> descriptors;
};

/// Empty libraries of these names (StandIn.c).
constexpr char standInMvec[] = {
#include "stand-ins/libmvec.so.1.inc"
};
constexpr char standInM[] = {
#include "stand-ins/libm.so.6.inc"
};
constexpr char standInC[] = {
#include "stand-ins/libc.so.6.inc"
};
} // namespace

static llvm::Error runLld(llvm::ArrayRef<std::string> arguments) {
  // lld keeps global state.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::vector<const char *> raw;
  for (const std::string &argument : arguments)
    raw.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  lld::Result result = lld::lldMain(raw, os, os, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return llvm::createStringError("linking kernels failed: " +
                                   llvm::StringRef(messages).trim().str());
  return llvm::Error::success();
}

llvm::Expected<std::string> linkObjects(llvm::ArrayRef<std::string> objects) {
  TemporaryFolder folder;
  if (std::error_code error = folder.create())
    return llvm::createStringError(error, "cannot create a temporary folder: " +
                                              error.message());
  std::string output = folder.file("kernels.so");
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "--hash-style=gnu",
                                        "--build-id=none",
                                        "-O1",
                                        "--threads=1",
                                        "-z",
                                        "noexecstack",
                                        "-soname",
                                        "kernels.so",
                                        "-o",
                                        output,
                                        "-s",
                                        "--no-undefined-version",
                                        "--no-as-needed"};
  InputFiles inputs(folder);
  auto add = [&](const llvm::Twine &name,
                 llvm::StringRef bytes) -> llvm::Error {
    llvm::Expected<std::string> path = inputs.add(name, bytes);
    if (!path)
      return path.takeError();
    arguments.push_back(std::move(*path));
    return llvm::Error::success();
  };
  for (auto [number, object] : llvm::enumerate(objects))
    if (llvm::Error error =
            add("kernel" + std::to_string(number) + ".o", object))
      return std::move(error);
  // What the kernels call is resolved when they are loaded, and the compiling
  // machine's own libraries have no part in the result.
  using Library = std::pair<const char *, llvm::StringRef>;
  for (auto [name, bytes] :
       {Library("libmvec.so.1", {standInMvec, sizeof(standInMvec)}),
        Library("libm.so.6", {standInM, sizeof(standInM)}),
        Library("libc.so.6", {standInC, sizeof(standInC)})})
    if (llvm::Error error = add(name, bytes))
      return std::move(error);
  if (llvm::Error error = runLld(arguments))
    return error;
  auto buffer = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read the linked kernels");
  return (*buffer)->getBuffer().str();
}

} // namespace shardc::cpu
