// What moves elements to more places than a kernel should tell apart becomes
// copies.
#include "codegen/lower/CallModel.h"

using namespace mlir;

namespace shardc {

using View = step::View;

// Every piece is copied to its place.
static void concat(nn::ConcatOp op, EntryBuilder &entries) {
  View joined = entries.allocate(op->getResult(0));
  SmallVector<int64_t> starts(joined.rank(), 0), steps(joined.rank(), 1);
  for (Value piece : op.getInputs()) {
    SmallVector<int64_t> limits(joined.shape);
    limits[op.getAxis()] = starts[op.getAxis()] + shapeOf(piece)[op.getAxis()];
    if (!llvm::is_contained(shapeOf(piece), 0))
      entries.emit<step::CopyOp>(
          entries.ref(entries.view(piece)),
          entries.ref(joined.slice(starts, limits, steps)));
    starts[op.getAxis()] = limits[op.getAxis()];
  }
}

// All of the result is zeros first; then the input is copied to its place.
static void pad(nn::PadOp op, EntryBuilder &entries) {
  View whole = entries.allocate(op->getResult(0));
  entries.emit<step::FillOp>(entries.ref(whole), llvm::APFloat(0.0));
  SmallVector<int64_t> limits, steps;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getInput()))) {
    if (size == 0)
      return;
    steps.push_back(op.getInterior()[dim] + 1);
    limits.push_back(op.getLow()[dim] + (size - 1) * steps.back() + 1);
  }
  entries.emit<step::CopyOp>(
      entries.ref(entries.view(op.getInput())),
      entries.ref(whole.slice(op.getLow(), limits, steps)));
}

void attachShapeCalls(MLIRContext *context) {
  attachCall<nn::ConcatOp, concat>(context);
  attachCall<nn::PadOp, pad>(context);
}

} // namespace shardc
