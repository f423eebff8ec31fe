// lld reads and writes files, which lie in a temporary folder while it runs.
#include "codegen/cpu/LinkObjects.h"

#include "lld/Common/Driver.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

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
} // namespace

static llvm::Error writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << bytes;
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? llvm::createStringError(error, "cannot write " + path + ": " +
                                                    error.message())
               : llvm::Error::success();
}

static std::string emptyObject(const CpuModel &cpu) {
  llvm::LLVMContext context;
  llvm::Module module("empty", context);
  std::unique_ptr<llvm::TargetMachine> machine = cpu.createMachine();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager emit;
  machine->addPassesToEmitFile(emit, os, nullptr,
                               llvm::CodeGenFileType::ObjectFile);
  emit.run(module);
  return object.str().str();
}

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

llvm::Expected<std::string> linkObjects(llvm::ArrayRef<std::string> objects,
                                        const CpuModel &cpu) {
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
  for (auto [number, object] : llvm::enumerate(objects)) {
    arguments.push_back(folder.file("kernel" + std::to_string(number) + ".o"));
    if (llvm::Error error = writeFile(arguments.back(), object))
      return error;
  }
  // The libraries are empty stand-ins of the same names: what the kernels call
  // is resolved when they are loaded, and the compiling machine's own libraries
  // have no part in the result.
  std::string empty = folder.file("empty.o");
  if (llvm::Error error = writeFile(empty, emptyObject(cpu)))
    return error;
  for (const char *library : {"libmvec.so.1", "libm.so.6", "libc.so.6"}) {
    std::string path = folder.file(library);
    if (llvm::Error error = runLld(
            {"ld.lld", "-shared", "-soname", library, "-o", path, empty}))
      return error;
    arguments.push_back(path);
  }
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
