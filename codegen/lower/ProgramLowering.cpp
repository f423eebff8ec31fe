// The walk over a function's ops lowers views itself: they are no entries.
#include "codegen/lower/ProgramLowering.h"

#include "codegen/kernels/KernelFunction.h"
#include "codegen/step/Liveness.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

ProgramLowering::ProgramLowering(PlanBuilder &plan, func::FuncOp function)
    : EntryBuilder(plan, function.getLoc()), function(function) {}

LogicalResult ProgramLowering::run() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError() << "expects one block";
  Block &body = function.getBody().front();
  if (body.getTerminator()->getNumOperands())
    return function.emitOpError()
           << "expects no results; hand them to fsdp.metric before step-lower";

  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();

  program = plan.addProgram(function.getName(), location);
  builder.setInsertionPointToEnd(&program.getBody().front());
  for (BlockArgument argument : body.getArguments()) {
    FailureOr<View> input = plan.input(argument);
    if (failed(input))
      return failure();
    set(argument, *input);
  }
  findPhases();
  if (failed(placeGradients()))
    return failure();

  for (Operation &op : body.without_terminator()) {
    location = op.getLoc();
    Block *block = builder.getInsertionBlock();
    Operation *before = block->empty() ? nullptr : &block->back();
    if (failed(lower(&op)))
      return failure();
    annotate(&op, before);
  }
  return success();
}

LogicalResult ProgramLowering::lower(Operation *op) {
  if (op->hasTrait<nn::IsView>())
    return lowerView(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::ConstantOp constant) {
        set(constant.getResult(),
            plan.constant(constant.getValue(), constant.getLoc()));
        return success();
      })
      .Case([&](nn::GetParameterOp get) -> LogicalResult {
        FailureOr<View> view =
            plan.resident(get.getParameterAttr(), get.getLoc());
        if (failed(view))
          return failure();
        set(get.getResult(), *view);
        return success();
      })
      .Case([&](step::CallOp call) {
        launch(call);
        return success();
      })
      .Default([&](Operation *) -> LogicalResult {
        if (isa<fsdp::FSDPDialect>(op->getDialect()))
          return lowerCollective(op);
        auto call = dyn_cast<nn::LibraryCall>(op);
        if (!call)
          return op->emitOpError()
                 << "is no library call, view, constant or launch; run "
                    "step-outline-kernels before step-lower";
        call.lowerCall(*this);
        return success();
      });
}

LogicalResult ProgramLowering::lowerView(Operation *op) {
  View input = view(op->getOperand(0));
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  View result =
      llvm::TypeSwitch<Operation *, View>(op)
          .Case([&](nn::ReshapeOp) {
            if (std::optional<View> strided = input.reshape(shape))
              return *strided;
            return *contiguous(op->getOperand(0)).reshape(shape);
          })
          .Case([&](nn::TransposeOp transpose) {
            return input.transpose(transpose.getPermutation());
          })
          .Case([&](nn::SliceOp slice) {
            return input.slice(slice.getStarts(), slice.getLimits(),
                               slice.getStrides());
          })
          .Default([&](Operation *) { return input.broadcast(shape); });
  set(op->getResult(0), result);
  return success();
}

void ProgramLowering::launch(step::CallOp op) {
  SmallVector<Value> inputs, outputs;
  for (Value input : op.getInputs()) {
    auto slice = input.getDefiningOp<nn::SliceOp>();
    inputs.push_back(ref(kernels::isReadInPlace(slice)
                             ? contiguous(slice.getInput())
                                   .slice(slice.getStarts(), slice.getLimits(),
                                          slice.getStrides())
                             : contiguous(input)));
  }
  for (OpResult output : op->getResults())
    outputs.push_back(ref(allocate(output)));
  emit<step::LaunchOp>(op.getKernelAttr(), inputs, outputs);
}

// Returns the scalar that an op on scalars alone (a cast of the loss, its
// scaling, its exact sum) makes its result from, or null.
static Value computedScalar(Operation *op) {
  if (isa<fsdp::RoundSumOp, fsdp::AccumulateOp>(op))
    return op->getOperand(0);
  Value scalar;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || type.getNumElements() != 1)
      return {};
    Operation *producer = operand.getDefiningOp();
    if (!scalar && producer && !producer->hasTrait<OpTrait::ConstantLike>())
      scalar = operand;
  }
  return scalar;
}

