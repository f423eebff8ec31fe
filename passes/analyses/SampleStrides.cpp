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

/// A dim that has all samples, and how many of its positions one of them takes
/// before the next begins.
struct Place {
  size_t dim;
  int64_t inner;
};

std::optional<Place> placeOf(ArrayRef<int64_t> shape, int64_t stride,
                             int64_t samples) {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t behind = elementsBehind(shape, dim);
    if (behind <= stride && stride % behind == 0 &&
        behind * shape[dim] % (stride * samples) == 0)
      return Place{dim, stride / behind};
  }
  return std::nullopt;
}

/// The stride in a value whose dim `to` is the place's dim; 0 where it is not as
/// long.
int64_t strideAt(Value value, size_t to, Place place, int64_t size) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (to >= shape.size() || shape[to] != size)
    return 0;
  return elementsBehind(shape, to) * place.inner;
}

int64_t movedStride(Operation &op, Value operand, Place place, Value result) {
  const int64_t size = shapeOf(operand)[place.dim];
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    const auto *to = llvm::find(permutation, static_cast<int64_t>(place.dim));
    return strideAt(result, to - permutation.begin(), place, size);
  }
  const size_t operandRank = shapeOf(operand).size(),
               resultRank = shapeOf(result).size();
  // Dims are kept from the left (rows of a table are put behind positions), or
  // aligned at the right where they are broadcast.
  if (int64_t stride = strideAt(result, place.dim, place, size))
    return stride;
  return resultRank > operandRank
             ? strideAt(result, place.dim + resultRank - operandRank, place,
                        size)
             : 0;
}

} // namespace

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
      strides[argument] = elementsBehind(shape, 0);
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
      strides[op.getResult(0)] = elementsBehind(shape, 0);
  }
  for (Value result : op.getResults()) {
    int64_t found = 0;
    for (Value operand : op.getOperands()) {
      auto known = strides.find(operand);
      if (known == strides.end())
        continue;
      depends = true;
      const int64_t stride = known->second;
      if (stride == 0)
        continue;
      if (isa<nn::ReshapeOp>(op))
        found = stride;
      else if (auto place = placeOf(shapeOf(operand), stride, count))
        found = movedStride(op, operand, *place, result);
      if (found)
        break;
    }
    if (depends)
      strides[result] = found;
  }
}

int64_t SampleStrides::strideOf(Value value) const {
  auto known = strides.find(value);
  if (known == strides.end())
    return 0;
  if (known->second)
    return known->second;
  const int64_t elements =
      cast<RankedTensorType>(value.getType()).getNumElements();
  return elements % count == 0 ? elements / count : 0;
}

} // namespace shardc
