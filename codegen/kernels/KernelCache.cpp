// A file is the bytes, and eight more: their XXH3, since a file may be cut off
// where the machine was.
#include "codegen/kernels/KernelCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <elf.h>
#include <link.h>

namespace shardc::kernels {

/// Appends the build ID of one loaded program or library (ELF's note
/// NT_GNU_BUILD_ID, which linkers write). 1 where one that compiles has none:
/// the program, whose name is empty here, LLVM or MLIR.
static int appendBuildId(dl_phdr_info *object, size_t, void *ids) {
  llvm::StringRef file = llvm::sys::path::filename(object->dlpi_name);
  // The kernel's own.
  if (file.starts_with("linux-vdso"))
    return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    const char *at =
        reinterpret_cast<const char *>(object->dlpi_addr + header.p_vaddr);
    const char *end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note);
      const char *value = name + llvm::alignTo(note->n_namesz, 4);
      if (note->n_type == NT_GNU_BUILD_ID &&
          llvm::StringRef(name, note->n_namesz) ==
              llvm::StringRef("GNU\0", 4)) {
        static_cast<std::string *>(ids)->append(value, note->n_descsz);
        return 0;
      }
      at = value + llvm::alignTo(note->n_descsz, 4);
    }
  }
  return file.empty() || file.starts_with("libLLVM") ||
         file.starts_with("libMLIR");
}

/// The build IDs of this program and of its libraries: what they compile to is
/// a matter of their code. Empty where one that compiles has none.
static const std::string &buildIds() {
  static const std::string ids = [] {
    std::string found;
    return dl_iterate_phdr(appendBuildId, &found) == 0 ? found : "";
  }();
  return ids;
}

llvm::Expected<KernelCache> KernelCache::open(llvm::StringRef folder) {
  if (buildIds().empty())
    return llvm::createStringError(
        "this program, or its LLVM or MLIR, has no build ID (link it with "
        "--build-id): what older ones have left cannot be told from what it "
        "would compile");
  KernelCache cache;
  cache.folder = folder.str();
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error && !llvm::sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error)
    error = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  if (error)
    return llvm::createStringError(error, "cannot write to the folder '" +
                                              folder + "': " + error.message());
  llvm::pruneCache(folder, llvm::CachePruningPolicy());
  return cache;
}

std::string KernelCache::keyOf(mlir::Operation *kernel,
                               llvm::StringRef target) const {
  if (!isOpen())
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, mlir::OpPrintingFlags()
                        .enableDebugInfo(false)
                        .useLocalScope()
                        .printGenericOpForm());
  return llvm::StringRef(text).contains("dense_resource") ? ""
                                                          : keyOf(text, target);
}

std::string KernelCache::keyOf(llvm::StringRef text,
                               llvm::StringRef target) const {
  if (!isOpen())
    return "";
  llvm::BLAKE3 hash;
  for (llvm::StringRef part : {llvm::StringRef(buildIds()), target, text}) {
    char length[8];
    llvm::support::endian::write64le(length, part.size());
    hash.update(llvm::StringRef(length, sizeof(length)));
    hash.update(part);
  }
  return llvm::toHex(llvm::ArrayRef(hash.final<16>()), /*LowerCase=*/true);
}

std::string KernelCache::pathOf(const std::string &key) const {
  // pruneCache removes nothing that has another name.
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "llvmcache-" + key);
  return path.str().str();
}

std::optional<std::string> KernelCache::find(const std::string &key) const {
  if (key.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < sizeof(uint64_t))
    return std::nullopt;
  llvm::StringRef bytes = (*file)->getBuffer().drop_back(sizeof(uint64_t));
  if (llvm::support::endian::read64le(bytes.end()) != llvm::xxh3_64bits(bytes))
    return std::nullopt;
  return bytes.str();
}

llvm::Error KernelCache::store(const std::string &key,
                               llvm::StringRef bytes) const {
  if (key.empty())
    return llvm::Error::success();
  auto unkept = [this](const llvm::Twine &why) {
    return llvm::createStringError("cannot keep kernels in '" + folder +
                                   "': " + why);
  };
  auto file = llvm::sys::fs::TempFile::create(pathOf("new-%%%%%%%%"));
  if (!file)
    return unkept(llvm::toString(file.takeError()));
  std::error_code error;
  {
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    os << bytes;
    char checksum[8];
    llvm::support::endian::write64le(checksum, llvm::xxh3_64bits(bytes));
    os.write(checksum, sizeof(checksum));
    os.flush();
    error = os.error();
    os.clear_error();
  }
  if (error) {
    llvm::consumeError(file->discard());
    return unkept(error.message());
  }
  if (llvm::Error kept = file->keep(pathOf(key)))
    return unkept(llvm::toString(std::move(kept)));
  return llvm::Error::success();
}

} // namespace shardc::kernels
