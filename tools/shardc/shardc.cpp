// shardc: an ONNX model into a sharded trainer.
#include "frontend/onnx/decode/DecoderTable.h"
#include "runtime/launch/Guard.h"
#include "tools/shardc-diff/Diff.h"
#include "tools/shardc/Compiler.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/Remarks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace shardc;

/// The program's exit code; 2 after an error in its flags.
static int run(int argc, char **argv) {
  // Models of these names are ./diff, ./explain and ./export.
  if (argc > 1 && llvm::StringRef(argv[1]) == "diff")
    return diff(argc - 1, argv + 1);
  if (argc > 1 && llvm::StringRef(argv[1]) == "export") {
    printError("shardc export is a command of the Python package, which is not "
               "installed here: ./dev wheel makes it, and pip installs it; "
               "docs/exporting.md says how to export by hand");
    return 2;
  }
  bool explains = argc > 1 && llvm::StringRef(argv[1]) == "explain";
  ParsedOptions parsed =
      parseOptions(explains ? Command::Explain : Command::Compile,
                   explains ? argc - 1 : argc, explains ? argv + 1 : argv,
                   llvm::join(passesWithRemarks(), ", "));
  if (parsed.options)
    return explains ? explain(*parsed.options) : compile(*parsed.options);
  if (!parsed.error.empty()) {
    printError(parsed.error);
    return 2;
  }
  llvm::outs() << (parsed.listsOps ? shardc::onnx::DecoderTable().list()
                                   : parsed.information);
  return 0;
}

int main(int argc, char **argv) {
  guardProcess("shardc");
  reportFatalErrors();
  return finishOutput(run(argc, argv));
}
