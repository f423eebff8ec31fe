// The trainer: one file.
#include "codegen/emit/WriteTrainer.h"

#include "runtime/Container.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <unistd.h>
#include <vector>

namespace shardc {
namespace {

using llvm::StringRef;

llvm::Error failure(StringRef what, StringRef path, std::error_code code) {
  return llvm::createStringError(what + " '" + path + "': " + code.message());
}

/// Appends to a temporary file, keeping count; write errors surface at once.
class TrainerFile {
public:
  TrainerFile(llvm::sys::fs::TempFile &file, StringRef path)
      : file(file), path(path) {}

  llvm::Error append(const void *data, size_t size) {
    const char *bytes = static_cast<const char *>(data);
    while (size) {
      ssize_t written = ::write(file.FD, bytes, size);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return failure("cannot write", path, llvm::errnoAsErrorCode());
      bytes += written;
      size -= written;
      end += written;
    }
    return llvm::Error::success();
  }

  llvm::Error pad(uint64_t alignment) {
    std::vector<char> zeros(llvm::alignTo(end, alignment) - end);
    return append(zeros.data(), zeros.size());
  }

  llvm::Error beginSection(container::SectionKind kind, uint32_t target = 0) {
    if (llvm::Error error = pad(container::alignment))
      return error;
    sections.push_back({kind, target, end, 0, 0});
    checksum = {};
    return llvm::Error::success();
  }
  llvm::Error addToSection(StringRef bytes) {
    checksum.update(bytes.data(), bytes.size());
    return append(bytes.data(), bytes.size());
  }
  void endSection() {
    sections.back().length = end - sections.back().offset;
    sections.back().checksum = checksum.finish();
  }
  llvm::Error section(container::SectionKind kind, StringRef bytes,
                      uint32_t target = 0) {
    if (llvm::Error error = beginSection(kind, target))
      return error;
    if (llvm::Error error = addToSection(bytes))
      return error;
    endSection();
    return llvm::Error::success();
  }

