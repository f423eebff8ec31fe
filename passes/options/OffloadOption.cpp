// The parser of what leaves the device.
#include "passes/options/OffloadOption.h"

#include "passes/options/ByteSize.h"

#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace shardc {

Expected<OffloadOption> OffloadOption::parse(StringRef text) {
  OffloadOption option;
  if (text == "none")
    return option;
  option.isAuto = text == "auto";
  if (option.isAuto)
    return option;
  auto fail = [&](const Twine &expected) {
    return createStringError("offload " + text + ": expected " + expected);
  };
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [what, size] = part.split('=');
    int64_t *bytes = what == "optimizer"     ? &option.optimizer
                     : what == "activations" ? &option.activations
                     : what == "parameters"  ? &option.parameters
                                             : nullptr;
    if (!bytes)
      return fail(
          "none, auto, optimizer[=SIZE] (master weights and optimizer "
          "state), activations[=SIZE], parameters[=SIZE], or several of "
          "these with commas between them");
    if (*bytes)
      return fail(what + " once");
    *bytes = all;
    if (what.size() == part.size())
      continue;
    std::optional<double> given = parseByteSize(size);
    if (!given)
      return fail(what + "=SIZE to have " + byteSizeForms);
    *bytes = static_cast<int64_t>(std::min(*given, 0x1p62));
  }
  return option;
}

} // namespace shardc
