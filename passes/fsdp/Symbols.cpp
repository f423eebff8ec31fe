// What meshes and groups check of themselves, and units against their
// parameters.
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"
#include "passes/units/FlatLayout.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

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

bool UnitOp::splitsMaster() {
  auto precision =
      (*this)->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
          nn::precisionAttr);
  return precision && precision.contains("split_master") &&
         getElementType().isBF16() && getMasterType().isF32();
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
  if (getStays() && reshard != 1)
    return emitOpError("stays gathered over micro-batches: expects reshard 1, "
                       "got ")
           << reshard;
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
