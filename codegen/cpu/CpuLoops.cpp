// What the loop nests of a CPU share, and the loops over flat tensors and rows.
// Columns are in KernelColumns.cpp.
#include "codegen/cpu/CpuLoops.h"

#include "frontend/nn/support/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::cpu {

// The number of elements of a flat tensor that are one work item: they fit into
// the first-level cache, and there are enough work items to share.
constexpr int64_t flatChunk = 4096;
// Independent accumulators hide the latency of additions.
constexpr unsigned reductionUnroll = 4;
// Rows of intermediate values live on the stack up to this size; larger ones
// are computed again.
constexpr int64_t mostRowBufferBytes = 512 * 1024;
// The number of operations from which on a row is kept rather than computed
// again.
constexpr int64_t keptCost = 6;

CpuLoops::CpuLoops(OpBuilder &builder, VectorOps &vectors,
                   ElementEmitter &elements, const LoopNest &nest,
                   ArrayRef<SmallVector<Combiner>> combiners,
                   ArrayRef<Value> outputs, int64_t lanes)
    : builder(builder), vectors(vectors), elements(elements), nest(nest),
      combiners(combiners), sums(builder, vectors, elements, nest, combiners),
      outputs(outputs.begin(), outputs.end()), lanes(lanes),
      loc(nest.outputs.front().getLoc()) {}

FailureOr<int64_t> CpuLoops::emit(Value begin, Value end) {
  if (nest.kind == LoopNest::Kind::Columns)
    return emitColumns(begin, end);
  return nest.flat ? emitFlat(begin, end) : emitRows(begin, end);
}

LogicalResult CpuLoops::forLoop(
    Value from, Value to, int64_t step, Accumulators &accumulators,
    llvm::function_ref<LogicalResult(Operation *, Value, Accumulators &)>
        body) {
  return kernels::forLoop(builder, loc, from, to, number(step), accumulators,
                          body);
}

Value CpuLoops::fixedMask(int64_t count) {
  if (lanes == 1)
    return {};
  SmallVector<bool> exists(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    exists[lane] = lane < count;
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(exists)));
}

Value CpuLoops::laneMask(Value lane, Value end) {
  if (lanes == 1)
    return {};
  // 32 bits are enough for the lanes that are left, cut to what a vector can
  // hold.
  Value left = arith::MinSIOp::create(
      builder, loc, arith::SubIOp::create(builder, loc, end, lane),
      number(lanes));
  left = arith::TruncIOp::create(builder, loc, builder.getI32Type(), left);
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  auto type = VectorType::get({lanes}, builder.getI32Type());
  Value lanesOfVector = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                               lanesOfVector, vectors.broadcast(loc, left));
}

LogicalResult
CpuLoops::forLanes(Value begin, Value end,
                   std::optional<std::pair<int64_t, int64_t>> known,
                   unsigned unroll, Accumulators &accumulators, LaneBody body) {
  int64_t group = lanes * unroll;
  const LoopExtents &extents = elements.loopExtents();
  int64_t segmentBegin = extents.laneBegin, segmentEnd = extents.laneEnd;
  auto vectorLoop = [&](Value from, Value to, unsigned copies, bool masked) {
    return forLoop(
        from, to, lanes * copies, accumulators,
        [&](Operation *loop, Value first, Accumulators &carried) {
          elements.enterLanes(loop);
          for (unsigned copy = 0; copy < copies; ++copy) {
            Value lane =
                copy == 0 ? first
                          : Value(arith::AddIOp::create(builder, loc, first,
                                                        number(copy * lanes)));
            elements.setLanes(segmentBegin, segmentEnd, lane,
                              masked ? laneMask(lane, end) : Value());
            if (failed(body(copy, carried)))
              return failure();
          }
          elements.leaveLanes();
          return success();
        });
  };
  Value middle;
  if (known) {
    int64_t count = known->second - known->first,
            grouped = count / group * group, rest = count - grouped;
    middle = number(known->first + grouped);
    if (grouped && failed(vectorLoop(begin, middle, unroll, false)))
      return failure();
    if (rest == 0)
      return success();
    if (rest > lanes)
      return vectorLoop(middle, end, 1, rest % lanes != 0);
    elements.setLanes(segmentBegin, segmentEnd, middle,
                      rest == lanes ? Value() : fixedMask(rest));
    LogicalResult last = body(0, accumulators);
    elements.leaveLanes();
    return last;
  }
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  Value rest = arith::RemUIOp::create(builder, loc, count, number(group));
  middle = arith::SubIOp::create(builder, loc, end, rest);
  if (failed(vectorLoop(begin, middle, unroll, false)))
    return failure();
  return (extents.lanes % group == 0) ? success()
                                      : vectorLoop(middle, end, 1, true);
}

