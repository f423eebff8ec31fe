// The parser of depths.
#include "passes/options/PrefetchOption.h"

using namespace llvm;

namespace shardc {

Expected<PrefetchOption> PrefetchOption::parse(StringRef text) {
  PrefetchOption option;
  auto isDepth = [](StringRef number, int64_t &depth) {
    return !number.getAsInteger(10, depth) && depth >= 0 && depth <= 64;
  };
  if (text == "auto") {
    option.isAuto = true;
    return option;
  }
  if (isDepth(text, option.forward)) {
    option.backward = option.forward;
    return option;
  }
  auto [forward, backward] = text.split(',');
  if (forward.consume_front("forward=") &&
      backward.consume_front("backward=") && isDepth(forward, option.forward) &&
      isDepth(backward, option.backward))
    return option;
  return createStringError("prefetch " + text +
                           ": expected auto, or the number of units to gather "
                           "ahead, 0 to 64, as N or forward=N,backward=M");
}

} // namespace shardc
