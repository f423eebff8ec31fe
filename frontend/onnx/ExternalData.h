// External data files, opened so that they cannot lie outside of the model's
// folder.
#ifndef SHARDC_FRONTEND_ONNX_EXTERNALDATA_H
#define SHARDC_FRONTEND_ONNX_EXTERNALDATA_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace shardc::onnx {

/// Maps `location`, a path relative to `folder`. No part of it may be absolute,
/// `..` or a symbolic link. Null where there is no such file; an error where
/// the path is not allowed or the file cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapBeneath(llvm::StringRef folder, llvm::StringRef location);

} // namespace shardc::onnx

#endif