  llvm::Error finish() {
    if (llvm::Error error = pad(container::alignment))
      return error;
    container::Footer footer = {};
    size_t tableBytes = sections.size() * sizeof(container::Section);
    footer.tableOffset = end;
    footer.tableChecksum = container::Checksum::of(sections.data(), tableBytes);
    footer.sections = sections.size();
    footer.version = container::version;
    std::memcpy(footer.magic, container::magic, sizeof(footer.magic));
    if (llvm::Error error = append(sections.data(), tableBytes))
      return error;
    return append(&footer, sizeof(footer));
  }

private:
  llvm::sys::fs::TempFile &file;
  StringRef path;
  uint64_t end = 0;
  std::vector<container::Section> sections;
  container::Checksum checksum;
};

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapFileRange(const std::string &path, uint64_t offset, uint64_t length) {
  uint64_t size = 0;
  if (std::error_code code = llvm::sys::fs::file_size(path, size))
    return failure("cannot read", path, code);
  if (offset > size || length > size - offset)
    return llvm::createStringError("'" + path + "' ends at byte " +
                                   std::to_string(size) + ", a parameter at " +
                                   std::to_string(offset + length));
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, length, offset);
  if (!buffer)
    return failure("cannot read", path, buffer.getError());
  return std::move(*buffer);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapRange(const TrainerContents &contents, const EmbeddedRange &range) {
  if (range.file.empty() && !contents.modelContent.empty())
    return llvm::MemoryBuffer::getMemBuffer(
        contents.modelContent.substr(range.offset, range.length), "",
        /*RequiresNullTerminator=*/false);
  llvm::SmallString<256> path(contents.modelPath);
  if (!range.file.empty()) {
    llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, range.file);
  }
  return mapFileRange(path.str().str(), range.offset, range.length);
}

// A range at a time: no more of the weights is in memory than the largest one.
llvm::Error appendWeights(TrainerFile &file, const TrainerContents &contents) {
  if (contents.weights.empty())
    return llvm::Error::success();
  if (llvm::Error error = file.beginSection(container::sectionWeights))
    return error;
  for (const EmbeddedRange &range : contents.weights) {
    auto bytes = mapRange(contents, range);
    if (!bytes)
      return bytes.takeError();
    // Whole words, then the rest filled up to the next range's place.
    StringRef values = (*bytes)->getBuffer();
    size_t words = values.size() / weightAlignment * weightAlignment;
    if (llvm::Error error = file.addToSection(values.take_front(words)))
      return error;
    std::string rest = values.drop_front(words).str();
    rest.resize(llvm::alignTo(rest.size(), weightAlignment), '\0');
    if (llvm::Error error = file.addToSection(rest))
      return error;
  }
  file.endSection();
  return llvm::Error::success();
}

llvm::Error writeContents(TrainerFile &file, const TrainerContents &contents) {
  auto runtime = llvm::MemoryBuffer::getFile(contents.runtime, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (!runtime)
    return failure("cannot read the trainer's runtime", contents.runtime,
                   runtime.getError());
  if (llvm::Error error =
          file.section(container::sectionRuntime, (*runtime)->getBuffer()))
    return error;
  for (auto [index, target] : llvm::enumerate(contents.targets)) {
    if (llvm::Error error =
            file.section(container::sectionPlan, target.plan, index))
      return error;
    if (llvm::Error error =
            file.section(container::sectionKernels, target.kernels, index))
      return error;
    if (target.unshardedPlan.empty())
      continue;
    if (llvm::Error error = file.section(container::sectionUnshardedPlan,
                                         target.unshardedPlan, index))
      return error;
    if (llvm::Error error = file.section(container::sectionUnshardedKernels,
                                         target.unshardedKernels, index))
      return error;
  }
  if (!contents.exportTemplate.empty())
    if (llvm::Error error = file.section(container::sectionExportTemplate,
                                         contents.exportTemplate))
      return error;
  if (llvm::Error error = appendWeights(file, contents))
    return error;
  return file.finish();
}

} // namespace

llvm::Expected<std::string> findRuntime(StringRef executable) {
  StringRef folder = llvm::sys::path::parent_path(executable);
  llvm::SmallString<256> built(folder), installed(folder);
  llvm::sys::path::append(built, "shardc-runtime");
  llvm::sys::path::append(installed, "..", "lib", "shardc", "trainer-runtime");
  for (StringRef candidate : {built.str(), installed.str()})
    if (llvm::sys::fs::exists(candidate))
      return candidate.str();
  return llvm::createStringError("the trainer's runtime is neither '" + built +
                                 "' nor '" + installed +
                                 "'; build or install shardc whole");
}

llvm::Error writeTrainer(StringRef path, const TrainerContents &contents) {
  // A device is not replaced by a file, for root neither.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      !llvm::sys::fs::is_regular_file(status))
    return llvm::createStringError("cannot write '" + path +
                                   "': it is not a regular file");
  auto temporary = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp",
                                                   llvm::sys::fs::owner_all);
  if (!temporary)
    return failure("cannot write", path,
                   llvm::errorToErrorCode(temporary.takeError()));
  auto discard =
      llvm::scope_exit([&] { llvm::consumeError(temporary->discard()); });
  TrainerFile file(*temporary, path);
  if (llvm::Error error = writeContents(file, contents))
    return error;
  // Executable for all who may read it, whatever the mode of a new file is.
  if (std::error_code code = llvm::sys::fs::setPermissions(
          temporary->FD, llvm::sys::fs::perms(0755)))
    return failure("cannot make executable", path, code);
  if (::fsync(temporary->FD) != 0)
    return failure("cannot write", path, llvm::errnoAsErrorCode());
  discard.release();
  if (llvm::Error error = temporary->keep(path))
    return failure("cannot write", path,
                   llvm::errorToErrorCode(std::move(error)));
  return llvm::Error::success();
}

} // namespace shardc
