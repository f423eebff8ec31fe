// What each fsdp op checks of itself: units against their parameters, steps
// against their unit, waits against their start. What holds between ops (one
// wait per start, no use after release) is the pass fsdp-verify's.
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"
#include "passes/units/FlatLayout.h"
#include "runtime/device/Optimizers.h"

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

static int64_t productOf(ArrayRef<int64_t> dims, ArrayRef<int64_t> over) {
  int64_t product = 1;
  for (int64_t dim : over)
    product *= dims[dim];
  return product;
}
int64_t MeshOp::getShards() { return productOf(getDims(), getShardDims()); }
int64_t MeshOp::getOptimizerShards() {
  return productOf(getDims(), getOptimizerDims());
}

LogicalResult MeshOp::verify() {
  int64_t count = getDims().size();
  if (count == 0)
    return emitOpError("expects at least one dimension");
  if (static_cast<int64_t>(getNames().size()) != count)
    return emitOpError("expects one name per dimension: ")
           << count << " dimensions, " << getNames().size() << " names";
  int64_t ranks = 1;
  for (int64_t size : getDims()) {
    if (size < 1)
      return emitOpError("expects dimensions of at least 1, got ") << size;
    if (llvm::MulOverflow(ranks, size, ranks))
      return emitOpError("has more ranks than 64 bits can count");
  }
  auto verifyDims = [&](ArrayRef<int64_t> list,
                        StringRef name) -> LogicalResult {
    for (auto [index, dim] : llvm::enumerate(list))
      if (dim < 0 || dim >= count ||
          llvm::is_contained(list.take_front(index), dim))
        return emitOpError("expects ")
               << name << " to be different dimensions within [0, " << count
               << "), got " << dim;
    return success();
  };
  if (failed(verifyDims(getShardDims(), "shard_dims")) ||
      failed(verifyDims(getOptimizerDims(), "optimizer_dims")))
    return failure();
  if (!getOptimizerDims()
           .take_front(getShardDims().size())
           .equals(getShardDims()))
    return emitOpError("expects optimizer_dims to begin with shard_dims: an "
                       "optimizer slice lies inside the parameters' slice");
  return success();
}

LogicalResult GroupOp::verify() {
  if (static_cast<int64_t>(getSize()) < 2 ||
      static_cast<int64_t>(getStride()) < 1)
    return emitOpError(
               "expects at least 2 ranks at a stride of 1 or more, got ")
           << getSize() << " at " << getStride();
  return success();
}

//===----------------------------------------------------------------------===//
// Unit
//===----------------------------------------------------------------------===//

RankedTensorType UnitOp::getFlatType(int64_t slices) {
  return RankedTensorType::get({static_cast<int64_t>(getElements()) / slices},
                               getElementType());
}

RankedTensorType UnitOp::getFlatGradientType(int64_t slices) {
  return RankedTensorType::get({static_cast<int64_t>(getElements()) / slices},
                               getGradientType());
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
  int64_t optimizerShards = getOptimizerShards(), reshard = getReshard();
  for (Type type : {getElementType(), getMasterType(), getGradientType()})
    if (!isa<FloatType>(type))
      return emitOpError("expects float types, got ") << type;
  if (shards < 1)
    return emitOpError("expects at least 1 shard, got ") << shards;
  if (optimizerShards < 0 || optimizerShards % shards != 0)
    return emitOpError("expects optimizer_shards to be 0 or a multiple of its ")
           << shards << " shards, got " << optimizerShards;
  int64_t slices = std::max(shards, optimizerShards);
  if (elements < 1 || elements % slices != 0)
    return emitOpError("expects elements to be a positive multiple of its ")
           << slices << " shards, got " << elements;
  if (reshard < 1 || shards % reshard != 0)
    return emitOpError("expects reshard to divide its ")
           << shards << " shards, got " << reshard;
  if (getOffsets().size() != getParameters().size())
    return emitOpError("expects one offset per parameter: ")
           << getParameters().size() << " parameters, " << getOffsets().size()
           << " offsets";
  return success();
}

