// What each fsdp op checks of itself: units against their parameters, steps
// against their unit, waits against their start. What holds between ops (one
// wait per start, no use after release) is the pass fsdp-verify's.
#include "frontend/nn/NN.h"
#include "passes/analysis/FlatLayout.h"
#include "passes/fsdp/FSDP.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

int64_t MeshOp::getRanks() {
  int64_t ranks = 1;
  for (int64_t size : getDims())
    ranks *= size;
  return ranks;
}

int64_t MeshOp::getShards() {
  int64_t shards = 1;
  for (int64_t dim : getShardDims())
    shards *= getDims()[dim];
  return shards;
}

LogicalResult MeshOp::verify() {
  if (getDims().empty())
    return emitOpError("expects at least one dimension");
  int64_t ranks = 1;
  for (int64_t size : getDims()) {
    if (size < 1)
      return emitOpError("expects dimensions of at least 1, got ") << size;
    if (llvm::MulOverflow(ranks, size, ranks))
      return emitOpError("has more ranks than 64 bits can count");
  }
  int64_t last = -1;
  for (int64_t dim : getShardDims()) {
    if (dim <= last || dim >= static_cast<int64_t>(getDims().size()))
      return emitOpError("expects shard_dims to ascend within [0, ")
             << getDims().size() << "), got " << dim;
    last = dim;
  }
  if (getStrategy() != "full" && getStrategy() != "none")
    return emitOpError("expects strategy full or none, got ") << getStrategy();
  return success();
}

//===----------------------------------------------------------------------===//
// Unit
//===----------------------------------------------------------------------===//

RankedTensorType UnitOp::getFlatType() {
  return RankedTensorType::get({static_cast<int64_t>(getElements())},
                               getElementType());
}

RankedTensorType UnitOp::getShardType() {
  return RankedTensorType::get(
      {static_cast<int64_t>(getElements() / getShards())}, getElementType());
}

SmallVector<Type>
UnitOp::getParameterTypes(SymbolTableCollection &symbolTable) {
  SmallVector<Type> types;
  for (auto name : getParameters().getAsRange<FlatSymbolRefAttr>()) {
    auto parameter =
        symbolTable.lookupNearestSymbolFrom<nn::ParameterOp>(*this, name);
    // A unit that names no parameter is reported at the unit.
    auto type =
        parameter ? dyn_cast<RankedTensorType>(parameter.getType()) : nullptr;
    types.push_back(type ? type.clone(getElementType()) : Type());
  }
  return types;
}

LogicalResult UnitOp::verify() {
  int64_t elements = getElements(), shards = getShards();
  if (!isa<FloatType>(getElementType()))
    return emitOpError("expects a float element type, got ")
           << getElementType();
  if (shards < 1)
    return emitOpError("expects at least 1 shard, got ") << shards;
  if (elements < 1 || elements % shards != 0)
    return emitOpError("expects elements to be a positive multiple of its ")
           << shards << " shards, got " << elements;
  if (getOffsets().size() != getParameters().size())
    return emitOpError("expects one offset per parameter: ")
           << getParameters().size() << " parameters, " << getOffsets().size()
           << " offsets";
  return success();
}

