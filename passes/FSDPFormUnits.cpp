// fsdp-form-units: the mesh, and which parameters are gathered together and how
// their flat buffer is laid out.
#include "passes/Passes.h"
#include "passes/analysis/FlatLayout.h"
#include "passes/analysis/Mesh.h"
#include "passes/analysis/ParameterUses.h"
#include "passes/analysis/RepeatedBlocks.h"
#include "passes/analysis/UnitModel.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPFORMUNITS
#include "passes/Passes.h.inc"

namespace {

struct FSDPFormUnits : impl::FSDPFormUnitsBase<FSDPFormUnits> {
  using FSDPFormUnitsBase::FSDPFormUnitsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<SmallVector<int64_t>> dims = parseMesh(mesh);
    if (!dims)
      return fail(dims.takeError());
    if (llvm::Error error = checkStrategy(strategy))
      return fail(std::move(error));
    if (!module.getOps<fsdp::MeshOp>().empty()) {
      module.emitError(
          "expects a module without fsdp.mesh; units are formed once");
      return signalPassFailure();
    }

    int64_t ranks = 1;
    for (int64_t size : *dims)
      ranks *= size;
    bool sharded = strategy == "full" && ranks > 1;
    SmallVector<int64_t> shardDims;
    for (int64_t dim = 0; sharded && dim < static_cast<int64_t>(dims->size());
         ++dim)
      shardDims.push_back(dim);

    SymbolTable symbols(module);
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    // The symbol table renames what clashes with a parameter or function.
    symbols.insert(fsdp::MeshOp::create(builder, module.getLoc(), "mesh", *dims,
                                        shardDims, strategy),
                   module.getBody()->begin());

    SmallVector<nn::ParameterOp> parameters = trainedParameters(symbols);
    for (const ParameterGroup &group : groups(parameters)) {
      // A flat buffer has one element type.
      llvm::MapVector<Type, SmallVector<nn::ParameterOp>> byType;
      for (size_t member : group.members)
        byType[cast<RankedTensorType>(parameters[member].getType())
                   .getElementType()]
            .push_back(parameters[member]);
      for (auto &[elementType, members] : byType)
        createUnit(symbols, group, members, elementType, ranks,
                   sharded ? ranks : 1);
    }
  }

private:
  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  /// What a step updates: trainable parameters that have a gradient (all
  /// trainable ones before differentiation), by first use.
  SmallVector<nn::ParameterOp> trainedParameters(SymbolTable &symbols) {
    auto function = symbols.lookup<func::FuncOp>("train");
    llvm::DenseSet<StringAttr> withGradient;
    bool differentiated = static_cast<bool>(function);
    if (differentiated)
      for (unsigned index = 0; index < function.getNumResults(); ++index)
        if (auto name = function.getResultAttrOfType<FlatSymbolRefAttr>(
                index, "nn.gradient_of"))
          withGradient.insert(name.getAttr());
    if (!function)
      function = symbols.lookup<func::FuncOp>("model");
    SmallVector<nn::ParameterOp> parameters;
    if (!function)
      return parameters;
    for (StringAttr name : ParameterUses(function).byFirstUse()) {
      auto parameter = symbols.lookup<nn::ParameterOp>(name);
      if (parameter && parameter.getTrainable() &&
          (!differentiated || withGradient.contains(name)))
        parameters.push_back(parameter);
    }
    return parameters;
  }

  /// What fsdp-assign-units decided, whose attributes end here; without it, one
  /// group per repeated block.
  SmallVector<ParameterGroup> groups(ArrayRef<nn::ParameterOp> parameters) {
    llvm::MapVector<StringRef, ParameterGroup> byName;
    SmallVector<BlockParameter> described;
    for (auto [index, parameter] : llvm::enumerate(parameters)) {
      nn::ParameterOp op = parameter;
      described.push_back(
          {modulePath(op),
           llvm::to_vector(cast<RankedTensorType>(op.getType()).getShape())});
      if (auto unit = op->getAttrOfType<StringAttr>("fsdp.unit"))
        byName[unit.getValue()].members.push_back(index);
    }
    if (byName.empty())
      return groupByRepeatedBlock(described);
    ModuleOp module = getOperation();
    if (auto reasons = module->getAttrOfType<ArrayAttr>("fsdp.unit_reasons"))
      for (auto pair : reasons.getAsRange<ArrayAttr>())
        if (auto found = byName.find(cast<StringAttr>(pair[0]).getValue());
            found != byName.end())
          found->second.reason = cast<StringAttr>(pair[1]).str();
    SmallVector<ParameterGroup> result;
    for (auto &[name, group] : byName) {
      group.name = name.str();
      result.push_back(std::move(group));
    }
    module->removeAttr("fsdp.unit_reasons");
    for (auto parameter : module.getOps<nn::ParameterOp>())
      parameter->removeAttr("fsdp.unit");
    return result;
  }

  /// Creates the fsdp.unit before the first function. The layout is that of
  /// `slices` shards even where each rank holds all, so that every strategy
  /// adds the same numbers in the same order.
  void createUnit(SymbolTable &symbols, const ParameterGroup &group,
                  ArrayRef<nn::ParameterOp> members, Type elementType,
                  int64_t slices, int64_t shards) {
    SmallVector<FlatItem> items;
    for (nn::ParameterOp parameter : members)
      items.push_back(
          FlatItem::of(cast<RankedTensorType>(parameter.getType()).getShape()));
    FlatLayout layout = layOutFlat(items, slices);
    OpBuilder builder(&getContext());
    SmallVector<Attribute> names;
    SmallVector<Location> locations;
    for (int64_t index : layout.order) {
      names.push_back(FlatSymbolRefAttr::get(members[index]));
      locations.push_back(nn::ParameterOp(members[index]).getLoc());
    }
    auto unit = fsdp::UnitOp::create(
        builder, builder.getFusedLoc(locations), group.name,
        builder.getArrayAttr(names), layout.offsets, layout.elements(),
        layout.padding, shards, elementType, group.reason);
    Block *body = getOperation().getBody();
    auto functions = body->getOps<func::FuncOp>();
    symbols.insert(unit, functions.empty()
                             ? body->end()
                             : Block::iterator(*functions.begin()));
  }
};

} // namespace
} // namespace shardc