FailureOr<int64_t> CpuLoops::emitFlat(Value begin, Value end) {
  int64_t total = nest.extents.lanes;
  Value first = arith::MulIOp::create(builder, loc, begin, number(flatChunk));
  Value last = arith::MulIOp::create(builder, loc, end, number(flatChunk));
  last = arith::MinSIOp::create(builder, loc, last, number(total));
  elements.enterItem(number(0));
  elements.setLanes(0, total, first, {});
  Pass pass = passOf(0);
  Accumulators none;
  unsigned unroll = unrollOf(pass);
  if (failed(forLanes(first, last, std::nullopt, unroll, none,
                      [&](unsigned copy, Accumulators &accumulators) {
                        return emitPassBody(pass, copy, unroll, accumulators);
                      })))
    return failure();
  return llvm::divideCeil(total, flatChunk);
}

FailureOr<int64_t> CpuLoops::emitRows(Value begin, Value end) {
  chooseKept();
  Accumulators none;
  if (failed(forLoop(begin, end, 1, none,
                     [&](Operation *, Value item, Accumulators &) {
                       elements.enterItem(item);
                       return emitRow();
                     })))
    return failure();
  return nest.extents.items;
}

LogicalResult CpuLoops::emitRow() {
  for (int64_t level = 0; level <= nest.lastLevel(); ++level) {
    if (failed(storeRowResults(level)))
      return failure();
    Pass pass = passOf(level);
    if (!pass.empty() && failed(emitPass(pass)))
      return failure();
    for (unsigned output : pass.outputs)
      if (nest.outputs[output].getDefiningOp())
        elements.stored[nest.outputs[output]] = {outputs[output], false};
    for (auto [tensor, buffer] : kept)
      if (nest.levelOf(tensor) == level)
        elements.stored[tensor] = {buffer, true};
  }
  return success();
}

LogicalResult CpuLoops::storeRowResults(int64_t level) {
  elements.position.mask = {};
  for (auto [number, output] : llvm::enumerate(nest.outputs)) {
    if (!nest.outputPerRow[number] || nest.levelOf(output) != level)
      continue;
    FailureOr<Value> value =
        elements.emit({output, nest.outputIndex(output, true)});
    if (failed(value))
      return failure();
    elements.store(loc, *value, outputs[number],
                   IndexForm::loop(Loop::Item, nest.extents),
                   getElementTypeOrSelf(output.getType()));
  }
  return success();
}

LogicalResult CpuLoops::emitPass(const Pass &pass) {
  unsigned unroll = unrollOf(pass);
  Accumulators accumulators = sums.neutral(pass.reductions, unroll);
  auto segments = [&](Accumulators &carried) {
    for (size_t i = 0; i + 1 < nest.laneSplits.size(); ++i) {
      int64_t from = nest.laneSplits[i], to = nest.laneSplits[i + 1];
      elements.setLanes(from, to, {}, {});
      if (failed(forLanes(number(from), number(to), std::pair(from, to), unroll,
                          carried, [&](unsigned copy, Accumulators &inner) {
                            return emitPassBody(pass, copy, unroll, inner);
                          })))
        return failure();
    }
    return success();
  };
  if (nest.extents.steps == 1) {
    elements.position.step = number(0);
    if (failed(segments(accumulators)))
      return failure();
  } else if (failed(forLoop(
                 number(0), number(nest.extents.steps), 1, accumulators,
                 [&](Operation *loop, Value step, Accumulators &carried) {
                   elements.enterStep(loop, step);
                   LogicalResult done = segments(carried);
                   elements.leaveStep();
                   return done;
                 }))) {
    return failure();
  }
  elements.setLanes(0, nest.extents.lanes, {}, {});
  auto next = accumulators.begin();
  for (unsigned reduction : pass.reductions) {
    for (auto [result, combiner] : llvm::enumerate(combiners[reduction])) {
      SmallVector<Value> copies(next, next + unroll);
      next += unroll;
      while (copies.size() > 1) {
        for (size_t i = 0; i < copies.size() / 2; ++i)
          copies[i] =
              combine(vectors, combiner, copies[2 * i], copies[2 * i + 1]);
        copies.resize(copies.size() / 2);
      }
      FailureOr<Value> value =
          sums.withInitial(reduction, result,
                           combineLanes(builder, vectors, combiner, copies[0]));
      if (failed(value))
        return failure();
      elements.reduced[nest.reductions[reduction]->getResult(result)] = *value;
    }
  }
  return success();
}

