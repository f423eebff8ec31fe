// The compiler's reader of ONNX files: the file, the graph, and the raising of
// its patterns.
#include "frontend/nn/NN.h"
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/ImportedModel.h"
#include "passes/Passes.h"
#include "test/fuzz/readers/MemoryPath.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace shardc;

/// A context keeps every attribute that was ever made in it, so that after some
/// thousands of inputs another one takes its place.
static mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned inputs = 0;
  if (inputs++ % 4096 == 0) {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, mlir::func::FuncDialect>();
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }
  return *context;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string path = fuzz::memoryPath(data, size);
  mlir::MLIRContext &context = ::context();
  // Errors are answers, and none may go without one.
  int errors = 0;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        errors +=
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error ? 1 : 0;
      });
  shardc::onnx::ImportOptions options;
  options.path = path;
  options.allowMissingWeights = true;
  for (const char *dim : {"batch", "sequence", "s0", "s1"})
    options.dims[dim] = 2;
  shardc::onnx::ImportDiagnostics found;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      shardc::onnx::importOnnx(&context, options, found);
  if (!module) {
    if (errors == 0)
      std::abort();
    return 0;
  }
  if (mlir::failed(mlir::verify(*module)))
    std::abort();
  shardc::onnx::makeExportTemplate(*found.model);
  mlir::PassManager passes(&context);
  passes.addPass(createNNRaise());
  if (mlir::failed(passes.run(*module)) && errors == 0)
    std::abort();
  return 0;
}
