// What a trainer takes from the model's file.
#ifndef SHARDC_TOOLS_SHARDC_EMISSION_H
#define SHARDC_TOOLS_SHARDC_EMISSION_H

#include "codegen/emit/EmitPlan.h"
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/ImportedModel.h"
#include "tools/shardc/Options.h"

namespace shardc {

/// `exported` is what --export of the trainer will write into.
EmitOptions emitOptions(const Options &options,
                        const onnx::ImportedModel &model,
                        const onnx::ExportTemplate &exported,
                        mlir::MLIRContext *context);

} // namespace shardc

#endif
