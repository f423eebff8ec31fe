// The parser of what leaves the device.
#include "passes/options/OffloadOption.h"

using namespace llvm;

namespace shardc {

Expected<OffloadOption> OffloadOption::parse(StringRef text) {
  if (text == "none")
    return OffloadOption{OffloadOption::None};
  if (text == "optimizer")
    return OffloadOption{OffloadOption::Optimizer};
  if (text == "auto")
    return OffloadOption{OffloadOption::Auto};
  return createStringError("offload " + text +
                           ": expected none, optimizer (master weights and "
                           "optimizer state), or auto");
}

} // namespace shardc
