// How shardc speaks to its user.
#include "tools/shardc/Diagnostics.h"

#include "tools/shardc/Printable.h"

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
  std::string message = diagnostic.str(), place;
  if (!StringRef(message).contains(file))
    place += file + ": ";
  if (std::string node = nodeName(diagnostic.getLocation());
      !node.empty() && message.find("node") == std::string::npos)
    place += "node '" + node + "': ";
  llvm::errs() << "shardc: " << (isError ? "error: " : "warning: ")
               << printable(place + message) << "\n";
}

void shardc::printError(StringRef message) {
  llvm::errs() << "shardc: error: " << printable(message) << "\n";
}
