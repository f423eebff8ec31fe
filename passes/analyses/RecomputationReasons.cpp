// Why values of the forward pass are kept or computed again, in words.
#include "passes/analyses/OpClasses.h"
#include "passes/analyses/SavedValues.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shardc {

std::string SavedValues::whyKept(Value value,
                                 const llvm::SetVector<Value> &kept) const {
  Operation *op = value.getDefiningOp();
  if (!hasChosen && isa<nn::KernelBody>(op))
    return "nothing is computed again with remat none";
  if (!isAllowed(op))
    return rules.allows ? "the policy does not compute it again"
                        : "a library call does not run again";
  if (withoutParameters.contains(op))
    return "it is made of parameters that are not gathered where backward "
           "first needs it";
  if (rules.regions.contains(op) && rules.regions.makesInput(op) &&
      rules.regions.isMadeOfCalls(op))
    return "it is the input of another unit or module";
  if (rules.regions.isLast(op) && hasNoKernel(op))
    return "backward begins with it";
  if (!candidates.contains(op) && isBounded(op) && !rules.regions.isLast(op))
    return "the library adds it to a product, or what is added to it";
  if (!candidates.contains(op))
    return "backward reads it over more than half of its length, for which a "
           "copy would live as well";
  if (affordable.contains(op))
    return llvm::formatv(
               "computing it again takes {0}, and a step has {1} for "
               "all of that",
               timeText(
                   RecomputationTime(affordable, lastForward, costs).of(op)),
               timeText(budget))
        .str();
  int64_t instead = 0;
  for (Value operand : op->getOperands())
    if (Value storage = storageOf(operand);
        !isFree(storage) && !kept.contains(storage))
      instead += bytesOf(storage);
  return llvm::formatv(
             "computing it again takes {0}, from {1} that are not "
             "kept otherwise: more than it is worth",
             timeText(RecomputationTime(candidates, lastForward, costs).of(op)),
             bytesText(instead))
      .str();
}

void SavedValues::explain(
    llvm::function_ref<void(Value, bool, std::string)> say) const {
  if (!lastForward)
    return;
  llvm::SetVector<Value> kept = keptWith(recomputed);
  RecomputationTime time(recomputed, lastForward, costs);
  for (Operation &op : func::FuncOp(train).front()) {
    if (&op == lastForward)
      return;
    if (isRecomputed(&op)) {
      int64_t saved = 0;
      for (Value result : op.getResults())
        if (needs.contains(result))
          saved += bytesOf(result);
      say(op.getResult(0), true,
          llvm::formatv("computed again in backward, which takes {0}: {1}",
                        timeText(time.of(&op)),
                        saved ? bytesText(saved) + " are not kept"
                              : "others are made of it that are not kept")
              .str());
      continue;
    }
    for (Value result : op.getResults())
      if (kept.contains(result))
        say(result, false,
            llvm::formatv("kept for backward, {0}: {1}",
                          bytesText(bytesOf(result)), whyKept(result, kept))
                .str());
  }
}

} // namespace shardc
