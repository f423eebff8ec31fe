// Files that shardc writes besides the trainer.
#include "tools/shardc/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

/// Writes to what is no file: a terminal, a pipe, /dev/null.
static llvm::Error writeTo(llvm::StringRef path, llvm::StringRef text) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code, llvm::sys::fs::CD_OpenExisting);
  if (!code) {
    out << text;
    out.close();
    code = out.error();
    out.clear_error();
  }
  return code ? llvm::createStringError(path + ": " + code.message())
              : llvm::Error::success();
}

llvm::Error shardc::writeFile(llvm::StringRef path, llvm::StringRef text) {
  // Nor is it replaced by a file.
  llvm::sys::fs::file_status status;
  if (path != "-" && !llvm::sys::fs::status(path, status) &&
      !llvm::sys::fs::is_regular_file(status))
    return writeTo(path, text);
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &out) {
    out << text;
    return llvm::Error::success();
  });
  if (!error)
    return error;
  return llvm::createStringError(path + ": " +
                                 llvm::toString(std::move(error)));
}

std::string shardc::programPath() {
  return llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&shardc::programPath));
}
