// The pass onnx-import: importOnnx into the module at hand.
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/Passes.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_ONNXIMPORT
#include "frontend/onnx/Passes.h.inc"
} // namespace shardc

using namespace shardc;

namespace {

struct OnnxImport : shardc::impl::OnnxImportBase<OnnxImport> {
  using OnnxImportBase::OnnxImportBase;

  void runOnOperation() override {
    shardc::onnx::ImportOptions options;
    options.path = path;
    options.allowMissingWeights = allowMissingWeights;
    for (StringRef dim : dims) {
      auto [name, size] = dim.rsplit('=');
      int64_t value;
      if (size.getAsInteger(10, value)) {
        getOperation().emitError()
            << "expects dims=NAME=N, got '" << dim << "'";
        return signalPassFailure();
      }
      options.dims[name] = value;
    }
    shardc::onnx::ImportDiagnostics diagnostics;
    OwningOpRef<ModuleOp> imported =
        shardc::onnx::importOnnx(&getContext(), options, diagnostics);
    if (!imported)
      return signalPassFailure();
    for (const std::string &warning : diagnostics.warnings)
      emitWarning(UnknownLoc::get(&getContext())) << warning;
    if (!exportTo.empty() && failed(writeModel(*diagnostics.model)))
      return signalPassFailure();
    getOperation()->setAttrs((*imported)->getAttrs());
    getOperation().getBody()->getOperations().splice(
        getOperation().getBody()->end(), imported->getBody()->getOperations());
  }

  LogicalResult writeModel(const shardc::onnx::ImportedModel &model) {
    llvm::Expected<std::string> bytes =
        shardc::onnx::exportInitialValues(model);
    if (!bytes)
      return getOperation().emitError() << llvm::toString(bytes.takeError());
    std::error_code error;
    llvm::raw_fd_ostream file(exportTo, error);
    if (!error)
      file << *bytes;
    file.close();
    if (error || file.has_error())
      return getOperation().emitError() << "cannot write '" << exportTo << "'";
    return success();
  }
};

} // namespace
