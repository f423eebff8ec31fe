// In a column reduction a block has a few neighbouring columns; its threads
// share the rows, each in steps of the number of threads, and their sums are
// added as a tree.
#include "codegen/gpu/GpuLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::gpu {

// A thread has the loads of so many rows under way at a time: few columns have
// few blocks, and memory is far away.
constexpr int64_t rowsUnderWay = 4;

FailureOr<GpuLoops::Accumulators> GpuLoops::sumColumns(const Pass &pass) {
  Accumulators accumulators = sums.neutral(pass.reductions, 1);
  Value first = make<arith::DivUIOp>(thread, shape.columnThreads);
  Value lane = elements.position.lane;
  auto addRow = [&](Operation *loop, Value step, Accumulators &carried) {
    elements.enterStep(loop, step);
    elements.setLanes(0, nest.extents.lanes, lane, {});
    Pass terms;
    terms.reductions = pass.reductions;
    LogicalResult done = emitVector(terms, {}, carried);
    elements.leaveStep();
    return done;
  };
  auto addRows = [&](Operation *loop, Value begin, Accumulators &carried) {
    for (int64_t row = 0; row < rowsUnderWay; ++row)
      if (failed(addRow(loop,
                        make<arith::AddIOp>(begin, row * shape.stepThreads),
                        carried)))
        return failure();
    return success();
  };
  int64_t stride = rowsUnderWay * shape.stepThreads,
          whole = nest.extents.steps / stride * stride;
  if (whole > 0 && failed(forLoop(first, whole, stride, accumulators, addRows)))
    return failure();
  if (whole < nest.extents.steps &&
      failed(forLoop(whole > 0 ? make<arith::AddIOp>(first, whole) : first,
                     nest.extents.steps, shape.stepThreads, accumulators,
                     addRow)))
    return failure();
  elements.setLanes(0, nest.extents.lanes, lane, {});
  return accumulators;
}

LogicalResult GpuLoops::emitColumns() {
  int64_t perItem = nest.extents.lanes / shape.vector;
  Value inBlock = make<arith::RemUIOp>(thread, shape.columnThreads);
  Value number = arith::AddIOp::create(
      builder, loc, make<arith::MulIOp>(block, shape.columnThreads), inBlock);
  auto [vector, inside] = clamp(number, nest.extents.items * perItem,
                                shape.grid * shape.columnThreads);
  Value item = make<arith::DivUIOp>(vector, perItem);
  Value lane =
      make<arith::MulIOp>(make<arith::RemUIOp>(vector, perItem), shape.vector);
  elements.enterItem(item);
  elements.setLanes(0, nest.extents.lanes, lane, {});
  // One thread of each column stores.
  Value stores;
  if (shape.stepThreads > 1)
    stores = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                   thread, this->number(shape.columnThreads));
  for (int64_t level = 0; level <= nest.lastLevel(); ++level) {
    Pass pass = nest.passOf(level), results;
    results.outputs = pass.outputs;
    Accumulators none;
    if (!results.empty() &&
        failed(emitVector(results, both(inside, stores), none)))
      return failure();
    if (pass.reductions.empty())
      continue;
    FailureOr<Accumulators> totals = sumColumns(pass);
    if (failed(totals) ||
        failed(finish(pass, *totals, shape.columnThreads, shape.stepThreads)))
      return failure();
  }
  return success();
}

} // namespace shardc::gpu
