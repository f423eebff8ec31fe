// What runtime/files/ConfinedOpen.h opens, mapped.
#include "frontend/onnx/file/ExternalData.h"
#include "frontend/files/RegularFile.h"
#include "runtime/files/ConfinedOpen.h"

#include <cerrno>
#include <cstring>

using llvm::StringRef;
using shardc::runtime::ConfinedFile;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
shardc::onnx::mapBeside(StringRef model, StringRef location) {
  if (location.trim('/').empty() || location.contains('\0'))
    return llvm::createStringError("external data has no file name");
  ConfinedFile found = runtime::openBeside(model.str(), location.str());
  switch (found.outcome) {
  case ConfinedFile::Outcome::opened:
    break;
  case ConfinedFile::Outcome::outside:
    return llvm::createStringError(
        "external data file '" + location +
        "' lies outside of the model's folder; only files in it are read");
  case ConfinedFile::Outcome::linkOutside:
    return llvm::createStringError(
        "external data file '" + location +
        "' leads through a symbolic link to '" + found.target +
        "', outside of the model's folder; copy it there");
  case ConfinedFile::Outcome::failed:
    if (found.error == ENOENT)
      return nullptr;
    return llvm::createStringError("cannot open external data file '" +
                                   location +
                                   "': " + std::strerror(found.error));
  }
  auto buffer = mapRegularFile(found.file.get(), location);
  if (!buffer)
    return llvm::createStringError("cannot read external data file '" +
                                   location +
                                   "': " + llvm::toString(buffer.takeError()));
  return std::move(*buffer);
}
