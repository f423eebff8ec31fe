// Collectives without copies: parameters are views of what is gathered,
// gradients are written where they are reduced.
#include "codegen/lower/ProgramLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

LogicalResult ProgramLowering::lowerCollective(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](fsdp::ResidentOp held) { return resident(held); })
      .Case([&](fsdp::AllGatherStartOp start) { return allGatherStart(start); })
      .Case([&](fsdp::AllGatherWaitOp wait) { return allGatherWait(wait); })
      .Case([&](fsdp::ReleaseOp) {
        // A buffer ends with its last use, which fsdp-verify has checked to be
        // before the release.
        return success();
      })
      .Case([&](fsdp::ReduceScatterStartOp start) {
        return reduceScatterStart(start);
      })
      .Case([&](fsdp::AllReduceGradientsStartOp start) {
        return allReduceGradientsStart(start);
      })
      .Case([&](fsdp::FlatGradientsOp flat) {
        set(flat.getFlat(),
            View::contiguous(completeGradients(flat, flat.getGradients()), 0,
                             cast<RankedTensorType>(flat.getFlat().getType())));
        return success();
      })
      .Case<fsdp::ReduceScatterWaitOp, fsdp::AllReduceGradientsWaitOp>(
          [&](auto wait) {
            Collective &collective = collectives[wait.getToken()];
            emit<step::WaitOp>(collective.token);
            set(wait->getResult(0),
                View::contiguous(
                    collective.buffer, 0,
                    cast<RankedTensorType>(wait->getResult(0).getType())));
            return success();
          })
      .Case([&](fsdp::AllReduceStartOp start) {
        return allReduceStart(start), success();
      })
      .Case([&](fsdp::AllReduceWaitOp wait) {
        Collective &collective = collectives[wait.getToken()];
        emit<step::WaitOp>(collective.token);
        for (auto [sum, value] : llvm::zip(wait.getSums(), collective.values))
          set(sum, value);
        return success();
      })
      .Case([&](fsdp::SquaredNormOp norm) {
        return squaredNorm(norm), success();
      })
      .Case([&](fsdp::OptimizerStepOp step) {
        return optimizerStep(step), success();
      })
      .Case([&](fsdp::ReportOp report) {
        emit<step::ReportOp>(report.getName(),
                             ref(contiguous(report.getValue())));
        return success();
      })
      .Default([](Operation *op) {
        return op->emitOpError() << "has no entry in the step dialect";
      });
}

static LogicalResult checkUnit(Operation *op, UnitLayout *unit,
                               size_t tensors) {
  if (!unit)
    return op->emitOpError() << "names a unit that does not exist";
  if (unit->members.size() != tensors)
    return op->emitOpError() << "expects " << unit->members.size()
                             << " parameters of the unit, got " << tensors;
  return success();
}

LogicalResult ProgramLowering::resident(fsdp::ResidentOp op) {
  UnitLayout *unit = plan.unit(op.getUnit());
  if (failed(checkUnit(op, unit, op.getParameters().size())))
    return failure();
  for (auto [result, member] : llvm::zip(op.getParameters(), unit->members))
    set(result, UnitLayout::view(plan.storage(op.getUnit()), member));
  return success();
}

LogicalResult ProgramLowering::allGatherStart(fsdp::AllGatherStartOp op) {
  UnitLayout *unit = plan.unit(op.getUnit());
  if (!unit)
    return op.emitOpError() << "names a unit that does not exist";
  int64_t bytes =
      unit->op.getElements() * step::elementBytes(unit->elementType());
  Value gathered =
      newBuffer(step::Pool::gather, bytes, ("gathered." + op.getUnit()).str());
  plan.setUnit(gathered, op.getUnit());
  auto start =
      emit<step::AllGatherStartOp>(tokenType(), op.getUnitAttr(), gathered);
  collectives[op.getToken()] = {start.getToken(), gathered, op.getUnit(), {}};
  return success();
}

