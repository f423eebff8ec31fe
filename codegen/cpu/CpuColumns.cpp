// The loops of column reductions. A work item is a block of neighbouring
// columns, whose sums stay in registers while the loop runs over the rows.
#include "codegen/cpu/CpuLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::cpu {

// A block has so many accumulators: few enough for the registers of AVX2, and
// enough to read whole cache lines.
constexpr int64_t mostAccumulators = 8;
// Rows are summed in groups, and then the groups' sums: the rounding error
// grows with the root of the number of rows.
constexpr int64_t stepGroup = 64;

FailureOr<int64_t> CpuLoops::emitColumns(Value begin, Value end) {
  int64_t inner = nest.extents.lanes, results = 0;
  for (ArrayRef<Combiner> of : combiners)
    results += of.size();
  int64_t vectorsPerBlock =
      std::clamp<int64_t>(mostAccumulators / results, 1,
                          std::max<int64_t>(1, llvm::divideCeil(inner, lanes)));
  int64_t blockLanes = vectorsPerBlock * lanes,
          blocks = llvm::divideCeil(inner, blockLanes);
  Accumulators none;
  if (failed(forLoop(
          begin, end, 1, none, [&](Operation *, Value item, Accumulators &) {
            Value outer =
                arith::DivUIOp::create(builder, loc, item, number(blocks));
            Value block =
                arith::RemUIOp::create(builder, loc, item, number(blocks));
            elements.enterItem(outer);
            return emitColumnBlock(
                arith::MulIOp::create(builder, loc, block, number(blockLanes)),
                vectorsPerBlock, inner);
          })))
    return failure();
  return nest.extents.items * blocks;
}

LogicalResult CpuLoops::emitColumnBlock(Value firstLane,
                                        int64_t vectorsPerBlock,
                                        int64_t inner) {
  SmallVector<Value> lane, masks;
  bool masked = inner % (vectorsPerBlock * lanes) != 0;
  for (int64_t k = 0; k < vectorsPerBlock; ++k) {
    lane.push_back(
        arith::AddIOp::create(builder, loc, firstLane, number(k * lanes)));
    masks.push_back(masked ? laneMask(lane.back(), number(inner)) : Value());
  }
  // The results of earlier levels, for every vector of the block.
  SmallVector<llvm::DenseMap<Value, Value>> reduced(vectorsPerBlock);
  auto enter = [&](int64_t k) {
    elements.setLanes(0, inner, lane[k], masks[k]);
    elements.reduced = reduced[k];
  };
  int64_t steps = nest.extents.steps;
  for (int64_t level = 0; level <= nest.lastLevel(); ++level) {
    Pass pass = passOf(level);
    for (int64_t k = 0; k < vectorsPerBlock; ++k) {
      enter(k);
      for (unsigned output : pass.outputs) {
        Value tensor = nest.outputs[output];
        FailureOr<Value> value =
            elements.emit({tensor, nest.outputIndex(tensor, false)});
        if (failed(value))
          return failure();
        elements.store(loc, *value, outputs[output], nest.position(),
                       getElementTypeOrSelf(tensor.getType()));
      }
    }
    if (pass.reductions.empty())
      continue;
    Accumulators totals = sums.neutral(pass.reductions, vectorsPerBlock);
    auto rows = [&](Operation *hoistBefore, Value from, Value to,
                    Accumulators &accumulators) {
      return forLoop(
          from, to, 1, accumulators,
          [&](Operation *loop, Value step, Accumulators &carried) {
            elements.enterStep(hoistBefore ? hoistBefore : loop, step);
            size_t next = 0;
            for (unsigned reduction : pass.reductions) {
              size_t results = combiners[reduction].size();
              for (int64_t k = 0; k < vectorsPerBlock; ++k) {
                enter(k);
                Accumulators mine;
                for (size_t result = 0; result < results; ++result)
                  mine.push_back(carried[next + result * vectorsPerBlock + k]);
                if (failed(sums.accumulate(reduction, mine, {})))
                  return failure();
                for (size_t result = 0; result < results; ++result)
                  carried[next + result * vectorsPerBlock + k] = mine[result];
              }
              next += results * vectorsPerBlock;
            }
            elements.leaveStep();
            return success();
          });
    };
    if (steps <= stepGroup) {
      if (failed(rows(nullptr, number(0), number(steps), totals)))
        return failure();
    } else if (failed(forLoop(
                   number(0), number(steps), stepGroup, totals,
                   [&](Operation *loop, Value from, Accumulators &carried) {
                     Value to = arith::AddIOp::create(builder, loc, from,
                                                      number(stepGroup));
                     to = arith::MinSIOp::create(builder, loc, to,
                                                 number(steps));
                     Accumulators group =
                         sums.neutral(pass.reductions, vectorsPerBlock);
                     if (failed(rows(loop, from, to, group)))
                       return failure();
                     size_t next = 0;
                     for (unsigned reduction : pass.reductions)
                       for (const Combiner &combiner : combiners[reduction])
                         for (int64_t k = 0; k < vectorsPerBlock; ++k, ++next)
                           carried[next] = combine(vectors, combiner,
                                                   carried[next], group[next]);
                     return success();
                   }))) {
      return failure();
    }
    size_t next = 0;
    for (unsigned reduction : pass.reductions) {
      for (size_t result = 0; result < combiners[reduction].size(); ++result) {
        for (int64_t k = 0; k < vectorsPerBlock; ++k, ++next) {
          enter(k);
          FailureOr<Value> value =
              sums.withInitial(reduction, result, totals[next]);
          if (failed(value))
            return failure();
          reduced[k][nest.reductions[reduction]->getResult(result)] = *value;
        }
      }
    }
  }
  return success();
}

} // namespace shardc::cpu
