// The CUDA toolkit's assembler runs as a program, and what it prints is read.
#include "codegen/gpu/GpuModel.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace shardc::gpu {

/// Returns the number before `unit`, or nothing.
static std::optional<int64_t> numberBefore(llvm::StringRef text,
                                           llvm::StringRef unit) {
  size_t end = text.find(unit);
  if (end == llvm::StringRef::npos)
    return std::nullopt;
  llvm::StringRef before = text.take_front(end).rtrim();
  size_t digits = before.find_last_not_of("0123456789");
  int64_t value;
  if (before.drop_front(digits + 1).getAsInteger(10, value))
    return std::nullopt;
  return value;
}

std::optional<ResourceUsage> parsePtxas(llvm::StringRef messages) {
  auto registers = numberBefore(messages, " registers");
  auto stack = numberBefore(messages, " bytes stack frame");
  auto stores = numberBefore(messages, " bytes spill stores");
  auto loads = numberBefore(messages, " bytes spill loads");
  if (!registers || !stack || !stores || !loads)
    return std::nullopt;
  // ptxas does not say it where there is none.
  return ResourceUsage{*registers, *stack, *stores + *loads,
                       numberBefore(messages, " bytes smem").value_or(0)};
}

static llvm::Expected<std::string> readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "%s", path.str().c_str());
  return (*buffer)->getBuffer().str();
}

llvm::Expected<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef ptxas,
                               const GpuModel &gpu) {
  llvm::SmallString<128> source, target, messages;
  int descriptor = -1;
  auto remove = llvm::make_scope_exit([&] {
    for (llvm::StringRef file : {source.str(), target.str(), messages.str()})
      if (!file.empty())
        (void)llvm::sys::fs::remove(file);
  });
  if (auto code = llvm::sys::fs::createTemporaryFile("kernel", "ptx",
                                                     descriptor, source))
    return llvm::createStringError(code, "no temporary file for ptxas");
  {
    llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
    file << ptx;
  }
  for (auto [path, suffix] : {std::pair(&target, "cubin"), {&messages, "txt"}})
    if (auto code = llvm::sys::fs::createTemporaryFile("kernel", suffix, *path))
      return llvm::createStringError(code, "no temporary file for ptxas");
  std::string error;
  int status = llvm::sys::ExecuteAndWait(
      ptxas, {ptxas, "-v", "--gpu-name", gpu.name, "-O3", source, "-o", target},
      std::nullopt, {llvm::StringRef(), messages.str(), messages.str()}, 0, 0,
      &error);
  llvm::Expected<std::string> said = readFile(messages);
  if (!said)
    return said.takeError();
  if (status != 0)
    return llvm::createStringError(
        (ptxas + ": " + error + llvm::StringRef(*said).trim()).str());
  std::optional<ResourceUsage> usage = parsePtxas(*said);
  if (!usage)
    return llvm::createStringError(
        ptxas.str() + " does not say what a kernel uses: " + *said);
  llvm::Expected<std::string> bytes = readFile(target);
  if (!bytes)
    return bytes.takeError();
  return Cubin{std::move(*bytes), *usage};
}

} // namespace shardc::gpu