LogicalResult UnitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  int64_t elements = getElements();
  int64_t slice = elements / std::max(getShards(), getOptimizerShards());
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

/// The symbol of that kind that an op names, or null after an error.
template <typename Symbol>
Symbol lookUp(Operation *op, FlatSymbolRefAttr name,
              SymbolTableCollection &symbolTable) {
  auto symbol = symbolTable.lookupNearestSymbolFrom<Symbol>(op, name);
  if (!symbol)
    op->emitOpError("refers to ")
        << name << ", which is no " << Symbol::getOperationName();
  return symbol;
}

/// One tensor per parameter of the unit, in the unit's order.
/// `gradients`: of the unit's gradient type, not that of its parameters.
LogicalResult verifyPerParameter(Operation *op, FlatSymbolRefAttr name,
                                 TypeRange types, StringRef what,
                                 SymbolTableCollection &symbolTable,
                                 bool gradients = false) {
  UnitOp unit = lookUp<UnitOp>(op, name, symbolTable);
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
       llvm::enumerate(types, unit.getParameterTypes(symbolTable))) {
    if (gradients && expected)
      expected = cast<RankedTensorType>(expected).clone(unit.getGradientType());
    if (type != expected)
      return op->emitOpError("expects ")
             << what << " " << index << " (of " << unit.getParameters()[index]
             << ") to be " << expected << ", got " << type;
  }
  return success();
}

/// A flat tensor that is an equal slice of the unit (or all of it), of one of
/// its types.
LogicalResult verifySlice(Operation *op, Type type, UnitOp unit,
                          Type elementType, StringRef what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t elements = unit.getElements();
  if (tensor && tensor.getRank() == 1 && tensor.getNumElements() > 0 &&
      elements % tensor.getNumElements() == 0 &&
      tensor.getElementType() == elementType)
    return success();
  return op->emitOpError("expects ")
         << what << " to be a slice of " << elements << " x " << elementType
         << ", got " << type;
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
  if (UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
      unit.getShards() != 1)
    return emitOpError("expects a unit of 1 shard, got ")
           << unit.getShards() << "; gather it";
  return success();
}

LogicalResult
AllGatherStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  GroupOp group = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable);
  if (!unit || !group)
    return failure();
  int64_t size = group.getSize();
  if (getKept())
    return verifyFlat(*this, getKept().getType(), unit.getFlatType(size),
                      "what was kept");
  if (size != static_cast<int64_t>(unit.getShards()))
    return emitOpError("expects a group of ")
           << unit.getShards() << " ranks, one per shard of " << getUnitAttr()
           << ", got " << size;
  return success();
}

LogicalResult KeepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getOperandTypes(),
                                "operand", symbolTable)))
    return failure();
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  GroupOp group = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable);
  if (!group)
    return failure();
  return verifyFlat(*this, getKept().getType(),
                    unit.getFlatType(static_cast<int64_t>(group.getSize())),
                    "what is kept");
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

namespace {
template <typename Start>
LogicalResult verifyReduction(Start start, SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(start, start.getUnitAttr(), symbolTable);
  if (!unit || !lookUp<GroupOp>(start, start.getGroupAttr(), symbolTable))
    return failure();
  return verifySlice(start, start.getFlat().getType(), unit,
                     unit.getGradientType(), "the flat gradient");
}
} // namespace

LogicalResult
ReduceScatterStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyReduction(*this, symbolTable)))
    return failure();
  int64_t elements =
      cast<RankedTensorType>(getFlat().getType()).getNumElements();
  int64_t size = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable).getSize();
  if (elements % size != 0)
    return emitOpError("expects a multiple of the group's ")
           << size << " ranks, got " << elements << " elements";
  return success();
}

LogicalResult ReduceScatterWaitOp::verify() {
  return verifyToken<ReduceScatterStartOp>(*this);
}
LogicalResult
ReduceScatterWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<ReduceScatterStartOp>();
  if (!start) // reported by verify()
    return failure();
  GroupOp group = lookUp<GroupOp>(*this, start.getGroupAttr(), symbolTable);
  auto flat = cast<RankedTensorType>(start.getFlat().getType());
  if (!group)
    return failure();
  return verifyFlat(
      *this, getShard().getType(),
      RankedTensorType::get(
          {flat.getNumElements() / static_cast<int64_t>(group.getSize())},
          flat.getElementType()),
      "the shard");
}

