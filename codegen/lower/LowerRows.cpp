// Rows of a table that travel instead of it: entries with room for what goes to
// all ranks and comes from them.
#include "codegen/lower/ProgramLowering.h"

#include "passes/fsdp/RowSizes.h"

using namespace mlir;

namespace shardc {

/// Of ids, and of rows that they name or gradients of these.
static RowExchange exchangeOf(fsdp::UnitOp unit, const step::View &ids,
                              const step::View &rows) {
  return fsdp::rowExchange(unit, rows.shape.back(), ids.elements(),
                           ids.elementType, rows.elementType);
}

void ProgramLowering::emitEntries(fsdp::GatherRowsStartOp op) {
  Operation *wait = *op.getToken().user_begin();
  View ids = contiguous(op.getIds()), rows = allocate(wait->getResult(0));
  RowExchange sizes = exchangeOf(plan.unit(op.getUnit())->op, ids, rows);
  Value workspace = ref(newWorkspace(sizes.gather().bytes));
  auto start =
      emit<step::GatherRowsStartOp>(tokenType(), op.getUnitAttr(), ref(ids),
                                    ref(rows), workspace, op.getGroupAttr());
  collectives[op.getToken()] = {
      start.getToken(), rows.buffer, op.getUnit(), {rows}};
}

void ProgramLowering::emitEntries(fsdp::ReduceRowsStartOp op) {
  View gradient = contiguous(op.getGradient()), ids = contiguous(op.getIds());
  View shard = newShard(op.getToken(), op.getUnit());
  Value sum;
  if (op.getAccumulated())
    sum = ref(accumulator(RankedTensorType::get(shard.shape, shard.elementType),
                          op.getUnit()));
  RowExchange sizes = exchangeOf(plan.unit(op.getUnit())->op, ids, gradient);
  Value workspace = ref(newWorkspace(sizes.reduce().bytes));
  auto start = emit<step::ReduceRowsStartOp>(
      tokenType(), op.getUnitAttr(), ref(gradient), ref(ids), ref(shard), sum,
      workspace, op.getGroupAttr());
  collectives[op.getToken()] = {
      start.getToken(), shard.buffer, op.getUnit(), {shard}};
}

} // namespace shardc
