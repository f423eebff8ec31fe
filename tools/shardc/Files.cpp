// Files that shardc writes besides the trainer.
#include "tools/shardc/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

llvm::Error shardc::writeFile(llvm::StringRef path, llvm::StringRef text) {
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
