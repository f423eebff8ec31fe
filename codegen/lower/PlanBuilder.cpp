// A step.plan begins with the part that outlives a step.
#include "codegen/lower/PlanBuilder.h"

#include "codegen/lower/InputBounds.h"
#include "runtime/base/SplitMaster.h"
#include "runtime/device/Optimizers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc {

step::View UnitLayout::view(Value flat, const Member &member,
                            Type elementType) {
  auto type =
      cast<RankedTensorType>(nn::ParameterOp(member.parameter).getType())
          .clone(elementType);
  return step::View::contiguous(
      flat, member.offset * nn::elementBytes(type.getElementType()), type);
}

PlanBuilder::PlanBuilder(ModuleOp module, const Target &target)
    : target(target), module(module), symbols(module),
      builder(module.getContext()) {
  builder.setInsertionPointToEnd(module.getBody());
  plan =
      step::PlanOp::create(builder, module.getLoc(), target.argumentAlignment(),
                           target.bufferAlignment(),
                           /*pool_bytes=*/nullptr,
                           /*kind_bytes=*/nullptr,
                           /*live_bound_bytes=*/nullptr);
  builder.createBlock(&plan.getBody());
}

Value PlanBuilder::buffer(int64_t bytes, StringRef name, Location loc,
                          step::Kind kind) {
  return step::BufferOp::create(builder, loc, kind, bytes, name);
}

Value PlanBuilder::buffer(RankedTensorType type, StringRef name, Location loc,
                          step::Kind kind) {
  return buffer(nn::bytesOf(type), name, loc, kind);
}

step::View PlanBuilder::accumulator(RankedTensorType type, StringRef name,
                                    Location loc) {
  return step::View::contiguous(
      buffer(type, name, loc, step::Kind::accumulation), 0, type);
}

UnitLayout *PlanBuilder::unit(StringRef name) {
  auto found = units.find(name);
  return found == units.end() ? nullptr : &found->second;
}

int64_t PlanBuilder::ranksOf(StringRef group) const {
  return static_cast<int64_t>(symbols.lookup<fsdp::GroupOp>(group).getSize());
}

int64_t PlanBuilder::ranks() const {
  auto meshes = mlir::ModuleOp(module).getOps<fsdp::MeshOp>();
  return meshes.empty() ? 1 : (*meshes.begin()).getRanks();
}

LogicalResult PlanBuilder::addLayout(fsdp::UnitOp unit) {
  UnitLayout layout{unit, {}};
  auto references = unit.getParameters().getAsRange<FlatSymbolRefAttr>();
  for (auto [reference, offset] : llvm::zip(references, unit.getOffsets())) {
    auto parameter = symbols.lookup<nn::ParameterOp>(reference.getValue());
    if (!parameter)
      return unit.emitOpError()
             << "holds " << reference << ", which is no nn.parameter";
    layout.members.push_back({parameter, offset});
  }
  units.insert({unit.getSymName(), layout});
  return success();
}

static int64_t optimizerStates(StringRef kind) {
  const Optimizer *optimizer = findOptimizer(kind);
  return optimizer ? optimizer->states().size() : 0;
}

