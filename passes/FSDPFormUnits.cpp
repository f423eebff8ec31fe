// fsdp-form-units: the mesh, and which parameters are gathered together and how
// their flat buffer is laid out.
#include "passes/Passes.h"
#include "passes/analyses/ParameterUses.h"
#include "passes/options/Mesh.h"
#include "passes/options/UnitsOption.h"
#include "passes/units/FlatLayout.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPFORMUNITS
#include "passes/Passes.h.inc"

namespace {

RankedTensorType tensorType(nn::ParameterOp parameter) {
  return cast<RankedTensorType>(parameter.getType());
}

/// Parameters that fsdp-assign-units put together.
struct ParameterGroup {
  std::string name;
  std::string reason;
  SmallVector<size_t> members; // by first use
};

/// What is trained of a group, or what is frozen: units of their own, used at
/// the same place.
struct Part {
  size_t group = 0;
  std::string groupName;
  bool trained = true;
  bool isWhole = true; // all of its group
  std::string reason;
  SmallVector<size_t> members;
  int64_t reshard = 0;
  bool stays = false; // over micro-batches

  std::string name() const {
    return trained ? groupName : groupName + ".frozen";
  }
};

struct FSDPFormUnits : impl::FSDPFormUnitsBase<FSDPFormUnits> {
  using FSDPFormUnitsBase::FSDPFormUnitsBase;

  void runOnOperation() override;

private:
  void fail(llvm::Error error);
  llvm::Error readOptions();
  /// Types of the gradients that @train returns, by parameter.
  void readGradients(func::FuncOp train);
  void readStacks(func::FuncOp function);
  /// What units hold, by first use: trainable parameters that have a gradient
  /// (all trainable ones before differentiation), and frozen ones.
  SmallVector<nn::ParameterOp> unitParameters(func::FuncOp function,
                                              SymbolTable &symbols,
                                              bool differentiated);
  /// What fsdp-assign-units decided, whose attributes end here. What has no
  /// unit is in the root.
  SmallVector<ParameterGroup> groupsOf(ArrayRef<nn::ParameterOp> parameters);
  SmallVector<Part> partsOf(ArrayRef<ParameterGroup> groups,
                            ArrayRef<nn::ParameterOp> parameters);
  /// Over how many ranks each part lies between forward and backward. By
  /// default the last group stays gathered: its backward comes next.
  llvm::Error chooseReshards(ArrayRef<ParameterGroup> groups,
                             SymbolTable &symbols,
                             ArrayRef<nn::ParameterOp> parameters,
                             MutableArrayRef<Part> parts);
  /// The group whose last use in forward comes last.
  std::optional<size_t> lastUsed(ArrayRef<ParameterGroup> groups,
                                 SymbolTable &symbols,
                                 ArrayRef<nn::ParameterOp> parameters);
  /// The mesh, and the groups that its collectives run over.
  void createMesh(SymbolTable &symbols, ArrayRef<Part> parts);
  /// The units of one part: a flat buffer has one element type.
  void createUnits(SymbolTable &symbols, const Part &part,
                   ArrayRef<nn::ParameterOp> parameters);
  /// Master weights and optimizer state have the type that nn-precision says,
  /// else the parameters' own.
  Type masterType(Type elementType);
  /// Which of a unit's parameters lie one behind the other, in this order: those
  /// that are stacked in the function, where each but the last has whole packs
  /// of the alignment. The others are alone.
  SmallVector<SmallVector<size_t>>
  stacksOf(ArrayRef<nn::ParameterOp> members) const;
  /// Creates the fsdp.unit before the first function. The layout has the slices
  /// of the finest cut that any strategy makes on these ranks, so that full,
  /// grad_op, opt and none add the same numbers in the same order.
  fsdp::UnitOp createUnit(SymbolTable &symbols, const Part &part,
                          ArrayRef<nn::ParameterOp> members, Type elementType,
                          Type gradientType);

  Block::iterator beforeFunctions;
  MeshShape shape;
  Sharding sharding;
  ReshardOption reshardAll;
  bool allStay = false;
  SmallVector<UnitOption> options;
  int64_t ranks = 1, shards = 1, optimizerShards = 1;
  llvm::DenseMap<StringAttr, Type> gradientType;
  /// Parameters that nn.stacked_linear reads together.
  SmallVector<SmallVector<StringAttr>> stacked;
};

} // namespace

