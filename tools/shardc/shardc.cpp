// shardc: an ONNX model into a sharded trainer.
#include "tools/shardc/Compiler.h"

int main(int argc, char **argv) {
  shardc::ParsedOptions parsed = shardc::parseOptions(argc, argv);
  if (!parsed.options)
    return parsed.exitCode;
  return shardc::compile(*parsed.options);
}
