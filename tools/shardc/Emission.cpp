// The options of emitPlan.
#include "tools/shardc/Emission.h"

#include "frontend/onnx/decode/Decoder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

namespace shardc {

EmitOptions emitOptions(const Options &options,
                        const onnx::ImportedModel &model,
                        const onnx::ExportTemplate &exported,
                        mlir::MLIRContext *context) {
  EmitOptions emit;
  emit.compiler = "shardc " SHARDC_VERSION;
  // The trainer is run from any folder, and knows the file again by its hash.
  llvm::SmallString<256> path(options.model);
  llvm::sys::fs::make_absolute(path);
  emit.model = path.str();
  emit.modelHash = llvm::xxh3_64bits(model.file->bytes());
  emit.init = options.init;
  // What was rewritten is in no file that a trainer could read.
  emit.embedWeights = options.embedWeights ||
                      (model.file->isRewritten() && options.init != "random");
  for (const onnx::TemplateInitializer &initializer : exported.initializers)
    emit.exported.push_back(
        {initializer.name,
         initializer.parameter,
         initializer.transposed,
         {initializer.source.file, initializer.source.offset,
          initializer.source.length,
          onnx::elementType(context, initializer.dtype), false},
         {initializer.dims.begin(), initializer.dims.end()},
         initializer.dtype});
  return emit;
}

} // namespace shardc
