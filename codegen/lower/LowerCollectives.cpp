// Collectives need no copies: parameters are views of what is gathered, and
// gradients are written where they are reduced.
#include "codegen/lower/ProgramLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

LogicalResult ProgramLowering::lowerCollective(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<fsdp::ResidentOp, fsdp::AllGatherStartOp, fsdp::AllGatherWaitOp,
            fsdp::KeepOp>([&](auto op) { return emitEntries(op); })
      .Case<fsdp::FlatGradientsOp, fsdp::AccumulateOp,
            fsdp::ReduceScatterStartOp, fsdp::AllReduceGradientsStartOp,
            fsdp::AllGatherUpdatesStartOp, fsdp::AllReduceStartOp,
            fsdp::GradientNormOp, fsdp::ExactSumOp, fsdp::RoundSumOp,
            fsdp::OptimizerStepOp, fsdp::MetricOp, fsdp::OutputsOp,
            fsdp::GatherRowsStartOp, fsdp::ReduceRowsStartOp,
            fsdp::MatrixDirectionOp, fsdp::GatherMatricesStartOp,
            fsdp::ScatterMatricesStartOp>(
          [&](auto op) { return emitEntries(op), success(); })
      .Case([&](fsdp::ReleaseOp) {
        // A buffer ends with its last use, which fsdp-verify has checked to be
        // before the release.
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (!op->hasTrait<fsdp::EndsCollective>())
          return op->emitOpError() << "has no entry in the step dialect";
        awaitValues(op);
        return success();
      });
}

void ProgramLowering::awaitValues(Operation *wait) {
  Collective &collective = collectives[wait->getOperand(0)];
  emit<step::WaitOp>(collective.token);
  for (auto [result, value] : llvm::zip(wait->getResults(), collective.values))
    set(result, value);
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

LogicalResult ProgramLowering::emitEntries(fsdp::ResidentOp op) {
  UnitLayout *unit = plan.unit(op.getUnit());
  if (failed(checkUnit(op, unit, op.getParameters().size())))
    return failure();
  for (auto [result, member] : llvm::zip(op.getParameters(), unit->members))
    set(result, UnitLayout::view(plan.storage(op.getUnit()), member,
                                 unit->elementType()));
  return success();
}

LogicalResult ProgramLowering::emitEntries(fsdp::AllGatherStartOp op) {
  UnitLayout *unit = plan.unit(op.getUnit());
  if (!unit)
    return op.emitOpError() << "names a unit that does not exist";
  int64_t bytes =
      unit->op.getElements() * nn::elementBytes(unit->elementType());
  Value gathered =
      newBuffer(step::Kind::gather, bytes, ("gathered." + op.getUnit()).str());
  plan.setUnit(gathered, op.getUnit());
  Value kept;
  if (op.getKept())
    kept = ref(view(op.getKept()));
  auto start = emit<step::AllGatherStartOp>(tokenType(), op.getUnitAttr(),
                                            gathered, op.getGroupAttr(), kept);
  collectives[op.getToken()] = {start.getToken(), gathered, op.getUnit(), {}};
  return success();
}

LogicalResult ProgramLowering::emitEntries(fsdp::AllGatherWaitOp op) {
  Collective &collective = collectives[op.getToken()];
  UnitLayout *unit = plan.unit(collective.unit);
  if (failed(checkUnit(op, unit, op.getParameters().size())))
    return failure();
  emit<step::WaitOp>(collective.token);
  for (auto [result, member] : llvm::zip(op.getParameters(), unit->members))
    set(result,
        UnitLayout::view(collective.buffer, member, unit->elementType()));
  return success();
}

LogicalResult ProgramLowering::emitEntries(fsdp::KeepOp op) {
  UnitLayout *unit = plan.unit(op.getUnit());
  if (failed(checkUnit(op, unit, op.getParameters().size())))
    return failure();
  auto type = cast<RankedTensorType>(op.getKept().getType());
  View kept = View::contiguous({}, 0, type);
  // It lies beside the gathered units, since it stands for one between the
  // phases.
  kept.buffer = newBuffer(step::Kind::gather, kept.spanBytes(),
                          ("kept." + op.getUnit()).str());
  plan.setUnit(kept.buffer, op.getUnit());
  emit<step::KeepOp>(op.getUnitAttr(), view(op.getParameters()[0]).buffer,
                     op.getGroupAttr(), ref(kept));
  set(op.getKept(), kept);
  return success();
}

// Returns whether `value`, or a view of it, is read behind `op`.
static bool isReadBehind(Value value, Operation *op) {
  SmallVector<Value> views{value};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (user->hasTrait<nn::IsView>())
        views.push_back(user->getResult(0));
      else if (op->isBeforeInBlock(user))
        return true;
    }
  return false;
}

// Returns whether an entry makes the value, wherever it is told to.
static bool isComputed(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && !producer->hasTrait<nn::IsView>() &&
         !producer->hasTrait<OpTrait::ConstantLike>() &&
         !isa<nn::GetParameterOp>(producer) &&
         !isa<fsdp::FSDPDialect>(producer->getDialect());
}

