// fsdp-form-units: the mesh, and which parameters are gathered together and how
// their flat buffer is laid out.
#include "passes/Passes.h"
#include "passes/analysis/FlatLayout.h"
#include "passes/analysis/Mesh.h"
#include "passes/analysis/ParameterUses.h"
#include "passes/analysis/RepeatedBlocks.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPFORMUNITS
#include "passes/Passes.h.inc"

namespace {

/// A name with its module path: the scope tells it where the name does not.
std::string modulePath(nn::ParameterOp parameter) {
  StringRef name = parameter.getSymName();
  std::optional<StringRef> scope = parameter.getScope();
  if (!scope || scope->empty() || name.contains('.'))
    return name.str();
  return (*scope + "." + name).str();
}

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
    SmallVector<BlockParameter> described;
    for (nn::ParameterOp parameter : parameters)
      described.push_back(
          {modulePath(parameter),
           llvm::to_vector(
               cast<RankedTensorType>(parameter.getType()).getShape())});
    for (const ParameterGroup &group : groupByRepeatedBlock(described)) {
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