LogicalResult CpuLoops::emitPassBody(const Pass &pass, unsigned unrolled,
                                     unsigned unroll,
                                     Accumulators &accumulators) {
  for (Value tensor : pass.kept) {
    FailureOr<Value> value =
        elements.emit({tensor, nest.outputIndex(tensor, false)});
    if (failed(value))
      return failure();
    Value buffer = llvm::find_if(kept, [&](auto &entry) {
                     return entry.first == tensor;
                   })->second;
    elements.store(loc, *value, buffer,
                   IndexForm::loop(Loop::Lane, nest.extents),
                   getElementTypeOrSelf(tensor.getType()));
  }
  size_t next = unrolled;
  for (unsigned reduction : pass.reductions) {
    Accumulators mine;
    size_t results = combiners[reduction].size();
    for (size_t result = 0; result < results; ++result)
      mine.push_back(accumulators[next + result * unroll]);
    if (failed(sums.accumulate(reduction, mine, elements.position.mask)))
      return failure();
    for (size_t result = 0; result < results; ++result)
      accumulators[next + result * unroll] = mine[result];
    next += results * unroll;
  }
  // Everything is read before anything is written: an output may lie where an
  // input was.
  SmallVector<Value> values;
  for (unsigned output : pass.outputs) {
    FailureOr<Value> value = elements.emit(
        {nest.outputs[output], nest.outputIndex(nest.outputs[output], false)});
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  for (auto [output, value] : llvm::zip_equal(pass.outputs, values))
    elements.store(loc, value, outputs[output],
                   nest.position().restricted(elements.loopExtents()),
                   getElementTypeOrSelf(nest.outputs[output].getType()));
  return success();
}

CpuLoops::Pass CpuLoops::passOf(int64_t level) const {
  Pass pass{nest.passOf(level), {}};
  for (auto [tensor, buffer] : kept)
    if (nest.levelOf(tensor) == level)
      pass.kept.push_back(tensor);
  return pass;
}

unsigned CpuLoops::unrollOf(const Pass &pass) const {
  // The order of a sum must follow from its length alone, not from what else
  // the pass does.
  if (!pass.reductions.empty())
    return nest.extents.lanes >= reductionUnroll * lanes ? reductionUnroll : 1;
  llvm::DenseMap<Value, int64_t> known;
  int64_t cost = 0;
  for (unsigned output : pass.outputs)
    cost += costOf(nest.outputs[output], known);
  return cost < 8 ? 4 : cost < 16 ? 2 : 1;
}

int64_t CpuLoops::costOf(Value tensor,
                         llvm::DenseMap<Value, int64_t> &known) const {
  Operation *op = tensor.getDefiningOp();
  if (!op || known.contains(tensor))
    return 0;
  int64_t cost = 0;
  known[tensor] = 0;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (isReduction(generic))
      return 0;
    for (Operation &inner : generic.getBody()->without_terminator())
      cost +=
          isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp>(inner) ? 4
          : isHalfFloat(inner.getResult(0).getType())            ? 4
          : isa<math::FmaOp, math::AbsFOp, math::FloorOp, math::CeilOp>(inner)
              ? 1
          : isa<math::MathDialect>(inner.getDialect()) ? 16
          : isa<tensor::ExtractOp>(inner)              ? 4
          : isa<arith::ConstantOp, linalg::IndexOp, arith::IndexCastOp>(inner)
              ? 0
              : 1;
  }
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      cost += costOf(operand, known);
  return cost;
}

/// Chooses the rows that a later pass reads again and that cost more to compute
/// than to load.
void CpuLoops::chooseKept() {
  if (nest.kind != LoopNest::Kind::Rows || nest.extents.steps != 1)
    return;
  llvm::SetVector<Value> crossing;
  std::function<void(Value, int64_t)> use = [&](Value tensor, int64_t level) {
    Operation *op = tensor.getDefiningOp();
    if (!op || !isa<RankedTensorType>(tensor.getType()))
      return;
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      bool isRow = cast<RankedTensorType>(tensor.getType()).getNumElements() ==
                   nest.extents.items * nest.extents.lanes;
      if (!isReduction(generic) && isRow && nest.extents.lanes != 1 &&
          nest.levelOf(tensor) < level)
        crossing.insert(tensor);
      return;
    }
    for (Value operand : op->getOperands())
      use(operand, level);
  };
  for (const auto &[tensor, level] : nest.levels) {
    Operation *op = tensor.getDefiningOp();
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    if (!generic)
      continue;
    int64_t pass = isReduction(generic) ? level - 1 : level;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        use(operand, pass);
    });
  }
  int64_t bytes = 0;
  SmallVector<Value> ordered = crossing.takeVector();
  llvm::sort(ordered, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  for (Value tensor : ordered) {
    llvm::DenseMap<Value, int64_t> known;
    if (llvm::is_contained(nest.outputs, tensor) ||
        costOf(tensor, known) < keptCost)
      continue;
    int64_t width = nn::elementBytes(getElementTypeOrSelf(tensor.getType()));
    int64_t size = llvm::alignTo(nest.extents.lanes * width, 64);
    if (bytes + size > mostRowBufferBytes)
      continue;
    bytes += size;
    Value buffer = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        builder.getI8Type(), number(size), 64);
    kept.push_back({tensor, buffer});
  }
}

} // namespace shardc::cpu
