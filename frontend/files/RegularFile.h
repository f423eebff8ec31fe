// Files that the user names, opened for reading.
#ifndef SHARDC_FRONTEND_FILES_REGULARFILE_H
#define SHARDC_FRONTEND_FILES_REGULARFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace shardc {

/// The bytes of a regular file, mapped where that pays. An error (what is
/// wrong, without the path) for anything else, and at once: a pipe would wait
/// for a writer, a device has no end.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapRegularFile(llvm::StringRef path);

/// The same for a file that is open, without waiting (O_NONBLOCK). The
/// descriptor stays the caller's.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapRegularFile(int descriptor, llvm::StringRef name);

} // namespace shardc

#endif
