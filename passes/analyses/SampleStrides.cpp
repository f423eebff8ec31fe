// Samples are digits of an element's row-major position: reshapes keep them,
// and so do ops that keep the dim that they lie in.
#include "passes/analyses/SampleStrides.h"

#include "frontend/nn/NN.h"

using namespace mlir;

namespace shardc {
namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int64_t elementsBehind(ArrayRef<int64_t> shape, size_t dim) {
  int64_t elements = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    elements *= size;
  return elements;
}

} // namespace

std::optional<SampleStrides::Place>
SampleStrides::placeOf(ArrayRef<int64_t> shape, int64_t stride) const {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t behind = elementsBehind(shape, dim);
    if (behind <= stride && stride % behind == 0 &&
        behind * shape[dim] % (stride * count) == 0)
      return Place{dim, stride / behind};
  }
  return std::nullopt;
}

/// In a value whose dim `dim` is the place's; lost where it is not as long.
SampleStrides::Found SampleStrides::at(Value value, size_t dim, Place place,
                                       int64_t size) const {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (dim >= shape.size() || shape[dim] != size)
    return {};
  return {elementsBehind(shape, dim) * place.inner, Place{dim, place.inner}};
}

SampleStrides::Found SampleStrides::moved(Operation &op, Value operand,
                                          Place place, Value result) const {
  const int64_t size = shapeOf(operand)[place.dim];
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    const auto *to = llvm::find(permutation, static_cast<int64_t>(place.dim));
    return at(result, to - permutation.begin(), place, size);
  }
  // Batches one behind the other.
  auto concat = dyn_cast<nn::ConcatOp>(op);
  if (concat && concat.getAxis() == place.dim &&
      shapeOf(result)[place.dim] % size == 0)
    return at(result, place.dim, place, shapeOf(result)[place.dim]);
  const size_t operandRank = shapeOf(operand).size(),
               resultRank = shapeOf(result).size();
  // Dims are kept from the left (rows of a table are put behind positions), or
  // aligned at the right where they are broadcast.
  if (Found kept = at(result, place.dim, place, size); kept.stride)
    return kept;
  return resultRank > operandRank
             ? at(result, place.dim + resultRank - operandRank, place, size)
             : Found();
}

SampleStrides::Found SampleStrides::outermost(Value value) const {
  return {elementsBehind(shapeOf(value), 0), Place{0, 1}};
}

SampleStrides::SampleStrides(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      nn::roleAttr);
    if (!role || (role != "input" && role != "labels"))
      continue;
    ArrayRef<int64_t> shape = shapeOf(argument);
    if (shape.empty() || shape[0] == 0)
      continue;
    if (count == 0)
      count = shape[0];
    if (shape[0] == count)
      places[argument] = outermost(argument);
  }
  if (count > 0)
    for (Operation &op : function.front())
      follow(op);
}

void SampleStrides::follow(Operation &op) {
  bool depends = false;
  if (auto drawing = dyn_cast<nn::Drawing>(op);
      drawing && drawing.samplesComeFirst()) {
    ArrayRef<int64_t> shape = shapeOf(op.getResult(0));
    if (!shape.empty() && shape[0] == count)
      places[op.getResult(0)] = outermost(op.getResult(0));
  }
  for (Value result : op.getResults()) {
    Found found;
    for (Value operand : op.getOperands()) {
      auto known = places.find(operand);
      if (known == places.end())
        continue;
      depends = true;
      const auto [stride, place] = known->second;
      if (stride == 0)
        continue;
      if (isa<nn::ReshapeOp>(op))
        found = {stride, placeOf(shapeOf(result), stride)};
      else if (place)
        found = moved(op, operand, *place, result);
      if (found.stride)
        break;
    }
    if (depends)
      places[result] = found;
  }
}

std::optional<size_t> SampleStrides::dimOf(Value value) const {
  std::optional<Place> place = places.lookup(value).place;
  return place ? std::optional(place->dim) : std::nullopt;
}

int64_t SampleStrides::strideOf(Value value) const {
  auto known = places.find(value);
  if (known == places.end())
    return 0;
  if (known->second.stride)
    return known->second.stride;
  const int64_t elements =
      cast<RankedTensorType>(value.getType()).getNumElements();
  return elements % count == 0 ? elements / count : 0;
}

} // namespace shardc
