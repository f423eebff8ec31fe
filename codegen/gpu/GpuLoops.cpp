// Loops over elements and rows are here, those over columns in GpuColumns.cpp.
#include "codegen/gpu/GpuLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::gpu {

template <typename Op> Value GpuLoops::idOf(Type type) {
  Value id = Op::create(builder, loc, mlir::gpu::Dimension::x);
  return arith::IndexCastOp::create(builder, loc, type, id);
}

GpuLoops::GpuLoops(OpBuilder &builder, VectorOps &vectors,
                   ElementEmitter &elements, const LoopNest &nest,
                   ArrayRef<SmallVector<Combiner>> combiners,
                   const LaunchShape &shape, mlir::gpu::GPUFuncOp function)
    : builder(builder), vectors(vectors), elements(elements), nest(nest),
      combiners(combiners), sums(builder, vectors, elements, nest, combiners),
      shape(shape), loc(function.getLoc()),
      thread(idOf<mlir::gpu::ThreadIdOp>(vectors.indexType())),
      block(idOf<mlir::gpu::BlockIdOp>(vectors.indexType())),
      threads(builder, vectors, function,
              idOf<mlir::gpu::ThreadIdOp>(builder.getI32Type())) {
  for (Value argument : function.getArguments().take_back(nest.outputs.size()))
    outputs.push_back(argument);
}

LogicalResult GpuLoops::emit() {
  switch (nest.kind) {
  case LoopNest::Kind::Elements:
    return emitElements();
  case LoopNest::Kind::Rows:
    return emitRows();
  case LoopNest::Kind::Columns:
    return emitColumns();
  }
  return failure();
}

Value GpuLoops::both(Value a, Value b) {
  return a && b ? Value(arith::AndIOp::create(builder, loc, a, b))
                : (a ? a : b);
}

/// Of the `threads` positions that begin at 0, `count` are there.
GpuLoops::Clamped GpuLoops::clamp(Value position, int64_t count,
                                  int64_t threads) {
  if (threads == count)
    return {position, {}};
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       position, number(count));
  return {make<arith::MinSIOp>(position, count - 1), inside};
}

LogicalResult GpuLoops::forLoop(
    Value from, int64_t to, int64_t step, Accumulators &accumulators,
    llvm::function_ref<LogicalResult(Operation *, Value, Accumulators &)>
        body) {
  return kernels::forLoop(builder, loc, from, number(to), number(step),
                          accumulators, body);
}

void GpuLoops::storeGuarded(Value inside, llvm::function_ref<void()> store) {
  if (!inside)
    return store();
  auto guard = scf::IfOp::create(builder, loc, inside);
  OpBuilder::InsertionGuard inner(builder);
  builder.setInsertionPointToStart(guard.thenBlock());
  store();
}

LogicalResult GpuLoops::emitElements() {
  int64_t perItem = nest.extents.lanes / shape.vector;
  int64_t count = nest.extents.items * perItem;
  Value number = arith::AddIOp::create(
      builder, loc, make<arith::MulIOp>(block, shape.block), thread);
  auto [vector, inside] = clamp(number, count, shape.grid * shape.block);
  bool oneItem = nest.extents.items == 1;
  Value item =
      oneItem ? this->number(0) : make<arith::DivUIOp>(vector, perItem);
  Value inItem = oneItem ? vector : make<arith::RemUIOp>(vector, perItem);
  elements.enterItem(item);
  elements.position.step = this->number(0);
  elements.setLanes(0, nest.extents.lanes,
                    make<arith::MulIOp>(inItem, shape.vector), {});
  Accumulators none;
  return emitVector(nest.passOf(0), inside, none);
}

