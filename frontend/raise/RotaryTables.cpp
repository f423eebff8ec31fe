// What a buffer holds that rotates queries and keys: needed only where the
// model is trained from random initial values and its own are not there.
#include "frontend/raise/Raise.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shardc;

namespace {

// The buffer that a table is cut from; its rows stay positions 0, 1, ...
nn::ParameterOp findBuffer(Value table, SymbolTable &symbols) {
  while (Operation *op = table.getDefiningOp()) {
    if (auto get = dyn_cast<nn::GetParameterOp>(op))
      return symbols.lookup<nn::ParameterOp>(get.getParameter());
    if (auto slice = dyn_cast<nn::SliceOp>(op)) {
      if (llvm::any_of(slice.getStarts(), [](int64_t s) { return s != 0; }) ||
          llvm::any_of(slice.getStrides(), [](int64_t s) { return s != 1; }))
        return {};
    } else if (!isa<nn::ReshapeOp, nn::BroadcastOp, nn::CastOp>(op)) {
      return {};
    }
    table = op->getOperand(0);
  }
  return {};
}

void describe(Value table, StringRef function, nn::RopeOp rope,
              SymbolTable &symbols) {
  nn::ParameterOp buffer = findBuffer(table, symbols);
  if (!buffer || buffer.getTrainable() || buffer.getInit())
    return;
  auto type = cast<RankedTensorType>(buffer.getType());
  int64_t headDim =
      cast<RankedTensorType>(rope.getInput().getType()).getShape().back();
  int64_t width = type.getShape().empty() ? 0 : type.getShape().back();
  if (type.getRank() != 2 || (width != headDim && width != headDim / 2))
    return;
  bool pairs = rope.getInterleaved() && width == headDim;
  buffer.setInit(llvm::formatv("rotary_{0}:{1},{2},{3}", function,
                               raise::usualRotaryBase, headDim, int(pairs))
                     .str());
}

} // namespace

void raise::describeRotaryTables(ModuleOp module) {
  SymbolTable symbols(module);
  module.walk([&](nn::RopeOp rope) {
    describe(rope.getCos(), "cos", rope, symbols);
    describe(rope.getSin(), "sin", rope, symbols);
  });
}
