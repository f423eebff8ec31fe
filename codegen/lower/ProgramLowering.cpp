// Lowers one function to a step.program: the walk over its ops, and views.
#include "codegen/lower/ProgramLowering.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

ProgramLowering::ProgramLowering(PlanBuilder &plan, func::FuncOp function)
    : plan(plan), function(function), builder(function.getContext()),
      location(function.getLoc()) {}

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
      .Default([&](Operation *) {
        if (isa<fsdp::FSDPDialect>(op->getDialect()))
          return lowerCollective(op);
        return lowerLibraryCall(op);
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
  for (Value input : op.getInputs())
    inputs.push_back(ref(contiguous(input)));
  for (OpResult output : op->getResults())
    outputs.push_back(ref(allocate(output)));
  emit<step::LaunchOp>(op.getKernelAttr(), inputs, outputs);
}

// A readable name for what an op makes: the ONNX node's, or the op's own.
static std::string nameOf(OpResult result) {
  Operation *op = result.getOwner();
  std::string name;
  if (auto loc = op->getLoc()->findInstanceOf<NameLoc>())
    name = loc.getName().str();
  else if (auto call = dyn_cast<step::CallOp>(op))
    name = call.getKernel().getLeafReference().str();
  else
    name = op->getName().stripDialect().str();
  if (op->getNumResults() > 1)
    name += "#" + std::to_string(result.getResultNumber());
  return name;
}

Value ProgramLowering::newBuffer(step::Kind kind, int64_t bytes,
                                 StringRef name) {
  return emit<step::BufferOp>(kind, bytes, name);
}

ProgramLowering::View ProgramLowering::allocate(OpResult result) {
  auto place = places.find(result);
  // Where a gradient's place is none for a kernel, it is copied there.
  if (place != places.end() && plan.isAligned(place->second)) {
    set(result, place->second);
    return place->second;
  }
  auto type = cast<RankedTensorType>(result.getType());
  View fresh = View::contiguous({}, 0, type);
  fresh.buffer =
      newBuffer(step::Kind::activation, fresh.spanBytes(), nameOf(result));
  set(result, fresh);
  return fresh;
}

ProgramLowering::View ProgramLowering::newWorkspace(int64_t bytes) {
  auto type = MemRefType::get(
      {bytes}, IntegerType::get(builder.getContext(), 8,
                                IntegerType::SignednessSemantics::Unsigned));
  return View::contiguous(newBuffer(step::Kind::workspace, bytes, "workspace"),
                          0, type);
}

ProgramLowering::View ProgramLowering::copied(const View &source) {
  View copy = View::contiguous(
      {}, 0, RankedTensorType::get(source.shape, source.elementType));
  copy.buffer = newBuffer(step::Kind::activation, copy.spanBytes(), "copy");
  emit<step::CopyOp>(ref(source), ref(copy));
  return copy;
}

ProgramLowering::View ProgramLowering::contiguous(Value tensor) {
  View source = view(tensor);
  if (source.isContiguous() && plan.isAligned(source))
    return source;
  View &copy = copies[tensor];
  if (!copy.buffer)
    copy = copied(source);
  return copy;
}

ProgramLowering::View ProgramLowering::heads(Value tensor) {
  View source = view(tensor);
  int64_t width = source.shape[3];
  bool unitRows = width == 1 || source.strides[3] == 1;
  // What a broadcast repeats, or a slice reverses, is no matrix of the GEMM
  // library: it takes the distance of two rows for a row's length at least.
  bool apart = source.shape[1] <= 1 || source.strides[1] >= width;
  return unitRows && apart ? source : contiguous(tensor);
}

static bool hasGemmRows(const step::View &view) {
  int64_t rank = view.rank();
  return (view.shape[rank - 1] == 1 || view.strides[rank - 1] == 1) &&
         (view.shape[rank - 2] == 1 ||
          view.strides[rank - 2] >= view.shape[rank - 1]);
}

ProgramLowering::View ProgramLowering::matrix(Value tensor,
                                              ArrayRef<int64_t> shape,
                                              bool &transposed) {
  if (std::optional<View> reshaped = view(tensor).reshape(shape)) {
    if (hasGemmRows(*reshaped))
      return *reshaped;
    auto swap = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    std::swap(swap[shape.size() - 1], swap[shape.size() - 2]);
    View flipped = reshaped->transpose(swap);
    if (hasGemmRows(flipped)) {
      transposed = !transposed;
      return flipped;
    }
  }
  return *contiguous(tensor).reshape(shape);
}

Value ProgramLowering::ref(const View &view) {
  return emit<step::ViewOp>(view.memrefType(), view.buffer, view.offset);
}

Value ProgramLowering::ref(std::optional<View> view) {
  return view ? ref(*view) : Value();
}

// The scalar that an op on scalars alone (a cast of the loss, its scaling)
// makes its result from, or null.
static Value computedScalar(Operation *op) {
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

// Whether only the last micro-batch runs the op: reductions marked so, and
// their waits.
static bool runsInLastMicroBatch(Operation *op) {
  if (auto start = dyn_cast<fsdp::ReduceScatterStartOp>(op))
    return start.getLast();
  if (auto start = dyn_cast<fsdp::AllReduceGradientsStartOp>(op))
    return start.getLast();
  if (isa<fsdp::ReduceScatterWaitOp, fsdp::AllReduceGradientsWaitOp>(op))
    return runsInLastMicroBatch(op->getOperand(0).getDefiningOp());
  return false;
}

void ProgramLowering::annotate(Operation *op, Operation *before) {
  if (isa<fsdp::GradientNormOp, fsdp::OptimizerStepOp>(op))
    phase = "optimizer";
  if (auto start = dyn_cast<fsdp::AllReduceStartOp>(op);
      start && start.getPhase() == fsdp::PhaseKind::optimizer)
    phase = "optimizer";
  bool onlyLast = runsInLastMicroBatch(op);
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
    entry.setAttr("step.phase",
                  gather ? builder.getStringAttr(
                               fsdp::stringifyPhaseKind(gather.getPhase()))
                         : builder.getStringAttr(phase));
    if (onlyLast)
      entry.setAttr("step.last", builder.getUnitAttr());
    auto own = entry.getAttrOfType<FlatSymbolRefAttr>("unit");
    StringRef unit = own ? own.getValue() : currentUnit;
    if (!unit.empty())
      entry.setAttr("step.unit", builder.getStringAttr(unit));
  }
  if (auto cost = dyn_cast<nn::CostModel>(op); cost && last && cost.flops())
    last->setAttr("step.flops", builder.getI64IntegerAttr(cost.flops()));

  if (op == lastForward) {
    phase = "backward";
    // A copy that both phases use would live through the turn.
    copies.clear();
  }
}

} // namespace shardc
