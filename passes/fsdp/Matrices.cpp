// What the ops check that bring matrices to their owners and back.
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"
#include "passes/fsdp/Verification.h"
#include "runtime/device/Optimizers.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

LogicalResult MatrixDirectionOp::verify() {
  const Optimizer *optimizer = findOptimizer(getKind());
  if (!optimizer || !optimizer->takesMatrices())
    return emitOpError("expects kind ")
           << optimizerNames(
                  [](const Optimizer &other) { return other.takesMatrices(); })
           << ", got " << getKind();
  auto norm = dyn_cast<RankedTensorType>(getNorm().getType());
  if (norm.getRank() != 0 || !norm.getElementType().isF64())
    return emitOpError("expects the norm to be tensor<f64>, got ") << norm;
  return success();
}

LogicalResult
MatrixDirectionOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  if (!unit)
    return failure();
  if (!unit.isTrained())
    return emitOpError("updates ") << getUnitAttr() << ", which is frozen";
  int64_t slices = static_cast<int64_t>(unit.getOptimizerShards());
  if (failed(verifyFlat(*this, getGradient().getType(),
                        unit.getFlatGradientType(slices), "the gradient")))
    return failure();
  return verifyFlat(*this, getDirection().getType(), getDirectionType(unit),
                    "the direction");
}

RankedTensorType fsdp::getDirectionType(UnitOp unit) {
  Type master = unit.getMasterType();
  return RankedTensorType::get(
      {static_cast<int64_t>(unit.getElements() / unit.getOptimizerShards())},
      master.isF64() ? master : Float32Type::get(unit.getContext()));
}

int64_t fsdp::laterStateElements(UnitOp unit, StringRef kind,
                                 SymbolTable &symbols) {
  auto slices = static_cast<int64_t>(unit.getOptimizerShards());
  int64_t slice = static_cast<int64_t>(unit.getElements()) / slices;
  const Optimizer *optimizer = findOptimizer(kind);
  if (!optimizer || !optimizer->takesMatrices())
    return slice;
  std::vector<int64_t> ofSlice(slices);
  for (auto [name, begin] :
       llvm::zip(unit.getParameters().getAsRange<FlatSymbolRefAttr>(),
                 unit.getOffsets())) {
    auto parameter = symbols.lookup<nn::ParameterOp>(name.getValue());
    if (!parameter->hasAttr(nn::optimizerAttr))
      continue;
    int64_t end =
        begin + cast<RankedTensorType>(parameter.getType()).getNumElements();
    for (int64_t at = begin; at < end;) {
      int64_t next = std::min(end, (at / slice + 1) * slice);
      ofSlice[at / slice] += next - at;
      at = next;
    }
  }
  return *llvm::max_element(ofSlice);
}

/// What gather_matrices_start and scatter_matrices_start have in common.
template <typename Start>
static LogicalResult verifyLists(Start start, ValueRange slices) {
  size_t matrices = start.getOffsets().size();
  for (auto [name, list] : {std::pair("unit_of", start.getUnitOf()),
                            std::pair("owners", start.getOwners()),
                            std::pair("slots", start.getSlots())})
    if (list.size() != matrices)
      return start.emitOpError("expects as many ")
             << name << " as offsets, got " << list.size() << " and "
             << matrices;
  if (slices.size() != start.getUnits().size())
    return start.emitOpError("expects a slice for each of ")
           << start.getUnits().size() << " units, got " << slices.size();
  llvm::DenseSet<std::pair<int64_t, int64_t>> taken;
  for (auto [unit, owner, slot] :
       llvm::zip(start.getUnitOf(), start.getOwners(), start.getSlots())) {
    if (unit < 0 || unit >= static_cast<int64_t>(start.getUnits().size()))
      return start.emitOpError("has a matrix of unit ")
             << unit << " of " << start.getUnits().size();
    if (!taken.insert({owner, slot}).second)
      return start.emitOpError("brings two matrices to tensor ")
             << slot << " of rank " << owner;
  }
  return success();
}

template <typename Start>
static LogicalResult verifyUnits(Start start, ValueRange slices,
                                 SymbolTableCollection &symbolTable) {
  for (auto [name, slice] : llvm::zip(
           start.getUnits().template getAsRange<FlatSymbolRefAttr>(), slices)) {
    UnitOp unit = lookUp<UnitOp>(start, name, symbolTable);
    if (!unit)
      return failure();
    if (!unit.isTrained())
      return start.emitOpError("updates ") << name << ", which is frozen";
    if (failed(verifyFlat(start, slice.getType(), getDirectionType(unit),
                          "the direction")))
      return failure();
  }
  return success();
}

LogicalResult GatherMatricesStartOp::verify() {
  return verifyLists(*this, getSlices());
}
LogicalResult
GatherMatricesStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyUnits(*this, getSlices(), symbolTable);
}

LogicalResult GatherMatricesWaitOp::verify() {
  for (auto [index, type] : llvm::enumerate(getMatrices().getTypes()))
    if (cast<RankedTensorType>(type).getRank() != 2)
      return emitOpError("expects result ")
             << index << " to have two dims, got " << type;
  return verifyToken<GatherMatricesStartOp>(*this);
}

LogicalResult ScatterMatricesStartOp::verify() {
  if (failed(verifyLists(*this, getSlices())))
    return failure();
  for (int64_t slot : getSlots())
    if (slot < 0 || slot >= static_cast<int64_t>(getMatrices().size()))
      return emitOpError("takes tensor ")
             << slot << " of " << getMatrices().size();
  return success();
}
LogicalResult
ScatterMatricesStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyUnits(*this, getSlices(), symbolTable);
}

LogicalResult ScatterMatricesWaitOp::verify() {
  if (failed(verifyToken<ScatterMatricesStartOp>(*this)))
    return failure();
  auto start = getToken().getDefiningOp<ScatterMatricesStartOp>();
  if (getResultTypes() != start.getSlices().getTypes())
    return emitOpError(
        "expects one result per slice of its start, of the same types");
  return success();
}

/// All ranks' slices of all units.
template <typename Start>
static Communication exchange(Start start, StringRef kind,
                              SymbolTable &symbols) {
  Communication result(kind, PhaseKind::optimizer, "", "",
                       start.getSlices()[0].getType());
  result.bytes = 0;
  for (auto [name, slice] :
       llvm::zip(start.getUnits().template getAsRange<FlatSymbolRefAttr>(),
                 start.getSlices())) {
    auto unit = symbols.lookup<UnitOp>(name.getValue());
    result.bytes += nn::bytesOf(slice.getType()) *
                    static_cast<int64_t>(unit.getOptimizerShards());
  }
  return result;
}

Communication GatherMatricesStartOp::getCommunication(SymbolTable &symbols) {
  return exchange(*this, "gather_matrices", symbols);
}
Communication ScatterMatricesStartOp::getCommunication(SymbolTable &symbols) {
  return exchange(*this, "scatter_matrices", symbols);
}