LogicalResult ProgramLowering::allGatherWait(fsdp::AllGatherWaitOp op) {
  Collective &collective = collectives[op.getToken()];
  UnitLayout *unit = plan.unit(collective.unit);
  if (failed(checkUnit(op, unit, op.getParameters().size())))
    return failure();
  emit<step::WaitOp>(collective.token);
  for (auto [result, member] : llvm::zip(op.getParameters(), unit->members))
    set(result, UnitLayout::view(collective.buffer, member));
  return success();
}

LogicalResult ProgramLowering::placeGradients() {
  for (Operation &op : function.getBody().front()) {
    LogicalResult placed = success();
    if (auto start = dyn_cast<fsdp::ReduceScatterStartOp>(op))
      placed = placeGradients(start, start.getUnit(), start.getGradients(),
                              /*reducedInPlace=*/false);
    else if (auto start = dyn_cast<fsdp::AllReduceGradientsStartOp>(op))
      placed = placeGradients(start, start.getUnit(), start.getGradients(),
                              /*reducedInPlace=*/true);
    else if (auto flat = dyn_cast<fsdp::FlatGradientsOp>(op))
      placed = placeGradients(flat, flat.getUnit(), flat.getGradients(),
                              /*reducedInPlace=*/false);
    if (failed(placed))
      return failure();
  }
  return success();
}

static SmallVector<UnitLayout::Member> trainableMembers(UnitLayout &unit) {
  SmallVector<UnitLayout::Member> members;
  for (const UnitLayout::Member &member : unit.members)
    if (nn::ParameterOp(member.parameter).getTrainable())
      members.push_back(member);
  return members;
}

// Whether `value`, or a view of it, is read behind `op`.
static bool isReadBehind(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::BroadcastOp>(user))
      return isReadBehind(user->getResult(0), op);
    return op->isBeforeInBlock(user);
  });
}

LogicalResult ProgramLowering::placeGradients(Operation *start,
                                              StringRef unitName,
                                              ValueRange gradients,
                                              bool reducedInPlace) {
  UnitLayout *unit = plan.unit(unitName);
  if (!unit)
    return start->emitOpError() << "names a unit that does not exist";
  SmallVector<UnitLayout::Member> members = trainableMembers(*unit);
  if (members.size() != gradients.size())
    return start->emitOpError()
           << "expects " << members.size()
           << " gradients, one per trainable parameter of the unit, got "
           << gradients.size();

  location = start->getLoc();
  int64_t bytes =
      unit->op.getElements() * step::elementBytes(unit->elementType());
  Value flat =
      newBuffer(step::Pool::gradient, bytes, ("gradients." + unitName).str());
  plan.setUnit(flat, unitName);
  flatGradients[start] = flat;

  for (auto [gradient, member] : llvm::zip(gradients, members)) {
    View place = UnitLayout::view(flat, member);
    // A reshape of what is written in order lies in the same order.
    Value written = gradient;
    while (auto reshape = written.getDefiningOp<nn::ReshapeOp>())
      written = reshape.getInput();
    Operation *producer = written.getDefiningOp();
    bool isComputed =
        producer &&
        !isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::BroadcastOp,
             nn::ConstantOp, nn::GetParameterOp>(producer) &&
        !isa<fsdp::FSDPDialect>(producer->getDialect());
    if (!isComputed || places.contains(written) ||
        (reducedInPlace && isReadBehind(written, start)))
      continue;
    places[written] =
        *place.reshape(cast<RankedTensorType>(written.getType()).getShape());
  }
  return success();
}

static bool sameMemory(const step::View &a, const step::View &b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.isContiguous() &&
         b.isContiguous();
}

