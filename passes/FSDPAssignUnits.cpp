// fsdp-assign-units: which parameters are gathered together. The decision is
// made in analysis/; here stand what it is made from, and where it goes.
#include "passes/Passes.h"
#include "passes/options/Mesh.h"
#include "passes/units/UnitPolicy.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPASSIGNUNITS
#include "passes/Passes.h.inc"

namespace {

struct FSDPAssignUnits : impl::FSDPAssignUnitsBase<FSDPAssignUnits> {
  using FSDPAssignUnitsBase::FSDPAssignUnitsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<UnitsOption> option = UnitsOption::parse(units);
    if (!option)
      return fail(option.takeError());
    llvm::Expected<Cluster> machine = Cluster::load(cluster);
    if (!machine)
      return fail(machine.takeError());
    llvm::Expected<MeshShape> shape = parseMesh(mesh);
    if (!shape)
      return fail(shape.takeError());
    llvm::Expected<Sharding> sharding = resolveStrategy(strategy, *shape);
    if (!sharding)
      return fail(sharding.takeError());
    if (elementBytes != 2 && elementBytes != 4 && elementBytes != 8)
      return fail(
          llvm::createStringError("element-bytes: expects 2, 4 or 8, got " +
                                  Twine(elementBytes.getValue())));
    auto function = module.lookupSymbol<func::FuncOp>("model");
    if (!function)
      return fail(llvm::createStringError("expects a function @model"));

    UnitCosts costs{CostModel(std::move(*machine)),
                    gatheringRanks(*sharding, *shape), elementBytes,
                    sharding->parameters.empty(), !sharding->optimizer.empty()};
    UnitModel model = UnitModel::of(function);
    auto assigned = assignUnits(model, *option, costs);
    if (!assigned)
      return fail(assigned.takeError());

    Builder builder(&getContext());
    SmallVector<Attribute> reasons;
    for (const AssignedUnit &unit : *assigned) {
      for (size_t member : unit.members)
        model.symbols[member]->setAttr(nn::parameterUnitAttr,
                                       builder.getStringAttr(unit.name));
      reasons.push_back(builder.getStrArrayAttr({unit.name, unit.reason}));
      if (auto note = remark::passed(
              module.getLoc(),
              remark::RemarkOpts::name("unit").category("fsdp-assign-units")))
        note << llvm::formatv("unit {0} ({1}{2}): {3}", unit.name,
                              model.symbols[unit.members.front()].getSymName(),
                              unit.members.size() == 1
                                  ? ""
                                  : llvm::formatv(" and {0} more",
                                                  unit.members.size() - 1)
                                        .str(),
                              unit.reason)
                    .str();
    }
    module->setAttr(fsdp::unitReasonsAttr, builder.getArrayAttr(reasons));
    module->removeAttr(nn::scopeClassesAttr);
  }

private:
  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  /// The ranks that hold a unit's slices. Where parameters are not sliced, the
  /// ranks that sum gradients.
  static RankGroup gatheringRanks(const Sharding &sharding,
                                  const MeshShape &shape) {
    return {1, sharding.parameters.empty() ? shape.ranks()
                                           : sharding.parameterShards(shape)};
  }
};

} // namespace
} // namespace shardc
