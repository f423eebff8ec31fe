// shardc: an ONNX model into a sharded trainer.
#include "runtime/launch/Guard.h"
#include "tools/shardc/Compiler.h"
#include "tools/shardc/Diagnostics.h"

int main(int argc, char **argv) {
  shardc::guardProcess("shardc");
  shardc::reportFatalErrors();
  shardc::ParsedOptions parsed = shardc::parseOptions(argc, argv);
  int code =
      parsed.options ? shardc::compile(*parsed.options) : parsed.exitCode;
  return shardc::finishOutput(code);
}