/// Emits terms and results of a pass for the vector at the elements' position.
LogicalResult GpuLoops::emitVector(const Pass &pass, Value inside,
                                   Accumulators &accumulators) {
  size_t next = 0;
  for (unsigned reduction : pass.reductions) {
    size_t results = combiners[reduction].size();
    if (failed(sums.accumulate(
            reduction,
            MutableArrayRef<Value>(accumulators).slice(next, results), inside)))
      return failure();
    next += results;
  }
  SmallVector<Value> values;
  for (unsigned output : pass.outputs) {
    FailureOr<Value> value = elements.emit(
        {nest.outputs[output], nest.outputIndex(nest.outputs[output], false)});
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  if (!values.empty())
    storeGuarded(both(inside, rowInside), [&] {
      for (auto [output, value] : llvm::zip_equal(pass.outputs, values))
        elements.store(loc, value, outputs[output],
                       nest.position().restricted(elements.loopExtents()),
                       getElementTypeOrSelf(nest.outputs[output].getType()));
    });
  return success();
}

LogicalResult GpuLoops::emitRows() {
  int64_t perRow = nest.extents.lanes / shape.vector;
  Value row = block;
  inRow = thread;
  if (shape.rowThreads <= warpSize) {
    int64_t rows = shape.block / shape.rowThreads;
    inRow = make<arith::RemUIOp>(thread, shape.rowThreads);
    Value inBlock = make<arith::DivUIOp>(thread, shape.rowThreads);
    row = arith::AddIOp::create(builder, loc, make<arith::MulIOp>(block, rows),
                                inBlock);
    Clamped clamped = clamp(row, nest.extents.items, shape.grid * rows);
    row = clamped.position;
    rowInside = clamped.inside;
  }
  elements.enterItem(row);
  elements.position.step = number(0);
  if (shape.keepsRow) {
    // The thread's vectors lie side by side with those of its neighbours, so
    // that a warp reads along memory.
    for (int64_t k = 0; k < shape.vectorsPerThread; ++k) {
      Value vector =
          k ? make<arith::AddIOp>(inRow, k * shape.rowThreads) : inRow;
      bool whole = (k + 1) * shape.rowThreads <= perRow;
      Clamped place =
          whole ? Clamped{vector, {}} : clamp(vector, perRow, perRow + 1);
      place.position = make<arith::MulIOp>(place.position, shape.vector);
      places.push_back(place);
    }
    held.resize(places.size());
  }
  for (int64_t level = 0; level <= nest.lastLevel(); ++level) {
    if (failed(storeRowResults(level)))
      return failure();
    Pass pass = nest.passOf(level);
    if (!pass.empty() && failed(emitRowPass(pass)))
      return failure();
  }
  return success();
}

LogicalResult GpuLoops::emitRowVector(const Pass &pass, int64_t number,
                                      Accumulators &accumulators) {
  elements.setLanes(0, nest.extents.lanes, places[number].position, {});
  bool staysInRegisters = nest.extents.steps == 1;
  if (staysInRegisters)
    elements.restoreLaneValues(std::move(held[number]));
  if (failed(emitVector(pass, places[number].inside, accumulators)))
    return failure();
  if (staysInRegisters)
    held[number] = elements.takeLaneValues();
  return success();
}

LogicalResult GpuLoops::emitRowPass(const Pass &pass) {
  Accumulators accumulators = sums.neutral(pass.reductions, 1);
  auto lanes = [&](Accumulators &carried) {
    if (shape.keepsRow) {
      for (size_t k = 0; k < places.size(); ++k)
        if (failed(emitRowVector(pass, k, carried)))
          return failure();
      return success();
    }
    // A row that registers cannot hold is read again by every pass.
    return forLoop(
        inRow, nest.extents.lanes / shape.vector, shape.rowThreads, carried,
        [&](Operation *loop, Value vector, Accumulators &inner) {
          elements.enterLanes(loop);
          elements.setLanes(0, nest.extents.lanes,
                            make<arith::MulIOp>(vector, shape.vector), {});
          LogicalResult done = emitVector(pass, {}, inner);
          elements.leaveLanes();
          return done;
        });
  };
  if (nest.extents.steps == 1) {
    if (failed(lanes(accumulators)))
      return failure();
  } else if (failed(forLoop(
                 number(0), nest.extents.steps, 1, accumulators,
                 [&](Operation *loop, Value step, Accumulators &carried) {
                   elements.enterStep(loop, step);
                   LogicalResult done = lanes(carried);
                   elements.leaveStep();
                   return done;
                 }))) {
    return failure();
  }
  elements.setLanes(0, nest.extents.lanes, {}, {});
  // From here on, a thread's lanes are one number.
  size_t next = 0;
  for (unsigned reduction : pass.reductions)
    for (const Combiner &combiner : combiners[reduction]) {
      accumulators[next] =
          combineLanes(builder, vectors, combiner, accumulators[next]);
      ++next;
    }
  return finish(pass, accumulators, 1, shape.rowThreads);
}

LogicalResult GpuLoops::finish(const Pass &pass, Accumulators &accumulators,
                               int64_t stride, int64_t count) {
  SmallVector<ThreadValue> values;
  for (unsigned reduction : pass.reductions)
    for (const Combiner &combiner : combiners[reduction])
      values.push_back({&combiner, accumulators[values.size()]});
  if (!values.empty() && count > 1)
    threads.combine(values, stride, count);
  size_t next = 0;
  for (unsigned reduction : pass.reductions)
    for (size_t result = 0; result < combiners[reduction].size(); ++result) {
      FailureOr<Value> value =
          sums.withInitial(reduction, result, values[next++].value);
      if (failed(value))
        return failure();
      elements.reduced[nest.reductions[reduction]->getResult(result)] = *value;
    }
  return success();
}

LogicalResult GpuLoops::storeRowResults(int64_t level) {
  SmallVector<std::pair<unsigned, Value>> values;
  for (auto [number, output] : llvm::enumerate(nest.outputs)) {
    if (!nest.outputPerRow[number] || nest.levelOf(output) != level)
      continue;
    FailureOr<Value> value =
        elements.emit({output, nest.outputIndex(output, true)});
    if (failed(value))
      return failure();
    values.push_back({number, *value});
  }
  if (values.empty())
    return success();
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      inRow, number(0));
  storeGuarded(both(first, rowInside), [&] {
    for (auto [number, value] : values)
      elements.store(loc, value, outputs[number],
                     IndexForm::loop(Loop::Item, nest.extents),
                     getElementTypeOrSelf(nest.outputs[number].getType()));
  });
  return success();
}

} // namespace shardc::gpu