void PlanBuilder::addResidentUnits(ArrayRef<func::FuncOp> functions) {
  llvm::StringSet<> held;
  for (auto &entry : units)
    for (const UnitLayout::Member &member : entry.second.members)
      held.insert(nn::ParameterOp(member.parameter).getSymName());

  llvm::MapVector<Type, SmallVector<nn::ParameterOp>> loose;
  for (func::FuncOp function : functions)
    function.walk([&](nn::GetParameterOp get) {
      auto parameter = symbols.lookup<nn::ParameterOp>(get.getParameter());
      if (parameter && held.insert(get.getParameter()).second)
        loose[getElementTypeOrSelf(get.getType())].push_back(parameter);
    });

  for (auto &[elementType, parameters] : loose) {
    SmallVector<Attribute> references;
    SmallVector<int64_t> offsets;
    // Each of them is an argument of kernels where it lies.
    int64_t multiple = std::max<int64_t>(
        target.argumentAlignment() / nn::elementBytes(elementType), 1);
    int64_t elements = 0, values = 0;
    for (nn::ParameterOp parameter : parameters) {
      references.push_back(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
      offsets.push_back(elements);
      int64_t own =
          cast<RankedTensorType>(parameter.getType()).getNumElements();
      values += own;
      elements = llvm::alignTo(elements + own, multiple);
    }
    std::string name = "resident";
    llvm::raw_string_ostream(name) << "." << elementType;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(plan);
    auto unit = fsdp::UnitOp::create(
        builder, module.getLoc(), name, builder.getArrayAttr(references),
        offsets, elements, /*padding=*/elements - values, /*shards=*/1,
        /*optimizer_shards=*/0,
        /*reshard=*/1, elementType, elementType, elementType,
        "not trained: whole on every rank", /*stays=*/false);
    symbols.insert(unit, Block::iterator(plan));
    (void)addLayout(unit); // its parameters were looked up above
  }
}

LogicalResult PlanBuilder::addUnits(ArrayRef<func::FuncOp> functions) {
  for (auto unit : module.getOps<fsdp::UnitOp>())
    if (failed(addLayout(unit)))
      return failure();
  addResidentUnits(functions);

  llvm::StringMap<StringRef> states; // of trained units: the optimizer
  for (func::FuncOp function : functions)
    function.walk([&](fsdp::OptimizerStepOp step) {
      states[step.getUnit()] = step.getKind();
    });
  for (auto &[name, layout] : units) {
    Location loc = layout.op.getLoc();
    fsdp::UnitOp unit = layout.op;
    Value parameters =
        buffer(unit.getFlatType(static_cast<int64_t>(unit.getShards())),
               (name + ".parameters").str(), loc);
    SmallVector<Value> stateBuffers;
    Value master, remainder;
    if (states.contains(name)) {
      auto slice = RankedTensorType::get(
          {static_cast<int64_t>(unit.getElements() /
                                unit.getOptimizerShards())},
          unit.getMasterType());
      if (unit.splitsMaster())
        remainder = buffer(runtime::splitBytes(slice.getNumElements()),
                           (name + ".remainder").str(), loc);
      else if (unit.getMasterType() != unit.getElementType())
        master = buffer(slice, (name + ".master").str(), loc);
      StringRef kind = states.lookup(name);
      for (int64_t state = 0; state < optimizerStates(kind); ++state) {
        int64_t elements = state == 0
                               ? slice.getNumElements()
                               : fsdp::laterStateElements(unit, kind, symbols);
        stateBuffers.push_back(
            buffer(RankedTensorType::get(elements, slice.getElementType()),
                   (name + ".state" + Twine(state)).str(), loc));
      }
    }
    step::StorageOp::create(builder, loc, name, parameters, master, remainder,
                            stateBuffers);
    storages[name] = parameters;
    if (states.contains(name))
      owners[parameters] = name;
    if (layout.op.getShards() == 1)
      for (const UnitLayout::Member &member : layout.members)
        residents[nn::ParameterOp(member.parameter).getSymName()] =
            UnitLayout::view(parameters, member, layout.elementType());
  }
  return success();
}

FailureOr<step::View> PlanBuilder::input(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto text = [&](StringRef attribute) {
    auto value = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       attribute);
    return value ? value.getValue() : StringRef();
  };
  StringRef role = text(nn::roleAttr);
  std::string name = text(nn::nameAttr).str();
  if (name.empty())
    name = role.str();
  if (name.empty())
    return function.emitOpError() << "expects nn.name or nn.role of argument "
                                  << argument.getArgNumber();

  auto type = cast<RankedTensorType>(argument.getType());
  step::InputOp &op = inputs[name];
  if (!op) {
    int64_t bytes = nn::bytesOf(type);
    Location loc = argument.getLoc();
    step::View view =
        step::View::contiguous(buffer(bytes, "input." + name, loc), 0, type);
    auto viewOp = step::ViewOp::create(builder, loc, view.memrefType(),
                                       view.buffer, view.offset);
    op = step::InputOp::create(builder, loc, name, role, viewOp,
                               /*bounds=*/nullptr);
  }
  step::View view = step::View::of(op.getView());
  if (view.memrefType() !=
      MemRefType::get(type.getShape(), type.getElementType()))
    return function.emitOpError() << "expects input \"" << name
                                  << "\" of one type in all functions, got "
                                  << view.memrefType() << " and " << type;
  boundIntegers(op, argument);
  return view;
}

void PlanBuilder::boundIntegers(step::InputOp input, BlockArgument argument) {
  std::optional<nn::PositionRange> range = positionsRange(argument);
  if (!range)
    return;
  if (std::optional<ArrayRef<int64_t>> known = input.getBounds()) {
    range->min = std::max(range->min, (*known)[0]);
    range->max = std::min(range->max, (*known)[1]);
  }
  input.setBounds(ArrayRef<int64_t>{range->min, range->max});
}

step::View PlanBuilder::constant(ElementsAttr value, Location loc) {
  step::View &view = constants[value];
  if (!view.buffer) {
    auto type = cast<RankedTensorType>(value.getShapedType());
    Value storage =
        buffer(nn::bytesOf(type),
               "constant." + std::to_string(constants.size() - 1), loc);
    step::ConstantOp::create(builder, loc, storage, value);
    view = step::View::contiguous(storage, 0, type);
  }
  return view;
}

FailureOr<step::View> PlanBuilder::resident(FlatSymbolRefAttr parameter,
                                            Location loc) {
  auto found = residents.find(parameter.getValue());
  if (found != residents.end())
    return found->second;
  return emitError(loc) << "reads parameter " << parameter
                        << ", which is sharded; gather its unit first";
}

step::ProgramOp PlanBuilder::addProgram(StringRef name, Location loc) {
  OpBuilder end = OpBuilder::atBlockEnd(&plan.getBody().front());
  auto program = step::ProgramOp::create(end, loc, name);
  end.createBlock(&program.getBody());
  // Lowering a program may still find buffers that outlive a step; they must
  // stand before all programs.
  if (!hasPrograms)
    builder.setInsertionPoint(program);
  hasPrograms = true;
  return program;
}

} // namespace shardc
