// The reductions of a function: sums, slices, steps, and the norm.
#include "passes/verify/ReductionVerifier.h"

using namespace mlir;

namespace shardc {

ReductionVerifier::ReductionVerifier(const FSDPSymbols &symbols)
    : symbols(symbols), mesh(symbols.mesh) {
  for (fsdp::UnitOp unit : symbols.units)
    reductions.insert({unit.getSymNameAttr(), {}});
}

LogicalResult ReductionVerifier::begin(Operation *flat,
                                       FlatSymbolRefAttr name) {
  Reduced &reduced = reductions[name.getAttr()];
  if (!symbols.unitNamed.lookup(name.getAttr()).isTrained())
    return flat->emitError("makes gradients of ")
           << name << ", which is frozen";
  if (reduced.flat) {
    InFlightDiagnostic error = flat->emitError("makes gradients of ")
                               << name << " twice";
    error.attachNote(reduced.flat->getLoc()) << "made here";
    return error;
  }
  reduced.flat = flat;
  return success();
}

LogicalResult ReductionVerifier::onFlat(fsdp::FlatGradientsOp flat) {
  FlatSymbolRefAttr name = flat.getUnitAttr();
  if (failed(begin(flat, name)))
    return failure();
  reductions[name.getAttr()].value = flat.getFlat();
  return success();
}

LogicalResult ReductionVerifier::onRows(fsdp::ReduceRowsStartOp start) {
  FlatSymbolRefAttr name = start.getUnitAttr();
  if (failed(begin(start, name)))
    return failure();
  Reduced &reduced = reductions[name.getAttr()];
  reduced.isAccumulated = start.getAccumulated();
  return sumOver(start, start.getGroupAttr(), reduced, /*scatters=*/true);
}

LogicalResult ReductionVerifier::onAccumulate(fsdp::AccumulateOp sum) {
  for (auto &[name, reduced] : reductions) {
    if (reduced.value != sum.getValue())
      continue;
    if (reduced.isAccumulated)
      return sum.emitError("adds gradients of @")
             << name.getValue() << " over micro-batches a second time";
    reduced.isAccumulated = true;
    reduced.value = sum.getSum();
  }
  return success();
}

template <typename Start>
LogicalResult ReductionVerifier::onReduction(Start start, bool scatters) {
  FlatSymbolRefAttr name = start.getUnitAttr();
  Reduced &reduced = reductions[name.getAttr()];
  if (start.getFlat() != reduced.value) {
    InFlightDiagnostic error = start.emitError("expects the gradients of ")
                               << name << " as far as they are reduced";
    if (reduced.value)
      error.attachNote(reduced.value.getLoc()) << "these";
    return error;
  }
  // Before gradients are added over micro-batches every one of them reduces,
  // after that only the last.
  if (start.getLast() != reduced.isAccumulated)
    return start.emitError("reduces gradients ")
           << (start.getLast() ? "of the last micro-batch alone, before they "
                                 "are added up"
                               : "that are added up already in every "
                                 "micro-batch; expects 'last'");
  if (start.getAccumulated() && reduced.isAccumulated)
    return start.emitError("adds gradients of ")
           << name << " over micro-batches a second time";
  reduced.isAccumulated |= start.getAccumulated();
  return sumOver(start, start.getGroupAttr(), reduced, scatters);
}

LogicalResult ReductionVerifier::sumOver(Operation *start,
                                         FlatSymbolRefAttr group,
                                         Reduced &reduced, bool scatters) {
  fsdp::GroupOp over = symbols.group(group);
  if (failed(verifySummedOnce(start, over, reduced.groups)))
    return failure();
  int64_t size = over.getSize();
  reduced.summedOver *= size;
  if (scatters) {
    reduced.slices *= size;
    append(reduced.slice, over);
  }
  reduced.value = Value(); // until the wait
  return success();
}

LogicalResult
ReductionVerifier::verifySummedOnce(Operation *start, fsdp::GroupOp over,
                                    SmallVectorImpl<fsdp::GroupOp> &groups) {
  for (fsdp::GroupOp before : groups)
    if (overlap(before, over))
      return start->emitError("sums over @")
             << over.getSymName() << " what is a sum over @"
             << before.getSymName() << " already";
  groups.push_back(over);
  return success();
}

LogicalResult ReductionVerifier::onReduction(fsdp::ReduceScatterStartOp start) {
  return onReduction(start, /*scatters=*/true);
}
LogicalResult
ReductionVerifier::onReduction(fsdp::AllReduceGradientsStartOp start) {
  return onReduction(start, /*scatters=*/false);
}

LogicalResult ReductionVerifier::onReduced(Operation *wait) {
  Operation *start = wait->getOperand(0).getDefiningOp();
  auto name = start->getAttrOfType<FlatSymbolRefAttr>("unit");
  reductions[name.getAttr()].value = wait->getResult(0);
  return success();
}

LogicalResult
ReductionVerifier::onDirection(fsdp::MatrixDirectionOp direction) {
  FlatSymbolRefAttr name = direction.getUnitAttr();
  Reduced &reduced = reductions[name.getAttr()];
  if (reduced.direction)
    return direction.emitError("updates the matrices' state of ")
           << name << " twice";
  if (direction.getGradient() != reduced.value)
    return direction.emitError("expects the reduced gradient of ") << name;
  reduced.direction = direction;
  return success();
}

LogicalResult ReductionVerifier::verifyDirection(fsdp::OptimizerStepOp step,
                                                 Reduced reduced) {
  if (!step.getDirection() && !reduced.direction)
    return success();
  auto problem = [&](const char *text) {
    return step.emitError(text) << step.getUnitAttr();
  };
  if (!step.getDirection())
    return problem("expects what became of the direction of ");
  auto wait = step.getDirection().getDefiningOp<fsdp::ScatterMatricesWaitOp>();
  if (!wait || !reduced.direction)
    return problem("expects a direction that comes back from the owners of the "
                   "matrices of ");
  auto scatter = wait.getToken().getDefiningOp<fsdp::ScatterMatricesStartOp>();
  unsigned index = cast<OpResult>(step.getDirection()).getResultNumber();
  if (scatter.getUnits()[index] != step.getUnitAttr() ||
      scatter.getSlices()[index] != reduced.direction.getDirection())
    return problem("gets the direction of another unit than ");
  // It came the way that it went: the same matrices of the same owners.
  for (Operation *user : scatter.getSlices()[index].getUsers())
    if (auto gather = dyn_cast<fsdp::GatherMatricesStartOp>(user))
      if (gather.getUnits() == scatter.getUnits() &&
          gather.getUnitOf() == scatter.getUnitOf() &&
          gather.getOffsets() == scatter.getOffsets() &&
          gather.getOwners() == scatter.getOwners() &&
          gather.getSlots() == scatter.getSlots())
        return success();
  return problem("expects matrices that come back from where they went of ");
}

LogicalResult ReductionVerifier::onStep(fsdp::OptimizerStepOp step) {
  FlatSymbolRefAttr name = step.getUnitAttr();
  Reduced &reduced = reductions[name.getAttr()];
  if (reduced.step) {
    InFlightDiagnostic error = step.emitError("updates ") << name << " twice";
    error.attachNote(reduced.step.getLoc()) << "updated here";
    return error;
  }
  reduced.step = step;
  if (step.getGradient() != reduced.value) {
    InFlightDiagnostic error =
        step.emitError("expects the reduced gradient of ") << name;
    if (Operation *other = step.getGradient().getDefiningOp())
      error.attachNote(other->getLoc()) << "the gradient comes from here";
    return error;
  }
  int64_t slices =
      symbols.unitNamed.lookup(name.getAttr()).getOptimizerShards();
  if (reduced.summedOver != mesh.getRanks() || reduced.slices != slices)
    return step.emitError("expects a gradient summed over ")
           << mesh.getRanks() << " ranks in " << slices
           << " slices, got one summed over " << reduced.summedOver
           << " ranks in " << reduced.slices;
  // The right number of slices, but which has the rank?
  if (reduced.slice != mixedRadixOf(mesh, mesh.getOptimizerDims()))
    return step.emitError("expects the gradient's slice of ")
           << name
           << " that the rank's optimizer has; it was scattered over other "
              "groups, or in another order, than the mesh's optimizer_dims";
  if (!reduced.isAccumulated)
    return step.emitError("expects a gradient that is added up over "
                          "micro-batches ('accumulated', or "
                          "fsdp.accumulate)");
  return verifyDirection(step, reduced);
}

LogicalResult
ReductionVerifier::onUpdates(fsdp::AllGatherUpdatesStartOp start) {
  Reduced &reduced = reductions[start.getUnitAttr().getAttr()];
  if (!reduced.step)
    return start.emitError("gathers updates of ")
           << start.getUnitAttr() << " before its optimizer step";
  if (reduced.gathersUpdates) {
    InFlightDiagnostic error = start.emitError("gathers updates of ")
                               << start.getUnitAttr() << " twice";
    error.attachNote(reduced.gathersUpdates->getLoc()) << "gathered here";
    return error;
  }
  reduced.gathersUpdates = start;
  MixedRadix updated = mixedRadixOf(
      mesh, mesh.getOptimizerDims().drop_front(mesh.getShardDims().size()));
  if (mixedRadixOf(symbols.group(start.getGroupAttr())) != updated)
    return start.emitError("gathers updates of ")
           << start.getUnitAttr() << " over " << start.getGroupAttr()
           << ", whose ranks are not those of the mesh's optimizer_dims "
              "behind shard_dims";
  return success();
}

LogicalResult ReductionVerifier::verifyOptimizer(func::FuncOp function) {
  if (llvm::none_of(reductions, [](auto &entry) {
        return entry.second.flat || entry.second.step;
      }))
    return success();
  std::optional<Value> norm;
  llvm::SetVector<Value> results;
  for (auto &[name, reduced] : reductions) {
    fsdp::UnitOp unit = symbols.unitNamed.lookup(name);
    if (!unit.isTrained())
      continue;
    if (!reduced.flat)
      return function.emitError("expects a reduction of the gradients of @")
             << name.getValue();
    if (!reduced.step)
      return reduced.flat->emitError("reduces gradients of @")
             << name.getValue() << ", which no fsdp.optimizer_step uses";
    if (!reduced.gathersUpdates &&
        unit.getOptimizerShards() != unit.getShards())
      return reduced.step.emitError("updates a part of the rank's slice of @")
             << name.getValue() << ", which no all_gather_updates completes";
    results.insert(reduced.step.getGradient());
    if (norm && reduced.step.getNorm() != *norm)
      return reduced.step.emitError("expects the norm that the other steps "
                                    "have");
    norm = reduced.step.getNorm();
  }
  if (!norm)
    return success();
  // Updates in backward have no norm, which is a metric only.
  for (auto metric : function.getOps<fsdp::MetricOp>())
    if (!*norm && metric.getName() == "gradient_norm")
      norm = metric.getValue();
  return *norm ? verifyNorm(*norm, results) : success();
}

LogicalResult
ReductionVerifier::verifyNorm(Value norm,
                              const llvm::SetVector<Value> &results) {
  Location loc = norm.getLoc();
  auto rounded = norm.getDefiningOp<fsdp::RoundSumOp>();
  if (!rounded || !rounded.getNorm())
    return emitError(loc, "expects the optimizer's norm to come from "
                          "fsdp.round_sum norm");
  norm = rounded.getSum();
  int64_t summedOver = 1;
  SmallVector<fsdp::GroupOp, 2> summed;
  while (auto wait = norm.getDefiningOp<fsdp::AllReduceWaitOp>()) {
    auto start = wait.getToken().getDefiningOp<fsdp::AllReduceStartOp>();
    unsigned index = cast<OpResult>(norm).getResultNumber();
    if (!start.getNorms()[index])
      return start.emitError("sums value ")
             << index << " as no norm, but clips by it";
    fsdp::GroupOp over = symbols.group(start.getGroupAttr());
    if (failed(verifySummedOnce(start, over, summed)))
      return failure();
    summedOver *= over.getSize();
    norm = start.getValues()[index];
  }
  int64_t slices = mesh.getOptimizerShards();
  if (summedOver != slices)
    return emitError(loc) << "expects a norm of gradients in " << slices
                          << " slices to be summed over as many ranks, got "
                          << summedOver;
  return verifyPartialNorm(norm, loc, results);
}

LogicalResult
ReductionVerifier::verifyPartialNorm(Value norm, Location loc,
                                     const llvm::SetVector<Value> &results) {
  auto partial = norm.getDefiningOp<fsdp::GradientNormOp>();
  if (!partial)
    return emitError(loc, "expects the optimizer's norm to come from "
                          "fsdp.gradient_norm");
  SmallVector<Value> gradients;
  for (auto part = partial; part;
       part = part.getPrevious()
                  ? part.getPrevious().getDefiningOp<fsdp::GradientNormOp>()
                  : fsdp::GradientNormOp())
    llvm::append_range(gradients, part.getGradients());
  for (Value result : results)
    if (llvm::count(gradients, result) != 1) {
      InFlightDiagnostic error =
          partial.emitError("expects every reduced gradient once");
      error.attachNote(result.getLoc())
          << "this one is there " << llvm::count(gradients, result) << " times";
      return error;
    }
  if (gradients.size() != results.size())
    return partial.emitError("expects ")
           << results.size() << " reduced gradients, got " << gradients.size();
  return success();
}

} // namespace shardc
