// @train and @eval.
#include "passes/TrainFunctions.h"

using namespace mlir;

FailureOr<shardc::TrainFunctions> shardc::trainFunctions(ModuleOp module) {
  TrainFunctions functions{module.lookupSymbol<func::FuncOp>("train"),
                           module.lookupSymbol<func::FuncOp>("eval")};
  if (!functions.train || !functions.eval)
    return emitError(module.getLoc(), "expects functions @train and @eval");
  return functions;
}

Value shardc::addRunInput(func::FuncOp function, StringRef role, Type type) {
  Builder builder(function.getContext());
  const unsigned index = function.getNumArguments();
  auto text = builder.getStringAttr(role);
  (void)function.insertArgument(
      index, type,
      builder.getDictionaryAttr({builder.getNamedAttr(nn::nameAttr, text),
                                 builder.getNamedAttr(nn::roleAttr, text)}),
      function.getLoc());
  return function.getArgument(index);
}
