// Elementwise evaluation on host tensors, and folding of constants.
#include "frontend/nn/support/Evaluation.h"

#include "frontend/nn/NN.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <numeric>

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

/// Saturating, NaN to 0.
static int64_t truncateToInt(double value, IntegerType type) {
  const unsigned bits = type.getWidth();
  const int64_t lowest = lowestInteger(type), highest = highestInteger(type);
  if (std::isnan(value))
    return 0;
  // The highest may be no double, but one more is: a power of two.
  if (value >= std::ldexp(1, type.isUnsigned() ? bits : bits - 1))
    return highest;
  if (value < static_cast<double>(lowest))
    return lowest;
  return type.isUnsigned() ? static_cast<int64_t>(static_cast<uint64_t>(value))
                           : static_cast<int64_t>(value);
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
    return toBool ? int64_t(x[0] != 0)
                  : truncateToInt(x[0], cast<IntegerType>(elementType));
  });
}

namespace {

/// Views of operands without what they share: dims along which none varies are
/// cut to size 1, and dims i, j whose strides are equal, or opposite, in every
/// operand are one dim i + j, or j - i.
class DistinctElements {
public:
  explicit DistinctElements(ArrayRef<HostTensor> whole)
      : sizes(whole.front().shape()), operands(whole) {
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      if (sizes[dim] > 1 && llvm::all_of(whole, [&](const HostTensor &operand) {
            return operand.isBroadcastAlong(dim);
          }))
        sizes[dim] = 1;
    view([](HostTensor, MutableArrayRef<int64_t>) { return int64_t(0); });
    for (size_t outer = 0; outer < sizes.size(); ++outer)
      for (size_t inner = outer + 1; inner < sizes.size(); ++inner)
        for (int64_t sign : {-1, 1})
          if (sizes[outer] > 1 && sizes[inner] > 1 &&
              llvm::all_of(operands, [&](const HostTensor &operand) {
                return operand.strides()[outer] ==
                       sign * operand.strides()[inner];
              }))
            join({outer, inner, sign, sizes[outer], sizes[inner]});
  }

  ArrayRef<int64_t> shape() const { return sizes; }
  ArrayRef<HostTensor> values() const { return operands; }

  /// The tensor of `type` whose distinct elements are `result`.
  HostTensor expand(HostTensor result, RankedTensorType type) const {
    for (const Diagonal &diagonal : llvm::reverse(diagonals)) {
      SmallVector<int64_t> shape(result.shape()), strides(result.strides());
      shape[diagonal.outer] = diagonal.outerSize;
      shape[diagonal.inner] = diagonal.innerSize;
      int64_t stride = strides[diagonal.inner];
      strides[diagonal.outer] = diagonal.sign * stride;
      result = result.strided(
          result.type().clone(shape), strides,
          diagonal.sign < 0 ? (diagonal.outerSize - 1) * stride : 0);
    }
    return result.broadcastTo(type);
  }

private:
  struct Diagonal {
    size_t outer, inner;
    int64_t sign, outerSize, innerSize;
  };

  /// Gives the operands the shape `sizes`; `change` adapts an operand's strides
  /// and says where it then begins.
  void view(llvm::function_ref<int64_t(HostTensor, MutableArrayRef<int64_t>)>
                change) {
    for (HostTensor &operand : operands) {
      SmallVector<int64_t> strides(operand.strides());
      int64_t offset = change(operand, strides);
      operand = operand.strided(operand.type().clone(sizes), strides, offset);
    }
  }
  void join(Diagonal diagonal) {
    sizes[diagonal.inner] = diagonal.outerSize + diagonal.innerSize - 1;
    sizes[diagonal.outer] = 1;
    diagonals.push_back(diagonal);
    view([&](HostTensor, MutableArrayRef<int64_t> strides) {
      strides[diagonal.outer] = 0;
      return diagonal.sign < 0
                 ? -(diagonal.outerSize - 1) * strides[diagonal.inner]
                 : 0;
    });
  }

  SmallVector<int64_t> sizes;
  SmallVector<HostTensor> operands;
  SmallVector<Diagonal> diagonals;
};

/// first + sum of index[d] * slopes[d].
struct Progression {
  int64_t first = 0;
  SmallVector<int64_t> slopes;
};

/// Whole numbers of less than 2^24, which every sum and difference below is
/// exact for.
std::optional<int64_t> smallInteger(double value) {
  constexpr int64_t bound = int64_t(1) << 24;
  if (!(std::abs(value) < bound) || value != std::trunc(value))
    return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<Progression> progressionOf(const HostTensor &tensor) {
  constexpr int64_t most = int64_t(1) << 18; // what it may cost to look
  const auto [lowest, highest] = tensor.reach();
  if (tensor.elements() == 0 || highest - lowest >= most)
    return std::nullopt;
  const std::vector<double> values = tensor.reached().toFloats();
  auto first = smallInteger(values[-lowest]);
  std::optional<int64_t> slope = 0;
  if (values.size() > 1)
    slope = smallInteger(values[1] - values[0]);
  if (!first || !slope)
    return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i)
    if (!smallInteger(values[i]) ||
        values[i] != values[0] + double(*slope) * double(i))
      return std::nullopt;
  Progression result{*first, {}};
  for (auto [size, stride] : llvm::zip_equal(tensor.shape(), tensor.strides()))
    result.slopes.push_back(size == 1 ? 0 : *slope * stride);
  return result;
}

/// The progression's values, each of them once.
HostTensor tensorOf(const Progression &progression, RankedTensorType type) {
  int64_t step = 0;
  for (int64_t slope : progression.slopes)
    step = std::gcd(step, slope);
  SmallVector<int64_t> strides;
  int64_t lowest = 0, highest = 0;
  for (auto [size, slope] :
       llvm::zip_equal(type.getShape(), progression.slopes)) {
    strides.push_back(step ? slope / step : 0);
    (slope < 0 ? lowest : highest) += strides.back() * (size - 1);
  }
  HostTensor::Ints values;
  for (int64_t i = lowest; i <= highest; ++i)
    values.push_back(progression.first + i * step);
  RankedTensorType flat = type.clone({int64_t(values.size())});
  HostTensor stored =
      isa<FloatType>(type.getElementType())
          ? HostTensor::floats(flat,
                               HostTensor::Floats(values.begin(), values.end()))
          : HostTensor::ints(flat, std::move(values));
  return stored.strided(type, strides, -lowest);
}

} // namespace

