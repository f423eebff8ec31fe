// Bounds of types, and nn.top_k along any axis.
#include "frontend/onnx/decode/Extremes.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

static Operand extreme(Emitter &emit, Type element, bool isHighest) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(element))
    return emit.scalar(element, isHighest ? infinity : -infinity);
  return nn::HostTensor::splatInt(emit.typeOf({}, element),
                                  isHighest ? nn::highestInteger(element)
                                            : nn::lowestInteger(element));
}

Operand shardc::onnx::lowestOf(Emitter &emit, Type element) {
  return extreme(emit, element, false);
}
Operand shardc::onnx::highestOf(Emitter &emit, Type element) {
  return extreme(emit, element, true);
}

std::pair<Operand, Operand>
shardc::onnx::topElements(Emitter &emit, const Operand &input, int64_t axis,
                          int64_t count, bool smallest) {
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, input.rank()));
  std::swap(permutation[axis], permutation.back());
  Operand rows = emit.transpose(input, permutation);
  Shape shape(rows.shape());
  shape.back() = count;
  SmallVector<NamedAttribute> attributes;
  if (smallest)
    attributes.push_back(emit.flag("smallest"));
  SmallVector<Operand> results =
      emit.emit(nn::TopKOp::getOperationName(),
                {emit.typeOf(shape, input.elementType()),
                 emit.typeOf(shape, emit.attributes().getI64Type())},
                {rows}, attributes);
  return {emit.transpose(results[0], permutation),
          emit.transpose(results[1], permutation)};
}
