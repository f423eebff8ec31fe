// Arithmetic on strided views of buffers.
#include "codegen/step/View.h"

#include "codegen/step/Step.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace shardc::step {

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

View View::contiguous(Value buffer, int64_t offset, ShapedType type) {
  return {buffer, offset, type.getElementType(),
          SmallVector<int64_t>(type.getShape()),
          rowMajorStrides(type.getShape())};
}

View View::of(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto op = memref.getDefiningOp<ViewOp>();
  View view = contiguous(op.getBuffer(), op.getOffset(), type);
  if (auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout()))
    view.strides.assign(layout.getStrides().begin(), layout.getStrides().end());
  return view;
}

DenseI64ArrayAttr stridesOfInput(func::FuncOp kernel, unsigned input) {
  return kernel.getArgAttrOfType<DenseI64ArrayAttr>(input, step::stridesAttr);
}

View viewOfInput(func::FuncOp kernel, unsigned input) {
  View view = View::contiguous(
      {}, 0, cast<RankedTensorType>(kernel.getArgumentTypes()[input]));
  if (DenseI64ArrayAttr strides = stridesOfInput(kernel, input))
    view.strides.assign(strides.asArrayRef().begin(),
                        strides.asArrayRef().end());
  return view;
}

int64_t View::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

int64_t View::spanBytes() const {
  if (elements() == 0)
    return 0;
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip(shape, strides))
    last += (size - 1) * stride;
  return (last + 1) * nn::elementBytes(elementType);
}

bool View::isContiguous() const {
  int64_t expected = 1;
  for (int64_t dim = rank() - 1; dim >= 0; --dim) {
    if (shape[dim] != 1 && strides[dim] != expected)
      return elements() == 0;
    expected *= shape[dim];
  }
  return true;
}

std::optional<View> View::reshape(ArrayRef<int64_t> newShape) const {
  View result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  result.strides = rowMajorStrides(newShape);
  if (elements() == 0 || isContiguous())
    return result;

  // Groups of old dims that lie densely in each other hold as many elements as
  // a group of new dims; inside a group, strides are multiples of the innermost
  // one.
  int64_t oldDim = rank() - 1, newDim = int64_t(newShape.size()) - 1;
  while (oldDim >= 0 || newDim >= 0) {
    while (oldDim >= 0 && shape[oldDim] == 1)
      --oldDim;
    int64_t innermost = oldDim >= 0 ? strides[oldDim] : 1;
    int64_t oldElements = 1, newElements = 1;
    if (oldDim >= 0) {
      oldElements = shape[oldDim];
      --oldDim;
      while (oldDim >= 0 && (shape[oldDim] == 1 ||
                             strides[oldDim] == innermost * oldElements)) {
        oldElements *= shape[oldDim];
        --oldDim;
      }
    }
    while (newDim >= 0 &&
           (newElements < oldElements || newShape[newDim] == 1)) {
      result.strides[newDim] = newElements * innermost;
      newElements *= newShape[newDim];
      --newDim;
    }
    if (newElements != oldElements)
      return std::nullopt;
  }
  return result;
}

View View::transpose(ArrayRef<int64_t> permutation) const {
  View result = *this;
  for (auto [to, from] : llvm::enumerate(permutation)) {
    result.shape[to] = shape[from];
    result.strides[to] = strides[from];
  }
  return result;
}

View View::slice(ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                 ArrayRef<int64_t> steps) const {
  View result = *this;
  for (int64_t dim = 0; dim < rank(); ++dim) {
    result.offset += starts[dim] * strides[dim] * nn::elementBytes(elementType);
    result.shape[dim] = llvm::divideCeil(limits[dim] - starts[dim], steps[dim]);
    result.strides[dim] = strides[dim] * steps[dim];
  }
  return result;
}

View View::broadcast(ArrayRef<int64_t> newShape) const {
  View result = *this;
  for (int64_t dim = 0; dim < rank(); ++dim)
    if (shape[dim] != newShape[dim])
      result.strides[dim] = 0;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

View View::canonical() const {
  View result = *this;
  for (int64_t dim = rank() - 1; dim >= 0; --dim)
    if (shape[dim] == 1)
      result.strides[dim] =
          dim + 1 < rank() ? result.strides[dim + 1] * shape[dim + 1] : 1;
  return result;
}

MemRefType View::memrefType() const {
  if (isContiguous())
    return MemRefType::get(shape, elementType);
  auto layout = StridedLayoutAttr::get(elementType.getContext(), /*offset=*/0,
                                       canonical().strides);
  return MemRefType::get(shape, elementType, layout);
}

} // namespace shardc::step