LogicalResult UnitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  int64_t elements = getElements(), slice = elements / getShards();
  int64_t end = 0, used = 0;
  llvm::SmallPtrSet<Operation *, 16> seen;
  for (auto [name, offset] : llvm::zip(
           getParameters().getAsRange<FlatSymbolRefAttr>(), getOffsets())) {
    auto parameter =
        symbolTable.lookupNearestSymbolFrom<nn::ParameterOp>(*this, name);
    if (!parameter)
      return emitOpError("refers to ") << name << ", which is no nn.parameter";
    auto type = dyn_cast<RankedTensorType>(parameter.getType());
    if (!type || !type.hasStaticShape())
      return emitOpError("expects ")
             << name << " to have a static shape, got " << parameter.getType();
    if (!seen.insert(parameter).second)
      return emitOpError("lists ") << name << " twice";
    if (offset < end)
      return emitOpError("expects ")
             << name << " to begin at " << end
             << " or later, where the parameter before it ends, got " << offset;
    FlatItem item = FlatItem::of(type.getShape());
    end = offset + item.elements;
    used += item.elements;
    if (end > elements)
      return emitOpError("expects ") << name << " to end within " << elements
                                     << " elements, got " << end;
    if (cutsRow(offset, item, slice))
      return emitOpError("cuts a row of ")
             << name << ": it begins at " << offset << " with rows of "
             << item.row << " elements, slices have " << slice;
  }
  if (elements - used != static_cast<int64_t>(getPadding()))
    return emitOpError("expects padding ")
           << elements - used << ", got " << getPadding();
  return success();
}

//===----------------------------------------------------------------------===//
// Steps of a unit
//===----------------------------------------------------------------------===//

namespace {

UnitOp lookUpUnit(Operation *op, FlatSymbolRefAttr name,
                  SymbolTableCollection &symbolTable) {
  auto unit = symbolTable.lookupNearestSymbolFrom<UnitOp>(op, name);
  if (!unit)
    op->emitOpError("refers to ") << name << ", which is no fsdp.unit";
  return unit;
}

/// One tensor per parameter of the unit, in the unit's order.
LogicalResult verifyPerParameter(Operation *op, FlatSymbolRefAttr name,
                                 TypeRange types, StringRef what,
                                 SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUpUnit(op, name, symbolTable);
  if (!unit)
    return failure();
  if (types.size() != unit.getParameters().size()) {
    InFlightDiagnostic error = op->emitOpError("expects ")
                               << unit.getParameters().size()
                               << " tensors, one per parameter of " << name
                               << ", got " << types.size();
    error.attachNote(unit.getLoc()) << "the unit is here";
    return error;
  }
  for (auto [index, type, expected] :
       llvm::enumerate(types, unit.getParameterTypes(symbolTable)))
    if (type != expected)
      return op->emitOpError("expects ")
             << what << " " << index << " (of " << unit.getParameters()[index]
             << ") to be " << expected << ", got " << type;
  return success();
}

LogicalResult verifyFlat(Operation *op, Type type, RankedTensorType expected,
                         StringRef what) {
  if (type != expected)
    return op->emitOpError("expects ")
           << what << " to be " << expected << ", got " << type;
  return success();
}

/// A wait's token comes from its own kind of start.
template <typename Start> LogicalResult verifyToken(Operation *wait) {
  if (!wait->getOperand(0).getDefiningOp<Start>())
    return wait->emitOpError("expects the token of ")
           << Start::getOperationName();
  return success();
}

bool isScalar(Type type, std::optional<unsigned> width = std::nullopt) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 0)
    return false;
  auto element = dyn_cast<FloatType>(tensor.getElementType());
  return element && (!width || element.getWidth() == *width);
}

} // namespace

LogicalResult ResidentOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getResultTypes(),
                                "result", symbolTable)))
    return failure();
  if (UnitOp unit = lookUpUnit(*this, getUnitAttr(), symbolTable);
      unit.getShards() != 1)
    return emitOpError("expects a unit of 1 shard, got ")
           << unit.getShards() << "; gather it";
  return success();
}

LogicalResult
AllGatherStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success(
      static_cast<bool>(lookUpUnit(*this, getUnitAttr(), symbolTable)));
}

LogicalResult AllGatherWaitOp::verify() {
  return verifyToken<AllGatherStartOp>(*this);
}
LogicalResult
AllGatherWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<AllGatherStartOp>();
  if (!start) // reported by verify()
    return failure();
  return verifyPerParameter(*this, start.getUnitAttr(), getResultTypes(),
                            "result", symbolTable);
}

LogicalResult ReleaseOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyPerParameter(*this, getUnitAttr(), getOperandTypes(), "operand",
                            symbolTable);
}