Value ProgramLowering::completeGradients(Operation *start,
                                         ValueRange gradients) {
  Value flat = flatGradients.lookup(start);
  UnitLayout &unit = *plan.unit(plan.unitOf(flat));
  auto fill = [&](const View &view, double value) {
    emit<step::FillOp>(ref(view), llvm::APFloat(value));
  };
  SmallVector<std::pair<int64_t, int64_t>> covered;
  for (auto [gradient, member] : llvm::zip(gradients, trainableMembers(unit))) {
    View place = UnitLayout::view(flat, member);
    covered.push_back({member.offset, member.offset + place.elements()});
    View source = view(gradient);
    if (sameMemory(source, place))
      continue;
    auto constant = gradient.getDefiningOp<nn::ConstantOp>();
    auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                          : SplatElementsAttr();
    if (splat && isa<FloatType>(splat.getElementType()))
      fill(place, splat.getSplatValue<llvm::APFloat>().convertToDouble());
    else
      emit<step::CopyOp>(ref(source), ref(place));
  }

  // Padding and parameters that are not trained have no gradient. Zeros there
  // keep norms and updates exact, and the memory is another buffer's before.
  llvm::sort(covered);
  int64_t end = 0, bytes = step::elementBytes(unit.elementType());
  covered.push_back({unit.op.getElements(), 0});
  for (auto [from, to] : covered) {
    if (from > end)
      fill(View::contiguous(
               flat, end * bytes,
               RankedTensorType::get({from - end}, unit.elementType())),
           0.0);
    end = std::max(end, to);
  }
  return flat;
}

LogicalResult
ProgramLowering::reduceScatterStart(fsdp::ReduceScatterStartOp op) {
  UnitLayout &unit = *plan.unit(op.getUnit());
  Value flat = completeGradients(op, op.getGradients());
  int64_t bytes = unit.shardElements() * step::elementBytes(unit.elementType());
  Value shard = newBuffer(step::Pool::gradient, bytes,
                          ("gradient_shard." + op.getUnit()).str());
  plan.setUnit(shard, op.getUnit());
  auto start = emit<step::ReduceScatterStartOp>(tokenType(), op.getUnitAttr(),
                                                flat, shard);
  collectives[op.getToken()] = {start.getToken(), shard, op.getUnit(), {}};
  return success();
}

LogicalResult
ProgramLowering::allReduceGradientsStart(fsdp::AllReduceGradientsStartOp op) {
  UnitLayout &unit = *plan.unit(op.getUnit());
  Value flat = completeGradients(op, op.getGradients());
  View whole =
      View::contiguous(flat, 0,
                       RankedTensorType::get({int64_t(unit.op.getElements())},
                                             unit.elementType()));
  auto start = emit<step::AllReduceStartOp>(tokenType(), ValueRange{ref(whole)},
                                            op.getUnitAttr());
  collectives[op.getToken()] = {start.getToken(), flat, op.getUnit(), {}};
  return success();
}

void ProgramLowering::allReduceStart(fsdp::AllReduceStartOp op) {
  Collective collective;
  SmallVector<Value> operands;
  for (Value value : op.getValues()) {
    // The sum replaces the value: only memory that nothing else reads will do.
    View summed = view(value);
    Operation *producer = value.getDefiningOp();
    bool isOwn = producer && value.hasOneUse() && summed.isContiguous() &&
                 !isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp,
                      nn::BroadcastOp, nn::ConstantOp, nn::GetParameterOp,
                      fsdp::ResidentOp, fsdp::AllGatherWaitOp>(producer);
    if (!isOwn)
      summed = copied(summed);
    collective.values.push_back(summed);
    operands.push_back(ref(summed));
  }
  auto start = emit<step::AllReduceStartOp>(tokenType(), operands,
                                            /*unit=*/FlatSymbolRefAttr());
  collective.token = start.getToken();
  collectives[op.getToken()] = collective;
}

void ProgramLowering::squaredNorm(fsdp::SquaredNormOp op) {
  SmallVector<Value> gradients;
  for (Value gradient : op.getGradients())
    gradients.push_back(ref(contiguous(gradient)));
  Value result = ref(allocate(op->getResult(0)));
  emit<step::SquaredNormOp>(gradients, result, op.getSlices());
}

void ProgramLowering::optimizerStep(fsdp::OptimizerStepOp op) {
  View gradient = contiguous(op.getGradient());
  View norm = contiguous(op.getSquaredNorm());
  emit<step::OptimizerStepOp>(op.getUnitAttr(), ref(gradient), ref(norm),
                              op.getKindAttr());
}

} // namespace shardc