int64_t distinctElements(ArrayRef<HostTensor> operands) {
  if (operands.empty())
    return 0;
  const DistinctElements distinct(operands);
  return operands.front().type().clone(distinct.shape()).getNumElements();
}

void combineProgressions(Operation *op, SmallVectorImpl<HostTensor> &operands) {
  if (!isa<AddOp, SubOp, CompareOp>(op))
    return;
  RankedTensorType type = operands[0].type();
  if (auto integer = dyn_cast<IntegerType>(type.getElementType());
      integer && integer.getWidth() < 32)
    return;
  auto lhs = progressionOf(operands[0]), rhs = progressionOf(operands[1]);
  if (!lhs || !rhs)
    return;
  const int64_t sign = isa<AddOp>(op) ? 1 : -1;
  lhs->first += sign * rhs->first;
  int64_t values = 1;
  for (size_t dim = 0; dim < lhs->slopes.size(); ++dim) {
    lhs->slopes[dim] += sign * rhs->slopes[dim];
    values += std::abs(lhs->slopes[dim]) * (type.getDimSize(dim) - 1);
  }
  if (values > distinctElements(operands))
    return;
  operands[0] = tensorOf(*lhs, type);
  operands[1] = HostTensor::splat(type, 0);
}

/// Values of one operand kind to values of one result kind.
template <typename From, typename To, typename Function>
static std::vector<To> mapValues(ArrayRef<HostTensor> operands,
                                 Function function) {
  SmallVector<std::vector<From>> values;
  for (const HostTensor &operand : operands) {
    if constexpr (std::is_same_v<From, double>)
      values.push_back(operand.toFloats());
    else
      values.push_back(operand.toInts());
  }
  std::vector<To> results(operands.front().elements());
  SmallVector<From> point(operands.size());
  for (size_t i = 0; i < results.size(); ++i) {
    for (size_t operand = 0; operand < operands.size(); ++operand)
      point[operand] = values[operand][i];
    results[i] = function(ArrayRef<From>(point));
  }
  return results;
}

HostTensor mapFloats(RankedTensorType type, ArrayRef<HostTensor> operands,
                     llvm::function_ref<double(ArrayRef<double>)> function) {
  const DistinctElements distinct(operands);
  return distinct.expand(HostTensor::floats(type.clone(distinct.shape()),
                                            mapValues<double, double>(
                                                distinct.values(), function)),
                         type);
}

/// Integers that are all the same are one: a condition that always holds must
/// not give a mask dims that it does not need.
static HostTensor expandInts(const DistinctElements &distinct,
                             RankedTensorType type, HostTensor::Ints values) {
  if (!values.empty() && llvm::all_equal(values))
    return HostTensor::splatInt(type, values.front());
  return distinct.expand(
      HostTensor::ints(type.clone(distinct.shape()), std::move(values)), type);
}

HostTensor mapInts(RankedTensorType type, ArrayRef<HostTensor> operands,
                   llvm::function_ref<int64_t(ArrayRef<int64_t>)> function) {
  const DistinctElements distinct(operands);
  return expandInts(distinct, type,
                    mapValues<int64_t, int64_t>(distinct.values(), function));
}

HostTensor
mapFloatsToInts(RankedTensorType type, ArrayRef<HostTensor> operands,
                llvm::function_ref<int64_t(ArrayRef<double>)> function) {
  const DistinctElements distinct(operands);
  return expandInts(distinct, type,
                    mapValues<double, int64_t>(distinct.values(), function));
}

LogicalResult
evaluateNumbers(Operation *op, ArrayRef<HostTensor> operands,
                SmallVectorImpl<HostTensor> &results,
                llvm::function_ref<double(ArrayRef<double>)> onFloats,
                llvm::function_ref<int64_t(ArrayRef<int64_t>)> onInts) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  results.push_back(isa<FloatType>(type.getElementType())
                        ? mapFloats(type, operands, onFloats)
                        : mapInts(type, operands, onInts));
  return success();
}

} // namespace shardc::nn