void FSDPFormUnits::runOnOperation() {
  ModuleOp module = getOperation();
  if (!module.getOps<fsdp::MeshOp>().empty()) {
    module.emitError(
        "expects a module without fsdp.mesh; units are formed once");
    return signalPassFailure();
  }
  if (llvm::Error error = readOptions())
    return fail(std::move(error));
  SymbolTable symbols(module);
  auto function = symbols.lookup<func::FuncOp>("train");
  bool differentiated = static_cast<bool>(function);
  if (!function)
    function = symbols.lookup<func::FuncOp>("model");
  SmallVector<ParameterGroup> groups;
  SmallVector<nn::ParameterOp> parameters;
  if (function) {
    if (differentiated)
      readGradients(function);
    parameters = unitParameters(function, symbols, differentiated);
    groups = groupsOf(parameters);
    readStacks(function);
  }
  SmallVector<Part> parts = partsOf(groups, parameters);
  if (llvm::Error error = chooseReshards(groups, symbols, parameters, parts))
    return fail(std::move(error));
  createMesh(symbols, parts);
  Block *body = module.getBody();
  auto functions = body->getOps<func::FuncOp>();
  beforeFunctions =
      functions.empty() ? body->end() : Block::iterator(*functions.begin());
  for (const Part &part : parts)
    createUnits(symbols, part, parameters);
}

void FSDPFormUnits::fail(llvm::Error error) {
  getOperation().emitError(llvm::toString(std::move(error)));
  signalPassFailure();
}

llvm::Error FSDPFormUnits::readOptions() {
  auto parsed = parseMesh(mesh);
  if (!parsed)
    return parsed.takeError();
  shape = std::move(*parsed);
  auto resolved = resolveStrategy(strategy, shape);
  if (!resolved)
    return resolved.takeError();
  sharding = std::move(*resolved);
  ranks = shape.ranks();
  shards = sharding.parameterShards(shape);
  optimizerShards = sharding.optimizerShards(shape);
  auto option = ReshardOption::parse("--reshard-after-forward", reshard);
  if (!option)
    return option.takeError();
  reshardAll = *option;
  auto stay = parseStays("--reshard-after-backward", afterBackward);
  if (!stay)
    return stay.takeError();
  allStay = *stay;
  if (allStay)
    if (llvm::Error error = ReshardOption{ReshardOption::Never, 0}.check(
            "--reshard-after-backward", sharding, shape))
      return error;
  if (align < 1)
    return llvm::createStringError("align expects 1 or more elements, got %lld",
                                   static_cast<long long>(align));
  if (llvm::Error error =
          reshardAll.check("--reshard-after-forward", sharding, shape))
    return error;
  for (const std::string &text : unitOptions) {
    auto unitOption = UnitOption::parse(text);
    if (!unitOption)
      return unitOption.takeError();
    if (unitOption->reshard)
      if (llvm::Error error = unitOption->reshard->check(
              "--unit-option " + text + ": reshard", sharding, shape))
        return error;
    if (unitOption->stays.value_or(false))
      if (llvm::Error error = ReshardOption{ReshardOption::Never, 0}.check(
              "--unit-option " + text + ": after-backward", sharding, shape))
        return error;
    options.push_back(std::move(*unitOption));
  }
  return llvm::Error::success();
}

void FSDPFormUnits::readGradients(func::FuncOp train) {
  for (unsigned index = 0; index < train.getNumResults(); ++index)
    if (auto name = train.getResultAttrOfType<FlatSymbolRefAttr>(
            index, nn::gradientOfAttr))
      gradientType[name.getAttr()] =
          getElementTypeOrSelf(train.getResultTypes()[index]);
}

void FSDPFormUnits::readStacks(func::FuncOp function) {
  llvm::DenseSet<StringAttr> seen;
  function.walk([&](nn::StackedLinearOp op) {
    for (OperandRange operands : {op.getWeights(), op.getBiases()}) {
      SmallVector<StringAttr> names;
      for (Value operand : operands)
        if (auto get = operand.getDefiningOp<nn::GetParameterOp>())
          names.push_back(get.getParameterAttr().getAttr());
      if (names.size() == operands.size() && names.size() > 1 &&
          llvm::all_of(
              names, [&](StringAttr name) { return seen.insert(name).second; }))
        stacked.push_back(std::move(names));
    }
  });
}