LogicalResult ProgramLowering::placeGradients() {
  for (auto flat : function.getOps<fsdp::FlatGradientsOp>())
    if (failed(placeGradients(flat)))
      return failure();
  return success();
}

LogicalResult ProgramLowering::placeGradients(fsdp::FlatGradientsOp op) {
  UnitLayout *unit = plan.unit(op.getUnit());
  if (failed(checkUnit(op, unit, op.getGradients().size())))
    return failure();
  // A reduce-scatter reads the flat gradient; all else changes it in place.
  bool changes = !llvm::all_of(op.getFlat().getUsers(), [](Operation *user) {
    return isa<fsdp::ReduceScatterStartOp>(user);
  });

  location = op.getLoc();
  int64_t bytes =
      unit->op.getElements() * nn::elementBytes(unit->gradientType());
  Value flat = newBuffer(step::Kind::gradient, bytes,
                         ("gradients." + op.getUnit()).str());
  plan.setUnit(flat, op.getUnit());
  flatGradients[op] = flat;

  for (auto [gradient, member] : llvm::zip(op.getGradients(), unit->members)) {
    View place = UnitLayout::view(flat, member, unit->gradientType());
    // A reshape keeps the order of elements, so its input can be written there.
    Value written = gradient;
    while (auto reshape = written.getDefiningOp<nn::ReshapeOp>())
      written = reshape.getInput();
    if (!isComputed(written) || places.contains(written) ||
        (changes && isReadBehind(written, op)))
      continue;
    places[written] =
        *place.reshape(cast<RankedTensorType>(written.getType()).getShape());
    placeChanged(written, places.lookup(written));
  }
  return success();
}

void ProgramLowering::placeChanged(Value value, const View &place) {
  for (;;) {
    auto call = value.getDefiningOp<nn::LibraryCall>();
    value = call ? call.changedOperand() : Value();
    if (!value || !isComputed(value) || !value.hasOneUse() ||
        places.contains(value))
      return;
    places[value] = place;
  }
}

static bool sameMemory(const step::View &a, const step::View &b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.isContiguous() &&
         b.isContiguous();
}

