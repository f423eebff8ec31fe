// In a column reduction a block has a few neighbouring columns; its threads
// share the rows, each in steps of the number of threads, and their sums are
// added as a tree.
#include "codegen/gpu/GpuLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::gpu {

FailureOr<GpuLoops::Accumulators> GpuLoops::sumColumns(const Pass &pass) {
  Accumulators accumulators = sums.neutral(pass.reductions, 1);
  Value first = make<arith::DivUIOp>(thread, shape.columnThreads);
  Value lane = elements.position.lane;
  if (failed(forLoop(first, nest.extents.steps, shape.stepThreads, accumulators,
                     [&](Operation *loop, Value step, Accumulators &carried) {
                       elements.enterStep(loop, step);
                       elements.setLanes(0, nest.extents.lanes, lane, {});
                       Pass terms;
                       terms.reductions = pass.reductions;
                       LogicalResult done = emitVector(terms, {}, carried);
                       elements.leaveStep();
                       return done;
                     })))
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
