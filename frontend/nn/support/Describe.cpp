// Ops in words.
#include "frontend/nn/support/Describe.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace shardc {

std::string nodeName(Location location) {
  std::string name;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}

std::string described(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (std::string node = nodeName(op->getLoc()); !node.empty())
    text += " of node '" + node + "'";
  return text;
}

std::string described(Value value) {
  if (Operation *op = value.getDefiningOp())
    return described(op);
  auto argument = cast<BlockArgument>(value);
  unsigned number = argument.getArgNumber();
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto name = function
                  ? function.getArgAttrOfType<StringAttr>(number, nn::nameAttr)
                  : StringAttr();
  return name ? "the input '" + name.str() + "'"
              : "argument " + std::to_string(number);
}

} // namespace shardc
