// What the starts of collectives and transfers put on links.
#include "codegen/step/View.h"
#include "passes/fsdp/RowSizes.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::step;

using Primitive = Communication::Primitive;

static int64_t bytesOf(Value view) { return nn::bytesOf(view.getType()); }
static int64_t bytesOf(ValueRange views) {
  int64_t bytes = 0;
  for (Value view : views)
    bytes += bytesOf(view);
  return bytes;
}

Communication AllGatherStartOp::getCommunication(SymbolTable &) {
  auto buffer = getGathered().getDefiningOp<BufferOp>();
  return {Primitive::allGather, "gather", getGroup(),
          static_cast<int64_t>(buffer.getBytes())};
}

Communication AllGatherUpdatesStartOp::getCommunication(SymbolTable &symbols) {
  auto unit = symbols.lookup<fsdp::UnitOp>(getUnit());
  return {
      Primitive::allGather, "gather", getGroup(),
      nn::bytesOf(unit.getFlatType(static_cast<int64_t>(unit.getShards())))};
}

Communication ReduceScatterStartOp::getCommunication(SymbolTable &) {
  return {Primitive::reduceScatter, "reduce", getGroup(), bytesOf(getFlat())};
}
Value ReduceScatterStartOp::getReducedGradient() { return getShard(); }

Communication AllReduceStartOp::getCommunication(SymbolTable &) {
  return {Primitive::allReduce, "reduce", getGroup(), bytesOf(getValues())};
}
Value AllReduceStartOp::getReducedGradient() {
  return getUnitAttr() ? getValues()[0] : Value();
}

/// Of the start of a collective that brings `rows` of a table, or reduces them.
template <typename Start>
static RowExchange sizesOf(Start start, Value rows, SymbolTable &symbols) {
  auto type = cast<MemRefType>(rows.getType()),
       ids = cast<MemRefType>(start.getIds().getType());
  return fsdp::rowExchange(symbols.lookup<fsdp::UnitOp>(start.getUnit()),
                           type.getShape().back(), ids.getNumElements(),
                           ids.getElementType(), type.getElementType());
}

// Ids go to the ranks that have columns, and slices of rows become columns,
// before the rows that were looked up come back.
Communication GatherRowsStartOp::getCommunication(SymbolTable &symbols) {
  RowExchange sizes = sizesOf(*this, getRows(), symbols);
  return {Primitive::allToAll,
          "reduce",
          getGroup(),
          sizes.rowsBytes(),
          sizes.idsBytes() + sizes.sliceBytes(),
          sizes.sliceBytes() + 2 * sizes.rowsBytes()};
}

// Ids and gradients go to the ranks that have columns, which add them up.
Communication ReduceRowsStartOp::getCommunication(SymbolTable &symbols) {
  RowExchange sizes = sizesOf(*this, getGradient(), symbols);
  return {Primitive::allToAll,
          "reduce",
          getGroup(),
          sizes.sumsBytes(),
          sizes.idsBytes() + sizes.rowsBytes(),
          2 * sizes.rowsBytes() + 2 * sizes.sumsBytes()};
}
Value ReduceRowsStartOp::getReducedGradient() { return getShard(); }

Communication GatherMatricesStartOp::getCommunication(SymbolTable &) {
  return {Primitive::allToAll, "all-to-all", "", bytesOf(getMatrices())};
}
Communication ScatterMatricesStartOp::getCommunication(SymbolTable &) {
  return {Primitive::allToAll, "all-to-all", "", bytesOf(getMatrices())};
}

Communication TransferStartOp::getCommunication(SymbolTable &) {
  auto buffer = View::of(getSource()).buffer.getDefiningOp<BufferOp>();
  return {Primitive::transfer,
          poolOf(buffer.getKind()) == Pool::host ? "transfers from the host"
                                                 : "transfers to the host",
          "", bytesOf(getSource())};
}
