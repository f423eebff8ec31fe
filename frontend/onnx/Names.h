// The names of a model.
#ifndef SHARDC_FRONTEND_ONNX_NAMES_H
#define SHARDC_FRONTEND_ONNX_NAMES_H

#include "llvm/Support/Error.h"

namespace shardc::onnx {

struct ImportedModel;

/// That all of them are UTF-8, as ONNX has them: they become symbols, entries
/// of the plan and of the report. The error names the first that is not.
llvm::Error checkNames(const ImportedModel &model);

} // namespace shardc::onnx

#endif