Value ProgramLowering::completeGradients(fsdp::FlatGradientsOp op) {
  Value flat = flatGradients.lookup(op);
  UnitLayout &unit = *plan.unit(op.getUnit());
  auto fill = [&](const View &view, double value) {
    emit<step::FillOp>(ref(view), llvm::APFloat(value));
  };
  SmallVector<std::pair<int64_t, int64_t>> covered;
  for (auto [gradient, member] : llvm::zip(op.getGradients(), unit.members)) {
    View place = UnitLayout::view(flat, member, unit.gradientType());
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

  // Padding has no gradient. Zeros there keep norms exact, and the memory is
  // another buffer's before.
  llvm::sort(covered);
  int64_t end = 0, bytes = nn::elementBytes(unit.gradientType());
  covered.push_back({unit.op.getElements(), 0});
  for (auto [from, to] : covered) {
    if (from > end)
      fill(View::contiguous(
               flat, end * bytes,
               RankedTensorType::get({from - end}, unit.gradientType())),
           0.0);
    end = std::max(end, to);
  }
  return flat;
}

void ProgramLowering::emitEntries(fsdp::FlatGradientsOp op) {
  set(op.getFlat(),
      View::contiguous(completeGradients(op), 0,
                       cast<RankedTensorType>(op.getFlat().getType())));
}

step::View ProgramLowering::accumulator(RankedTensorType type, StringRef unit) {
  return plan.accumulator(
      type, unit.empty() ? "accumulator" : ("accumulator." + unit).str(),
      location);
}

void ProgramLowering::emitEntries(fsdp::AccumulateOp op) {
  View value = changeable(op.getValue());
  auto type = cast<RankedTensorType>(op.getValue().getType())
                  .clone(op.getAccumulatorType());
  emit<step::AccumulateOp>(ref(value),
                           ref(accumulator(type, plan.unitOf(value.buffer))));
  set(op.getSum(), value);
}

/// Returns the type of what is added up before it becomes a value of `type`.
static RankedTensorType sumTypeOf(RankedTensorType type) {
  return cast<RankedTensorType>(
      type.clone(fsdp::getSumType(type.getElementType())));
}

Value ProgramLowering::newReductionWorkspace(int64_t bytes) {
  return bytes ? ref(newWorkspace(bytes)) : Value();
}

int64_t ProgramLowering::allReduceBytes(const View &value, StringRef group) {
  return workspaces().allReduce(value.elements(),
                                nn::elementBytes(value.elementType),
                                plan.ranksOf(group));
}

step::View ProgramLowering::newShard(Value token, StringRef unit) {
  Operation *wait = *token.user_begin();
  View shard = View::contiguous(
      {}, 0, cast<RankedTensorType>(wait->getResult(0).getType()));
  shard.buffer = newBuffer(step::Kind::gradient, shard.spanBytes(),
                           ("gradient_shard." + unit).str());
  plan.setUnit(shard.buffer, unit);
  return shard;
}

void ProgramLowering::emitEntries(fsdp::ReduceScatterStartOp op) {
  View shard = newShard(op.getToken(), op.getUnit());
  auto type = RankedTensorType::get(shard.shape, shard.elementType);
  Value sum;
  if (op.getAccumulated())
    sum = ref(accumulator(sumTypeOf(type), op.getUnit()));
  View flat = view(op.getFlat());
  Value workspace = newReductionWorkspace(workspaces().reduceScatter(
      flat.spanBytes(), plan.ranksOf(op.getGroup())));
  auto start = emit<step::ReduceScatterStartOp>(tokenType(), op.getUnitAttr(),
                                                ref(flat), ref(shard), sum,
                                                workspace, op.getGroupAttr());
  collectives[op.getToken()] = {
      start.getToken(), shard.buffer, op.getUnit(), {shard}};
}

void ProgramLowering::emitEntries(fsdp::AllReduceGradientsStartOp op) {
  View flat = view(op.getFlat());
  SmallVector<Value, 1> sums;
  if (op.getAccumulated())
    sums.push_back(ref(
        accumulator(sumTypeOf(cast<RankedTensorType>(op.getFlat().getType())),
                    op.getUnit())));
  Value workspace = newReductionWorkspace(allReduceBytes(flat, op.getGroup()));
  auto start = emit<step::AllReduceStartOp>(
      tokenType(), ValueRange{ref(flat)}, sums, workspace, op.getUnitAttr(),
      op.getGroupAttr(), builder.getDenseBoolArrayAttr({false}));
  collectives[op.getToken()] = {
      start.getToken(), flat.buffer, op.getUnit(), {flat}};
}

void ProgramLowering::emitEntries(fsdp::AllGatherUpdatesStartOp op) {
  auto start = emit<step::AllGatherUpdatesStartOp>(
      tokenType(), op.getUnitAttr(), op.getGroupAttr());
  collectives[op.getToken()] = {start.getToken(), {}, op.getUnit(), {}};
}

void ProgramLowering::emitEntries(fsdp::AllReduceStartOp op) {
  Collective collective;
  SmallVector<Value> operands;
  int64_t bytes = 0; // the values come one behind the other
  for (Value value : op.getValues()) {
    collective.values.push_back(changeable(value));
    operands.push_back(ref(collective.values.back()));
    bytes = std::max(bytes,
                     allReduceBytes(collective.values.back(), op.getGroup()));
  }
  auto start = emit<step::AllReduceStartOp>(
      tokenType(), operands, /*accumulators=*/ValueRange(),
      newReductionWorkspace(bytes),
      /*unit=*/FlatSymbolRefAttr(), op.getGroupAttr(), op.getNormsAttr());
  collective.token = start.getToken();
  collectives[op.getToken()] = collective;
}

void ProgramLowering::emitEntries(fsdp::GradientNormOp op) {
  SmallVector<Value> gradients;
  SmallVector<Attribute> units;
  for (Value gradient : op.getGradients()) {
    View flat = contiguous(gradient);
    gradients.push_back(ref(flat));
    units.push_back(
        FlatSymbolRefAttr::get(op.getContext(), plan.unitOf(flat.buffer)));
  }
  Value previous;
  if (op.getPrevious())
    previous = ref(contiguous(op.getPrevious()));
  Value result = ref(allocate(op->getResult(0)));
  emit<step::GradientNormOp>(gradients, previous, result,
                             builder.getArrayAttr(units));
}

void ProgramLowering::emitEntries(fsdp::ExactSumOp op) {
  Value value = ref(contiguous(op.getValue()));
  emit<step::ExactSumOp>(value, ref(allocate(op->getResult(0))));
}
void ProgramLowering::emitEntries(fsdp::RoundSumOp op) {
  Value sum = ref(contiguous(op.getSum()));
  emit<step::RoundSumOp>(sum, ref(allocate(op->getResult(0))),
                         op.getNormAttr());
}

void ProgramLowering::emitEntries(fsdp::OptimizerStepOp op) {
  View gradient = contiguous(op.getGradient());
  Value norm, direction;
  if (op.getNorm())
    norm = ref(contiguous(op.getNorm()));
  if (op.getDirection())
    direction = ref(view(op.getDirection()));
  emit<step::OptimizerStepOp>(op.getUnitAttr(), ref(gradient), norm,
                              op.getKindAttr(), direction,
                              /*master=*/Value(), /*states=*/ValueRange(),
                              /*parameters=*/Value());
}

void ProgramLowering::emitEntries(fsdp::MetricOp op) {
  emit<step::MetricOp>(op.getName(), ref(contiguous(op.getValue())));
}

void ProgramLowering::emitEntries(fsdp::OutputsOp op) {
  // All copies come first: whatever an output names is as it was when the
  // program ends.
  SmallVector<Value> values;
  for (Value value : op.getValues())
    values.push_back(ref(contiguous(value)));
  for (auto [name, value] :
       llvm::zip(op.getNames().getAsRange<StringAttr>(), values))
    emit<step::OutputOp>(name, value);
}

} // namespace shardc
