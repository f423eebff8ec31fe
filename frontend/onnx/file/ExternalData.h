// External data files, opened so that they cannot lie elsewhere than the model.
#ifndef SHARDC_FRONTEND_ONNX_FILE_EXTERNALDATA_H
#define SHARDC_FRONTEND_ONNX_FILE_EXTERNALDATA_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace shardc::onnx {

/// Maps `location`, a path relative to the folder of `model` that the model
/// file declares, where runtime/files/ConfinedOpen.h lets it be opened. Null where there is no such file; an error where the path is not allowed or
/// the file cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapBeside(llvm::StringRef model, llvm::StringRef location);

} // namespace shardc::onnx

#endif