SmallVector<nn::ParameterOp>
FSDPFormUnits::unitParameters(func::FuncOp function, SymbolTable &symbols,
                              bool differentiated) {
  SmallVector<nn::ParameterOp> parameters;
  for (StringAttr name : ParameterUses(function).byFirstUse()) {
    auto parameter = symbols.lookup<nn::ParameterOp>(name);
    if (parameter && (parameter.getFrozen() ||
                      (parameter.getTrainable() &&
                       (!differentiated || gradientType.contains(name)))))
      parameters.push_back(parameter);
  }
  return parameters;
}

SmallVector<ParameterGroup>
FSDPFormUnits::groupsOf(ArrayRef<nn::ParameterOp> parameters) {
  llvm::MapVector<StringRef, ParameterGroup> byName;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    nn::ParameterOp op = parameter;
    auto unit = op->getAttrOfType<StringAttr>(nn::parameterUnitAttr);
    byName[unit ? unit.getValue() : "root"].members.push_back(index);
  }
  ModuleOp module = getOperation();
  if (auto reasons = module->getAttrOfType<ArrayAttr>(fsdp::unitReasonsAttr))
    for (auto pair : reasons.getAsRange<ArrayAttr>())
      if (auto found = byName.find(cast<StringAttr>(pair[0]).getValue());
          found != byName.end())
        found->second.reason = cast<StringAttr>(pair[1]).str();
  SmallVector<ParameterGroup> result;
  for (auto &[name, group] : byName) {
    group.name = name.str();
    result.push_back(std::move(group));
  }
  module->removeAttr(fsdp::unitReasonsAttr);
  for (auto parameter : module.getOps<nn::ParameterOp>())
    parameter->removeAttr(nn::parameterUnitAttr);
  return result;
}

SmallVector<Part> FSDPFormUnits::partsOf(ArrayRef<ParameterGroup> groups,
                                         ArrayRef<nn::ParameterOp> parameters) {
  SmallVector<Part> parts;
  for (auto [index, group] : llvm::enumerate(groups)) {
    llvm::MapVector<unsigned, SmallVector<size_t>> members; // by: trained
    for (size_t member : group.members)
      members[!nn::ParameterOp(parameters[member]).getFrozen()].push_back(
          member);
    for (auto &[trained, own] : members)
      parts.push_back({index, group.name, trained != 0, members.size() == 1,
                       group.reason, std::move(own)});
  }
  return parts;
}

llvm::Error FSDPFormUnits::chooseReshards(ArrayRef<ParameterGroup> groups,
                                          SymbolTable &symbols,
                                          ArrayRef<nn::ParameterOp> parameters,
                                          MutableArrayRef<Part> parts) {
  SmallVector<bool> matched(options.size(), false);
  std::optional<size_t> last = lastUsed(groups, symbols, parameters);
  llvm::DenseMap<StringAttr, int64_t> usesInBackward;
  if (auto train = symbols.lookup<func::FuncOp>("train"),
      eval = symbols.lookup<func::FuncOp>("eval");
      train && eval)
    for (auto [function, sign] : {std::pair(train, 1), {eval, -1}}) {
      ParameterUses uses(function);
      for (const ParameterUses::Use &use : uses.uses())
        usesInBackward[use.parameter] += sign;
    }
  // What backward does not read need not wait for it, as the last layer of a
  // frozen reference model.
  auto waits = [&](const Part &part) {
    return usesInBackward.empty() ||
           llvm::any_of(part.members, [&](size_t member) {
             return usesInBackward.lookup(
                        nn::ParameterOp(parameters[member]).getSymNameAttr()) >
                    0;
           });
  };
  for (Part &part : parts) {
    std::optional<ReshardOption> own; // the first match wins
    std::optional<bool> stays;
    for (auto [number, candidate] : llvm::enumerate(options)) {
      // What is said for a block holds for what is frozen of it.
      llvm::Regex regex(translatePattern(candidate.match));
      if (!regex.match(part.groupName) && !regex.match(part.name()))
        continue;
      matched[number] = true;
      if (!own)
        own = candidate.reshard;
      if (!stays)
        stays = candidate.stays;
    }
    ReshardOption option = own.value_or(reshardAll);
    part.stays = stays.value_or(allStay);
    if (part.stays && (option.kind == ReshardOption::Always ||
                       option.kind == ReshardOption::Groups))
      return llvm::createStringError(
          "unit " + part.name() +
          ": what is not resharded after backward cannot be after forward; "
          "expects --reshard-after-forward never or default with "
          "--reshard-after-backward never, or --unit-option that says so");
    bool keeps = part.stays || sharding.keepsGathered ||
                 option.kind == ReshardOption::Never ||
                 (option.kind == ReshardOption::Default && part.group == last &&
                  waits(part));
    part.reshard = keeps                                  ? 1
                   : option.kind == ReshardOption::Groups ? option.group
                                                          : shards;
  }
  for (auto [option, found] : llvm::zip_equal(options, matched))
    if (!found && !parts.empty()) {
      std::string names = llvm::join(
          llvm::map_range(parts.take_front(16),
                          [](const Part &part) { return part.name(); }),
          ", ");
      return llvm::createStringError("--unit-option match=" + option.match +
                                     ": matches no unit; there are " + names +
                                     (parts.size() > 16 ? ", ..." : ""));
    }
  return llvm::Error::success();
}