// The phases of a step show in its data flow: backward begins behind the op
// that makes the loss, the optimizer with the norm of the gradients.
void ProgramLowering::findPhases() {
  if (function.getOps<fsdp::OptimizerStepOp>().empty())
    return;
  updatesInBackward =
      !(*function.getOps<fsdp::OptimizerStepOp>().begin()).getNorm();
  for (auto metric : function.getOps<fsdp::MetricOp>()) {
    if (metric.getName() != "loss")
      continue;
    Value value = metric.getValue();
    while (Operation *op = value ? value.getDefiningOp() : nullptr) {
      lastForward = op;
      if (auto wait = dyn_cast<fsdp::AllReduceWaitOp>(op)) {
        auto start = wait.getToken().getDefiningOp<fsdp::AllReduceStartOp>();
        value = start.getValues()[cast<OpResult>(value).getResultNumber()];
      } else {
        value = computedScalar(op);
      }
    }
  }
}

StringRef ProgramLowering::unitOf(Operation *op) {
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values) {
      StringRef unit = plan.unitOf(view(value).buffer);
      if (!unit.empty())
        return unit;
    }
  return {};
}

// Returns whether only the last micro-batch runs the op, as it does reductions
// that are marked so, and their waits.
static bool runsInLastMicroBatch(Operation *op) {
  if (auto start = dyn_cast<fsdp::ReduceScatterStartOp>(op))
    return start.getLast();
  if (auto start = dyn_cast<fsdp::AllReduceGradientsStartOp>(op))
    return start.getLast();
  if (isa<fsdp::ReduceScatterWaitOp, fsdp::AllReduceGradientsWaitOp>(op))
    return runsInLastMicroBatch(op->getOperand(0).getDefiningOp());
  return false;
}

static bool runsInFirstMicroBatch(Operation *op) {
  if (auto wait = dyn_cast<fsdp::AllGatherWaitOp>(op))
    op = wait.getToken().getDefiningOp();
  auto start = dyn_cast<fsdp::AllGatherStartOp>(op);
  return start && start.getFirst();
}

// Returns whether the op is one of those that the phase of the optimizer begins
// with.
static bool beginsOptimizer(Operation *op) {
  auto start = dyn_cast<fsdp::AllReduceStartOp>(op);
  return isa<fsdp::GradientNormOp, fsdp::OptimizerStepOp>(op) ||
         (start && start.getPhase() == fsdp::PhaseKind::optimizer);
}

void ProgramLowering::annotate(Operation *op, Operation *before) {
  if (beginsOptimizer(op))
    phase = "optimizer";
  else if (updatesInBackward && phase == "optimizer" &&
           !isa<fsdp::AllReduceWaitOp, fsdp::RoundSumOp, fsdp::MetricOp,
                fsdp::AllGatherUpdatesStartOp, fsdp::AllGatherUpdatesWaitOp>(
               op))
    phase = "backward"; // which goes on behind an update
  bool onlyLast = runsInLastMicroBatch(op),
       onlyFirst = runsInFirstMicroBatch(op);
  DenseI64ArrayAttr ranks = ranksOf(op);
  // Matrices of several units come together.
  if (isa<fsdp::GatherMatricesWaitOp>(op))
    currentUnit = {};
  if (StringRef unit = unitOf(op); !unit.empty())
    currentUnit = unit;

  Block *block = builder.getInsertionBlock();
  Block::iterator first =
      before ? std::next(Block::iterator(before)) : block->begin();
  Operation *last = nullptr;
  for (Operation &entry : llvm::make_range(first, block->end())) {
    if (isa<step::BufferOp, step::ViewOp>(entry))
      continue;
    // Scratch copies cost no flops: the last entry is the op itself.
    last = &entry;
    // A gather for backward may begin before the turn; it is counted there.
    auto gather = dyn_cast<fsdp::AllGatherStartOp>(op);
    entry.setAttr(step::phaseAttr,
                  gather ? builder.getStringAttr(
                               fsdp::stringifyPhaseKind(gather.getPhase()))
                         : builder.getStringAttr(phase));
    if (onlyLast)
      entry.setAttr(step::lastAttr, builder.getUnitAttr());
    if (onlyFirst)
      entry.setAttr(step::firstAttr, builder.getUnitAttr());
    if (ranks)
      entry.setAttr(step::ranksAttr, ranks);
    auto own = entry.getAttrOfType<FlatSymbolRefAttr>("unit");
    StringRef unit = own ? own.getValue() : currentUnit;
    if (!unit.empty())
      entry.setAttr(step::unitAttr, builder.getStringAttr(unit));
  }
  if (auto cost = dyn_cast<nn::CostModel>(op); cost && last && cost.flops())
    last->setAttr(step::flopsAttr, builder.getI64IntegerAttr(cost.flops()));

  if (op == lastForward) {
    phase = "backward";
    // A copy that both phases use would live through the turn.
    copies.clear();
  }
}

} // namespace shardc
