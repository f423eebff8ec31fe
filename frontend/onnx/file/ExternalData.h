// External data files, opened so that they cannot lie elsewhere than the model.
#ifndef SHARDC_FRONTEND_ONNX_FILE_EXTERNALDATA_H
#define SHARDC_FRONTEND_ONNX_FILE_EXTERNALDATA_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace shardc::onnx {

/// Maps `location`, a path relative to the folder of `model` that the model
/// file declares: neither absolute nor with `..`. Symbolic links are followed
/// where they end at a file
///  - below the model's folder,
///  - below the folder in which the model file itself lies, where it is a link,
///  - below `blobs`, where the folder is a snapshot of a Hugging Face cache
///    (REPOSITORY/snapshots/REVISION, with REPOSITORY/blobs).
/// docs/decisions/0018-links-that-external-data-may-follow.md has the reasons.
/// Null where there is no such file; an error where the path is not allowed or
/// the file cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapBeside(llvm::StringRef model, llvm::StringRef location);

} // namespace shardc::onnx

#endif