std::optional<size_t>
FSDPFormUnits::lastUsed(ArrayRef<ParameterGroup> groups, SymbolTable &symbols,
                        ArrayRef<nn::ParameterOp> parameters) {
  // @eval is the forward pass alone.
  auto forward = symbols.lookup<func::FuncOp>("eval");
  if (!forward)
    forward = symbols.lookup<func::FuncOp>("model");
  if (!forward)
    return groups.empty() ? std::nullopt
                          : std::optional<size_t>(groups.size() - 1);
  llvm::DenseMap<StringAttr, size_t> groupOf;
  for (auto [index, group] : llvm::enumerate(groups))
    for (size_t member : group.members)
      groupOf[nn::ParameterOp(parameters[member]).getSymNameAttr()] = index;
  std::optional<size_t> last;
  ParameterUses uses(forward);
  for (const ParameterUses::Use &use : uses.uses())
    if (auto found = groupOf.find(use.parameter); found != groupOf.end())
      last = found->second;
  return last;
}

void FSDPFormUnits::createMesh(SymbolTable &symbols, ArrayRef<Part> parts) {
  ModuleOp module = getOperation();
  OpBuilder builder(&getContext());
  Location loc = module.getLoc();
  SmallVector<StringRef> names(shape.names.begin(), shape.names.end());
  Block::iterator place = module.getBody()->begin();
  // The symbol table renames what clashes with a parameter or function.
  symbols.insert(fsdp::MeshOp::create(builder, loc, "mesh", shape.dims,
                                      builder.getStrArrayAttr(names),
                                      sharding.parameters, sharding.optimizer,
                                      sharding.strategy),
                 place);
  llvm::SmallSet<std::pair<int64_t, int64_t>, 8> made;
  auto addGroup = [&](const Twine &name, int64_t stride, int64_t size) {
    if (size > 1 && made.insert({stride, size}).second)
      symbols.insert(
          fsdp::GroupOp::create(builder, loc, name.str(), stride, size), place);
  };
  addGroup("world", 1, ranks);
  int64_t stride = ranks;
  for (auto [name, size] : llvm::zip_equal(shape.names, shape.dims)) {
    stride /= size;
    addGroup(name, stride, size);
  }
  for (const Part &part : parts)
    if (part.reshard > 1 && part.reshard < shards)
      addGroup("reshard." + Twine(part.reshard), 1, part.reshard);
}

