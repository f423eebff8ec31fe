// What --loss says: parsing.
#include "passes/options/LossOption.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace shardc {

static constexpr StringLiteral forms =
    "accepted are cross-entropy:logits=NAME,labels=NAME[,ignore=N][,shift=N]"
    "[,label-smoothing=S], "
    "mse:output=NAME,target=NAME and output:NAME";

static Error refuseLoss(const Twine &what) {
  return createStringError("--loss: " + what + "; " + forms);
}

Expected<LossOption> LossOption::parse(StringRef text) {
  auto [kindName, rest] = text.split(':');
  LossOption option;
  if (kindName == "output") {
    option.output = rest.str();
    if (rest.empty())
      return refuseLoss("output: is followed by no name");
    return option;
  }
  if (kindName != "cross-entropy" && kindName != "mse")
    return refuseLoss("unknown kind '" + kindName + "'");
  bool crossEntropy = kindName == "cross-entropy";
  option.kind = crossEntropy ? CrossEntropy : MeanSquaredError;
  StringRef outputKey = crossEntropy ? "logits" : "output";
  StringRef targetKey = crossEntropy ? "labels" : "target";
  SmallVector<StringRef> parts;
  rest.split(parts, ',', -1, /*KeepEmpty=*/false);
  StringSet<> seen;
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (value.empty())
      return refuseLoss("'" + part + "' is not KEY=VALUE");
    if (!seen.insert(key).second)
      return refuseLoss("'" + key + "' is given twice");
    if (key == outputKey) {
      option.output = value.str();
    } else if (key == targetKey) {
      option.target = value.str();
    } else if (crossEntropy && (key == "ignore" || key == "shift")) {
      int64_t &number = key == "ignore" ? option.ignore : option.shift;
      if (value.getAsInteger(10, number) || (key == "shift" && number < 0))
        return refuseLoss("expects " + key + " to be a whole number" +
                          (key == "shift" ? " from 0 on" : "") + ", got '" +
                          value + "'");
    } else if (crossEntropy && key == "label-smoothing") {
      if (value.getAsDouble(option.smoothing) ||
          !(option.smoothing >= 0 && option.smoothing <= 1))
        return refuseLoss("expects label-smoothing to be a number from 0 to 1, "
                          "got '" +
                          value + "'");
    } else {
      return refuseLoss("unknown key '" + key + "' of " + kindName);
    }
  }
  for (StringRef key : {outputKey, targetKey})
    if (!seen.contains(key))
      return refuseLoss(kindName + " needs " + key + "=NAME");
  return option;
}

} // namespace shardc
