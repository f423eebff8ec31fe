// How shardc speaks to its user.
#include "tools/shardc/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shardc;

namespace {

/// The ONNX node that a location names, or "".
std::string nodeName(Location location) {
  std::string name;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}

std::string oneLine(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
  return text;
}

} // namespace

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, std::string file)
    : file(std::move(file)),
      handler(&context, [this](Diagnostic &diagnostic) { print(diagnostic); }) {
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if ((!isError && diagnostic.getSeverity() != DiagnosticSeverity::Warning) ||
      (isError && errors++))
    return;
  std::string message = oneLine(diagnostic.str());
  llvm::errs() << "shardc: " << (isError ? "error: " : "warning: ");
  if (!StringRef(message).contains(file))
    llvm::errs() << file << ": ";
  if (std::string node = nodeName(diagnostic.getLocation());
      !node.empty() && message.find("node") == std::string::npos)
    llvm::errs() << "node '" << node << "': ";
  llvm::errs() << message << "\n";
}

void shardc::printError(StringRef message) {
  llvm::errs() << "shardc: error: " << oneLine(message.str()) << "\n";
}