void FSDPFormUnits::createUnits(SymbolTable &symbols, const Part &part,
                                ArrayRef<nn::ParameterOp> parameters) {
  using Types = std::pair<Type, Type>; // parameters, gradients
  llvm::MapVector<Types, SmallVector<nn::ParameterOp>> byType;
  for (size_t member : part.members) {
    nn::ParameterOp parameter = parameters[member];
    Type type = tensorType(parameter).getElementType();
    Type gradient = gradientType.lookup(parameter.getSymNameAttr());
    byType[{type, gradient ? gradient : type}].push_back(parameter);
  }
  for (auto &[types, members] : byType) {
    fsdp::UnitOp unit =
        createUnit(symbols, part, members, types.first, types.second);
    // For fsdp-shard, which gathers them together.
    if (!part.isWhole || byType.size() > 1)
      unit->setAttr(fsdp::gatheredWithAttr,
                    StringAttr::get(&getContext(), part.groupName));
  }
}

Type FSDPFormUnits::masterType(Type elementType) {
  auto precision =
      getOperation()->getAttrOfType<DictionaryAttr>(nn::precisionAttr);
  auto type = precision ? precision.getAs<TypeAttr>("master") : TypeAttr();
  return type ? type.getValue() : elementType;
}

SmallVector<SmallVector<size_t>>
FSDPFormUnits::stacksOf(ArrayRef<nn::ParameterOp> members) const {
  llvm::DenseMap<StringAttr, size_t> indexOf;
  for (auto [index, parameter] : llvm::enumerate(members))
    indexOf[nn::ParameterOp(parameter).getSymNameAttr()] = index;
  llvm::DenseMap<size_t, SmallVector<size_t>> byFirst;
  llvm::DenseSet<size_t> inStack;
  for (const SmallVector<StringAttr> &names : stacked) {
    SmallVector<size_t> stack;
    for (StringAttr name : names)
      if (auto found = indexOf.find(name); found != indexOf.end())
        stack.push_back(found->second);
    if (stack.size() != names.size() ||
        llvm::any_of(ArrayRef(stack).drop_back(), [&](size_t index) {
          return tensorType(members[index]).getNumElements() % align != 0;
        }))
      continue;
    inStack.insert_range(stack);
    size_t first = *llvm::min_element(stack);
    byFirst[first] = std::move(stack);
  }
  SmallVector<SmallVector<size_t>> result;
  for (size_t index = 0; index < members.size(); ++index) {
    if (auto stack = byFirst.find(index); stack != byFirst.end())
      result.push_back(stack->second);
    else if (!inStack.contains(index))
      result.push_back({index});
  }
  return result;
}

fsdp::UnitOp FSDPFormUnits::createUnit(SymbolTable &symbols, const Part &part,
                                       ArrayRef<nn::ParameterOp> members,
                                       Type elementType, Type gradientType) {
  // A stack is one item, since all of its parameters have equally long rows.
  SmallVector<SmallVector<size_t>> stacks = stacksOf(members);
  SmallVector<FlatItem> items;
  for (ArrayRef<size_t> stack : stacks) {
    FlatItem &item = items.emplace_back();
    for (size_t index : stack) {
      nn::ParameterOp parameter = members[index];
      FlatItem own = FlatItem::of(tensorType(parameter).getShape());
      item = {item.elements + own.elements, own.row};
    }
  }
  bool hybrid = sharding.parameters == SmallVector<int64_t>{1} &&
                sharding.optimizer == sharding.parameters;
  FlatLayout layout = layOutFlat(items, hybrid ? shards : ranks, align);
  OpBuilder builder(&getContext());
  SmallVector<Attribute> names;
  SmallVector<Location> locations;
  SmallVector<int64_t> offsets;
  for (auto [item, offset] : llvm::zip_equal(layout.order, layout.offsets)) {
    int64_t place = offset;
    for (size_t index : stacks[item]) {
      nn::ParameterOp parameter = members[index];
      names.push_back(FlatSymbolRefAttr::get(parameter));
      locations.push_back(parameter.getLoc());
      offsets.push_back(place);
      place += tensorType(parameter).getNumElements();
    }
  }
  auto unit = fsdp::UnitOp::create(
      builder, builder.getFusedLoc(locations), part.name(),
      builder.getArrayAttr(names), offsets, layout.elements(), layout.padding,
      shards, part.trained ? optimizerShards : 0, part.reshard, elementType,
      part.trained ? masterType(elementType) : elementType, gradientType,
      part.reason, part.stays);
  symbols.insert(unit, beforeFunctions);
  return unit;
}

} // namespace shardc