LogicalResult AllReduceGradientsStartOp::verifySymbolUses(
    SymbolTableCollection &symbolTable) {
  return verifyReduction(*this, symbolTable);
}

LogicalResult AllReduceGradientsWaitOp::verify() {
  return verifyToken<AllReduceGradientsStartOp>(*this);
}
LogicalResult
AllReduceGradientsWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto start = getToken().getDefiningOp<AllReduceGradientsStartOp>();
  if (!start) // reported by verify()
    return failure();
  return verifyFlat(*this, getFlat().getType(),
                    cast<RankedTensorType>(start.getFlat().getType()),
                    "the sum");
}

LogicalResult
FlatGradientsOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyPerParameter(*this, getUnitAttr(), getOperandTypes(),
                                "gradient", symbolTable, /*gradients=*/true)))
    return failure();
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  return verifyFlat(*this, getFlat().getType(), unit.getFlatGradientType(),
                    "the flat gradient");
}

LogicalResult
AllGatherUpdatesStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  GroupOp group = lookUp<GroupOp>(*this, getGroupAttr(), symbolTable);
  if (!unit || !group)
    return failure();
  if (group.getSize() * unit.getShards() != unit.getOptimizerShards())
    return emitOpError("expects a group that makes ")
           << unit.getOptimizerShards() << " optimizer slices into "
           << unit.getShards() << " of parameters, got " << group.getSize()
           << " ranks";
  return success();
}

LogicalResult AllGatherUpdatesWaitOp::verify() {
  return verifyToken<AllGatherUpdatesStartOp>(*this);
}
LogicalResult
AllGatherUpdatesWaitOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success(); // the start says it all
}

//===----------------------------------------------------------------------===//
// The end of a step
//===----------------------------------------------------------------------===//

LogicalResult GradientNormOp::verify() {
  if (!isScalar(getPartial().getType(), 64))
    return emitOpError("expects the result to be tensor<f64>, got ")
           << getPartial().getType();
  int64_t slices = 1;
  for (int64_t level : getSlices()) {
    if (level < 1)
      return emitOpError("expects at least 1 slice, got ") << level;
    slices *= level;
  }
  for (auto [index, type] : llvm::enumerate(getGradients().getTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() != 1 || tensor.getNumElements() % slices != 0)
      return emitOpError("expects operand ")
             << index << " to be one-dimensional and a multiple of " << slices
             << " slices, got " << type;
  }
  return success();
}

LogicalResult
AllReduceStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success(
      static_cast<bool>(lookUp<GroupOp>(*this, getGroupAttr(), symbolTable)));
}

LogicalResult AllReduceStartOp::verify() {
  if (getNorms().size() != getValues().size())
    return emitOpError("expects to know of each of ")
           << getValues().size() << " values whether it is a norm, got "
           << getNorms().size();
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

LogicalResult MetricOp::verify() {
  if (!isScalar(getValue().getType()))
    return emitOpError("expects a float tensor of no dims, got ")
           << getValue().getType();
  return success();
}

LogicalResult OptimizerStepOp::verify() {
  if (!isScalar(getNorm().getType(), 64))
    return emitOpError("expects the norm to be tensor<f64>, got ")
           << getNorm().getType();
  if (!findOptimizer(getKind()))
    return emitOpError("expects kind ")
           << optimizerNames() << ", got " << getKind();
  return success();
}

LogicalResult
OptimizerStepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  if (!unit)
    return failure();
  if (!unit.isTrained())
    return emitOpError("updates ") << getUnitAttr() << ", which is frozen";
  return verifyFlat(
      *this, getGradient().getType(),
      unit.getFlatGradientType(static_cast<int64_t>(unit.getOptimizerShards())),
      "the gradient");
}