LogicalResult
ReduceScatterStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyPerParameter(*this, getUnitAttr(), getOperandTypes(), "gradient",
                            symbolTable);
}

LogicalResult ReduceScatterWaitOp::verify() {
  return verifyToken<ReduceScatterStartOp>(*this);
}
LogicalResult
ReduceScatterWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<ReduceScatterStartOp>();
  UnitOp unit =
      start ? lookUpUnit(*this, start.getUnitAttr(), symbolTable) : UnitOp();
  return unit ? verifyFlat(*this, getShard().getType(), unit.getShardType(),
                           "the shard")
              : failure();
}

LogicalResult AllReduceGradientsStartOp::verifySymbolUses(
    SymbolTableCollection &symbolTable) {
  return verifyPerParameter(*this, getUnitAttr(), getOperandTypes(), "gradient",
                            symbolTable);
}

LogicalResult AllReduceGradientsWaitOp::verify() {
  return verifyToken<AllReduceGradientsStartOp>(*this);
}
LogicalResult
AllReduceGradientsWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<AllReduceGradientsStartOp>();
  UnitOp unit =
      start ? lookUpUnit(*this, start.getUnitAttr(), symbolTable) : UnitOp();
  return unit ? verifyFlat(*this, getFlat().getType(), unit.getFlatType(),
                           "the flat gradient")
              : failure();
}

LogicalResult
FlatGradientsOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getOperandTypes(),
                                "gradient", symbolTable)))
    return failure();
  UnitOp unit = lookUpUnit(*this, getUnitAttr(), symbolTable);
  return verifyFlat(*this, getFlat().getType(), unit.getFlatType(),
                    "the flat gradient");
}

//===----------------------------------------------------------------------===//
// The end of a step
//===----------------------------------------------------------------------===//

LogicalResult SquaredNormOp::verify() {
  if (!isScalar(getPartial().getType(), 64))
    return emitOpError("expects the result to be tensor<f64>, got ")
           << getPartial().getType();
  int64_t slices = getSlices();
  if (slices < 1)
    return emitOpError("expects at least 1 slice, got ") << slices;
  for (auto [index, type] : llvm::enumerate(getGradients().getTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() != 1 || tensor.getNumElements() % slices != 0)
      return emitOpError("expects operand ")
             << index << " to be one-dimensional and a multiple of " << slices
             << " slices, got " << type;
  }
  return success();
}

LogicalResult AllReduceStartOp::verify() {
  for (Type type : getValues().getTypes())
    if (cast<RankedTensorType>(type).getElementType() !=
        cast<RankedTensorType>(getValues().getTypes()[0]).getElementType())
      return emitOpError("expects values of one element type, got ")
             << getValues().getTypes()[0] << " and " << type;
  return success();
}

LogicalResult AllReduceWaitOp::verify() {
  if (failed(verifyToken<AllReduceStartOp>(*this)))
    return failure();
  auto start = getToken().getDefiningOp<AllReduceStartOp>();
  if (getResultTypes() != start.getValues().getTypes())
    return emitOpError(
        "expects one sum per value of its start, of the same types");
  return success();
}

LogicalResult ReportOp::verify() {
  if (!isScalar(getValue().getType()))
    return emitOpError("expects a float tensor of no dims, got ")
           << getValue().getType();
  return success();
}

LogicalResult OptimizerStepOp::verify() {
  if (!isScalar(getSquaredNorm().getType(), 64))
    return emitOpError("expects the squared norm to be tensor<f64>, got ")
           << getSquaredNorm().getType();
  if (getKind() != "adamw" && getKind() != "adam" && getKind() != "sgd")
    return emitOpError("expects kind adamw, adam or sgd, got ") << getKind();
  return success();
}

LogicalResult
OptimizerStepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUpUnit(*this, getUnitAttr(), symbolTable);
  return unit ? verifyFlat(*this, getGradient().getType(), unit.getShardType(),
                           "the gradient")
              : failure();
}
