// Elementwise evaluation on host tensors, and folding of constants.
#include "frontend/nn/support/Evaluation.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::nn {

bool isSplatOf(Attribute attribute, double value) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(attribute);
  if (!splat)
    return false;
  const HostTensor tensor = HostTensor::fromAttribute(splat);
  return tensor && tensor.elements() > 0 && tensor.floatAt(0) == value;
}

Attribute foldMove(Attribute input, Value result,
                   llvm::function_ref<HostTensor(const HostTensor &)> move) {
  constexpr int64_t largest = 1024;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(input);
  if (!elements || (!elements.isSplat() && elements.getNumElements() > largest))
    return {};
  const HostTensor tensor = HostTensor::fromAttribute(elements);
  if (!tensor)
    return {};
  const HostTensor moved = move(tensor);
  assert(moved.type() == result.getType() && "a fold keeps the type");
  return moved.toAttribute();
}

static int64_t truncateToInt(double value) {
  if (std::isnan(value))
    return 0;
  // 2^63 is the first double that an int64 cannot hold.
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

HostTensor castTo(const HostTensor &input, Type elementType) {
  RankedTensorType type = input.type().clone(elementType);
  const bool toBool = elementType.isInteger(1),
             toFloat = isa<FloatType>(elementType);
  if (toFloat)
    return mapFloats(type, input, [](ArrayRef<double> x) { return x[0]; });
  if (!input.isFloat())
    return mapInts(type, input, [](ArrayRef<int64_t> x) { return x[0]; });
  return mapFloatsToInts(type, input, [&](ArrayRef<double> x) {
    return toBool ? int64_t(x[0] != 0) : truncateToInt(x[0]);
  });
}

SmallVector<HostTensor> cutToVaryingDims(ArrayRef<HostTensor> operands) {
  SmallVector<int64_t> sizes(operands.front().shape());
  for (int64_t dim = 0; dim < static_cast<int64_t>(sizes.size()); ++dim)
    if (sizes[dim] > 1 &&
        llvm::all_of(operands, [&](const HostTensor &operand) {
          return operand.isBroadcastAlong(dim);
        }))
      sizes[dim] = 1;
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  SmallVector<HostTensor> cut;
  for (const HostTensor &operand : operands)
    cut.push_back(operand.sliced(starts, sizes, steps));
  return cut;
}

/// Values of one operand kind to values of one result kind.
template <typename From, typename To, typename Function>
static std::vector<To> mapValues(ArrayRef<HostTensor> cut, Function function) {
  SmallVector<std::vector<From>> values;
  for (const HostTensor &operand : cut) {
    if constexpr (std::is_same_v<From, double>)
      values.push_back(operand.toFloats());
    else
      values.push_back(operand.toInts());
  }
  std::vector<To> results(cut.front().elements());
  SmallVector<From> point(cut.size());
  for (size_t i = 0; i < results.size(); ++i) {
    for (size_t operand = 0; operand < cut.size(); ++operand)
      point[operand] = values[operand][i];
    results[i] = function(ArrayRef<From>(point));
  }
  return results;
}

HostTensor mapFloats(RankedTensorType type, ArrayRef<HostTensor> operands,
                     llvm::function_ref<double(ArrayRef<double>)> function) {
  const SmallVector<HostTensor> cut = cutToVaryingDims(operands);
  return HostTensor::floats(type.clone(cut.front().shape()),
                            mapValues<double, double>(cut, function))
      .broadcastTo(type);
}

HostTensor mapInts(RankedTensorType type, ArrayRef<HostTensor> operands,
                   llvm::function_ref<int64_t(ArrayRef<int64_t>)> function) {
  const SmallVector<HostTensor> cut = cutToVaryingDims(operands);
  return HostTensor::ints(type.clone(cut.front().shape()),
                          mapValues<int64_t, int64_t>(cut, function))
      .broadcastTo(type);
}

HostTensor
mapFloatsToInts(RankedTensorType type, ArrayRef<HostTensor> operands,
                llvm::function_ref<int64_t(ArrayRef<double>)> function) {
  const SmallVector<HostTensor> cut = cutToVaryingDims(operands);
  return HostTensor::ints(type.clone(cut.front().shape()),
                          mapValues<double, int64_t>(cut, function))
      .broadcastTo(type);
}

LogicalResult evaluateNumbers(
    Operation *op, ArrayRef<HostTensor> operands,
    SmallVectorImpl<HostTensor> &results,
    llvm::function_ref<double(ArrayRef<double>)> onFloats,
    llvm::function_ref<std::optional<int64_t>(ArrayRef<int64_t>)> onInts) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (isa<FloatType>(type.getElementType())) {
    results.push_back(mapFloats(type, operands, onFloats));
    return success();
  }
  bool defined = true;
  results.push_back(mapInts(type, operands, [&](ArrayRef<int64_t> x) {
    std::optional<int64_t> value = onInts(x);
    defined &= value.has_value();
    return value.value_or(0);
  }));
  return defined ? success() : op->emitOpError("divides an integer by zero");
}

} // namespace shardc::nn
