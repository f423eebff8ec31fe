// Follows nn.get_parameter through views and cheap conversions to the ops that
// compute with the parameter.
#include "passes/analyses/ParameterUses.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shardc;

bool shardc::isView(Operation *op) {
  return op->hasTrait<nn::IsView>() && !isa<nn::BroadcastOp>(op);
}

bool shardc::isCheapToRepeat(Operation *op) {
  return op->hasTrait<nn::IsView>() || isa<nn::CastOp>(op);
}

SmallVector<StringAttr> shardc::parametersOf(Operation *op) {
  SmallVector<StringAttr> names;
  for (Value operand : op->getOperands()) {
    Operation *link = operand.getDefiningOp();
    while (link && isCheapToRepeat(link))
      link = link->getOperand(0).getDefiningOp();
    if (auto get = dyn_cast_or_null<nn::GetParameterOp>(link))
      names.push_back(get.getParameterAttr().getAttr());
  }
  return names;
}

ParameterUses::ParameterUses(func::FuncOp function) {
  llvm::DenseMap<Value, StringAttr> derived;
  function.walk([&](Operation *op) {
    if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
      derived[get.getResult()] = get.getParameterAttr().getAttr();
      return;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      StringAttr parameter = derived.lookup(operand.get());
      if (!parameter)
        continue;
      if (isCheapToRepeat(op))
        derived[op->getResult(0)] = parameter;
      else
        inOrder.push_back({&operand, parameter});
    }
  });
}

SmallVector<StringAttr> ParameterUses::byFirstUse() const {
  llvm::SetVector<StringAttr> names;
  for (const Use &use : inOrder)
    names.insert(use.parameter);
  return names.takeVector();
}
