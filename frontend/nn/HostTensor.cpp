// Host tensors: storage, views, conversion to and from attributes.
#include "frontend/nn/HostTensor.h"

#include "frontend/nn/NN.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace shardc::nn;

double shardc::nn::roundToType(Type type, double value) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

int64_t shardc::nn::wrapToType(Type type, int64_t value) {
  auto integer = cast<IntegerType>(type);
  if (integer.getWidth() >= 64)
    return value;
  if (integer.getWidth() == 1)
    return value != 0;
  const unsigned unused = 64 - integer.getWidth();
  const uint64_t bits = static_cast<uint64_t>(value) << unused;
  return integer.isUnsigned() ? static_cast<int64_t>(bits >> unused)
                              : static_cast<int64_t>(bits) >> unused;
}

int64_t shardc::nn::lowestInteger(Type type) {
  return type.isUnsignedInteger() ? 0
                                  : llvm::minIntN(type.getIntOrFloatBitWidth());
}

int64_t shardc::nn::highestInteger(Type type) {
  const unsigned bits = type.getIntOrFloatBitWidth();
  return type.isUnsignedInteger() ? static_cast<int64_t>(llvm::maxUIntN(bits))
                                  : llvm::maxIntN(bits);
}

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

/// Calls `visit` with the storage offset of every element in row-major order.
template <typename Visit>
static void forEachOffset(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                          int64_t offset, Visit visit) {
  if (llvm::is_contained(shape, 0))
    return;
  const int64_t rank = shape.size();
  const int64_t inner = rank ? shape.back() : 1;
  const int64_t innerStride = rank ? strides.back() : 0;
  SmallVector<int64_t> index(rank, 0);
  while (true) {
    for (int64_t i = 0; i < inner; ++i)
      visit(offset + i * innerStride);
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      offset += strides[dim];
      if (++index[dim] < shape[dim])
        break;
      offset -= index[dim] * strides[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

//===----------------------------------------------------------------------===//
// Construction and access
//===----------------------------------------------------------------------===//

HostTensor HostTensor::floats(RankedTensorType type, Floats values) {
  assert(static_cast<int64_t>(values.size()) == type.getNumElements() &&
         "one value per element");
  if (!type.getElementType().isF64())
    for (double &value : values)
      value = roundToType(type.getElementType(), value);
  return HostTensor(type, rowMajorStrides(type.getShape()), 0,
                    std::make_shared<const Storage>(std::move(values)));
}

HostTensor HostTensor::ints(RankedTensorType type, Ints values) {
  assert(static_cast<int64_t>(values.size()) == type.getNumElements() &&
         "one value per element");
  if (!type.getElementType().isInteger(64))
    for (int64_t &value : values)
      value = wrapToType(type.getElementType(), value);
  return HostTensor(type, rowMajorStrides(type.getShape()), 0,
                    std::make_shared<const Storage>(std::move(values)));
}

HostTensor HostTensor::splat(RankedTensorType type, double value) {
  if (!isa<FloatType>(type.getElementType()))
    return splatInt(type, static_cast<int64_t>(value));
  Floats one{roundToType(type.getElementType(), value)};
  SmallVector<int64_t> strides(type.getRank(), 0);
  return HostTensor(type, strides, 0,
                    std::make_shared<const Storage>(std::move(one)));
}

HostTensor HostTensor::splatInt(RankedTensorType type, int64_t value) {
  if (isa<FloatType>(type.getElementType()))
    return splat(type, static_cast<double>(value));
  Ints one{wrapToType(type.getElementType(), value)};
  SmallVector<int64_t> strides(type.getRank(), 0);
  return HostTensor(type, strides, 0,
                    std::make_shared<const Storage>(std::move(one)));
}

int64_t HostTensor::offsetOf(ArrayRef<int64_t> index) const {
  int64_t offset = start;
  for (auto [position, stride] : llvm::zip_equal(index, elementStrides))
    offset += position * stride;
  return offset;
}

int64_t HostTensor::offsetOf(int64_t linear) const {
  int64_t offset = start;
  for (int64_t dim = rank() - 1; dim >= 0; --dim) {
    offset += linear % shape()[dim] * elementStrides[dim];
    linear /= shape()[dim];
  }
  return offset;
}

static double
floatIn(const std::variant<HostTensor::Floats, HostTensor::Ints> &storage,
        int64_t offset, Type type) {
  if (auto *floats = std::get_if<HostTensor::Floats>(&storage))
    return (*floats)[offset];
  const int64_t value = (*std::get_if<HostTensor::Ints>(&storage))[offset];
  return type.isUnsignedInteger(64)
             ? static_cast<double>(static_cast<uint64_t>(value))
             : static_cast<double>(value);
}
static int64_t
intIn(const std::variant<HostTensor::Floats, HostTensor::Ints> &storage,
      int64_t offset) {
  if (auto *ints = std::get_if<HostTensor::Ints>(&storage))
    return (*ints)[offset];
  return static_cast<int64_t>(
      (*std::get_if<HostTensor::Floats>(&storage))[offset]);
}

double HostTensor::floatAt(ArrayRef<int64_t> index) const {
  return floatIn(*storage, offsetOf(index), elementType());
}
int64_t HostTensor::intAt(ArrayRef<int64_t> index) const {
  return intIn(*storage, offsetOf(index));
}
double HostTensor::floatAt(int64_t linear) const {
  return floatIn(*storage, offsetOf(linear), elementType());
}
int64_t HostTensor::intAt(int64_t linear) const {
  return intIn(*storage, offsetOf(linear));
}

HostTensor::Floats HostTensor::toFloats() const {
  Floats values;
  values.reserve(elements());
  forEachOffset(shape(), elementStrides, start, [&](int64_t offset) {
    values.push_back(floatIn(*storage, offset, elementType()));
  });
  return values;
}

HostTensor::Ints HostTensor::toInts() const {
  Ints values;
  values.reserve(elements());
  forEachOffset(shape(), elementStrides, start, [&](int64_t offset) {
    values.push_back(intIn(*storage, offset));
  });
  return values;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

RankedTensorType HostTensor::withShape(ArrayRef<int64_t> shape) const {
  return tensorType.clone(shape);
}

bool HostTensor::isSplat() const {
  return elements() > 0 &&
         llvm::all_of(llvm::seq<int64_t>(0, rank()),
                      [&](int64_t d) { return isBroadcastAlong(d); });
}

HostTensor HostTensor::compact() const {
  SmallVector<int64_t> sizes(shape());
  for (int64_t dim = 0; dim < rank(); ++dim)
    if (isBroadcastAlong(dim) && sizes[dim] > 1)
      sizes[dim] = 1;
  return HostTensor(withShape(sizes), elementStrides, start, storage);
}

HostTensor HostTensor::broadcastTo(RankedTensorType type) const {
  const int64_t added = type.getRank() - rank();
  assert(added >= 0 && type.getElementType() == elementType() &&
         "broadcast keeps dims and element type");
  SmallVector<int64_t> strides(type.getRank(), 0);
  for (int64_t dim = 0; dim < rank(); ++dim) {
    assert(
        (shape()[dim] == 1 || shape()[dim] == type.getDimSize(dim + added)) &&
        "only dims of size 1 broadcast");
    strides[dim + added] = shape()[dim] == 1 ? 0 : elementStrides[dim];
  }
  return HostTensor(type, strides, start, storage);
}

HostTensor HostTensor::transposed(ArrayRef<int64_t> permutation) const {
  SmallVector<int64_t> sizes, strides;
  for (int64_t dim : permutation) {
    sizes.push_back(shape()[dim]);
    strides.push_back(elementStrides[dim]);
  }
  return HostTensor(withShape(sizes), strides, start, storage);
}

HostTensor HostTensor::sliced(ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                              ArrayRef<int64_t> steps) const {
  SmallVector<int64_t> strides;
  for (auto [stride, step] : llvm::zip_equal(elementStrides, steps))
    strides.push_back(stride * step);
  // An empty slice may start behind the end: its offset is never read.
  return HostTensor(withShape(sizes), strides, offsetOf(starts), storage);
}

HostTensor HostTensor::strided(RankedTensorType type, ArrayRef<int64_t> strides,
                               int64_t offset) const {
  assert(type.getElementType() == elementType() && "a view keeps the type");
  return HostTensor(type, strides, start + offset, storage);
}

std::pair<int64_t, int64_t> HostTensor::reach() const {
  int64_t lowest = 0, highest = 0;
  for (auto [size, stride] : llvm::zip_equal(shape(), elementStrides))
    (stride < 0 ? lowest : highest) += (size - 1) * stride;
  return {lowest, highest};
}

HostTensor HostTensor::reached() const {
  const auto [lowest, highest] = reach();
  return strided(withShape({highest - lowest + 1}), {1}, lowest);
}

bool HostTensor::isOverlapping() const {
  const auto [lowest, highest] = reach();
  return elements() > 0 && compact().elements() > highest - lowest + 1;
}

HostTensor HostTensor::copied(ArrayRef<bool> written) const {
  SmallVector<int64_t> sizes(shape());
  for (int64_t dim = 0; dim < rank(); ++dim)
    if (isBroadcastAlong(dim) && !written[dim] && sizes[dim] > 1)
      sizes[dim] = 1;
  const HostTensor cut(withShape(sizes), elementStrides, start, storage);
  const HostTensor dense = isFloat() ? floats(cut.type(), cut.toFloats())
                                     : ints(cut.type(), cut.toInts());
  return dense.broadcastTo(tensorType);
}

HostTensor HostTensor::tryReshape(ArrayRef<int64_t> shape,
                                  SmallVectorImpl<bool> &blocked) const {
  // Dims of size 1 hold no positions; without them, runs of old and of new dims
  // with equal products correspond.
  SmallVector<int64_t> oldDims, newDims;
  for (int64_t dim = 0; dim < rank(); ++dim)
    if (this->shape()[dim] != 1)
      oldDims.push_back(dim);
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (shape[dim] != 1)
      newDims.push_back(dim);

  SmallVector<int64_t> strides(shape.size(), 0);
  blocked.assign(rank(), false);
  bool possible = true;
  for (size_t oldBegin = 0, newBegin = 0;
       oldBegin < oldDims.size() && newBegin < newDims.size();) {
    size_t oldEnd = oldBegin + 1, newEnd = newBegin + 1;
    int64_t oldSize = this->shape()[oldDims[oldBegin]],
            newSize = shape[newDims[newBegin]];
    while (oldSize != newSize) {
      if (oldSize < newSize)
        oldSize *= this->shape()[oldDims[oldEnd++]];
      else
        newSize *= shape[newDims[newEnd++]];
    }
    bool viewable = true;
    for (size_t i = oldBegin; i + 1 < oldEnd; ++i)
      viewable &=
          elementStrides[oldDims[i]] ==
          elementStrides[oldDims[i + 1]] * this->shape()[oldDims[i + 1]];
    if (!viewable) {
      possible = false;
      for (size_t i = oldBegin; i < oldEnd; ++i)
        blocked[oldDims[i]] = true;
    }
    int64_t stride = elementStrides[oldDims[oldEnd - 1]];
    for (size_t i = newEnd; i-- > newBegin;) {
      strides[newDims[i]] = stride;
      stride *= shape[newDims[i]];
    }
    oldBegin = oldEnd;
    newBegin = newEnd;
  }
  return possible ? HostTensor(withShape(shape), strides, start, storage)
                  : HostTensor();
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> shape) const {
  assert(withShape(shape).getNumElements() == elements() &&
         "a reshape keeps the number of elements");
  if (elements() == 0)
    return HostTensor(withShape(shape), rowMajorStrides(shape), start, storage);
  SmallVector<bool> blocked;
  if (HostTensor view = tryReshape(shape, blocked))
    return view;
  return copied(blocked).tryReshape(shape, blocked);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

template <typename T>
static HostTensor fromRaw(RankedTensorType type, ArrayRef<char> raw) {
  const size_t count = raw.size() / sizeof(T);
  auto read = [&](size_t i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    return value;
  };
  if constexpr (std::is_floating_point_v<T>) {
    HostTensor::Floats values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = read(i);
    return HostTensor::floats(type, std::move(values));
  } else {
    HostTensor::Ints values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = read(i);
    return HostTensor::ints(type, std::move(values));
  }
}

HostTensor HostTensor::fromAttribute(ElementsAttr attribute) {
  if (auto strided = dyn_cast<StridedAttr>(attribute))
    return fromAttribute(strided.getValues())
        .strided(strided.getType(), strided.getStrides(), strided.getStart());
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  auto type = dyn_cast<RankedTensorType>(attribute.getShapedType());
  if (!dense || !type)
    return {};
  Type element = type.getElementType();
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer && !isa<FloatType>(element))
    return {};
  auto toInt = [&](const llvm::APInt &value) {
    return static_cast<int64_t>(integer.isUnsigned() || integer.getWidth() == 1
                                    ? value.getZExtValue()
                                    : value.getSExtValue());
  };
  auto toDouble = [](llvm::APFloat value) {
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  };
  if (dense.isSplat())
    return integer
               ? splatInt(type, toInt(dense.getSplatValue<llvm::APInt>()))
               : splat(type, toDouble(dense.getSplatValue<llvm::APFloat>()));
  if (element.isF32())
    return fromRaw<float>(type, dense.getRawData());
  if (element.isF64())
    return fromRaw<double>(type, dense.getRawData());
  if (element.isSignlessInteger(64))
    return fromRaw<int64_t>(type, dense.getRawData());
  if (element.isSignlessInteger(32))
    return fromRaw<int32_t>(type, dense.getRawData());
  if (integer) {
    Ints values;
    for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
      values.push_back(toInt(value));
    return ints(type, std::move(values));
  }
  Floats values;
  for (const llvm::APFloat &value : dense.getValues<llvm::APFloat>())
    values.push_back(toDouble(value));
  return floats(type, std::move(values));
}

static llvm::APFloat toAPFloat(FloatType type, double value) {
  llvm::APFloat result(value);
  bool losesInfo;
  result.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return result;
}

DenseElementsAttr HostTensor::toAttribute() const {
  Type element = elementType();
  auto sameBits = [](double a, double b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  };
  if (auto floating = dyn_cast<FloatType>(element)) {
    const Floats values = isSplat() ? Floats{floatAt(0)} : toFloats();
    if (!values.empty() && llvm::all_of(values, [&](double value) {
          return sameBits(value, values[0]);
        }))
      return DenseElementsAttr::get(tensorType, toAPFloat(floating, values[0]));
    if (element.isF64())
      return DenseElementsAttr::get(tensorType, ArrayRef<double>(values));
    if (element.isF32())
      return DenseElementsAttr::get(
          tensorType,
          ArrayRef<float>(std::vector<float>(values.begin(), values.end())));
    SmallVector<llvm::APFloat> converted;
    for (double value : values)
      converted.push_back(toAPFloat(floating, value));
    return DenseElementsAttr::get(tensorType, converted);
  }
  auto integer = cast<IntegerType>(element);
  const Ints values = isSplat() ? Ints{intAt(0)} : toInts();
  auto toAPInt = [&](int64_t value) {
    return llvm::APInt(integer.getWidth(), static_cast<uint64_t>(value),
                       !integer.isUnsigned(), /*implicitTrunc=*/true);
  };
  if (!values.empty() &&
      llvm::all_of(values, [&](int64_t value) { return value == values[0]; }))
    return DenseElementsAttr::get(tensorType, toAPInt(values[0]));
  if (element.isSignlessInteger(64))
    return DenseElementsAttr::get(tensorType, ArrayRef<int64_t>(values));
  if (element.isSignlessInteger(1)) {
    // std::vector<bool> has no contiguous elements to point at.
    SmallVector<bool> flags(values.begin(), values.end());
    return DenseElementsAttr::get(tensorType, ArrayRef<bool>(flags));
  }
  SmallVector<llvm::APInt> converted;
  for (int64_t value : values)
    converted.push_back(toAPInt(value));
  return DenseElementsAttr::get(tensorType, converted);
}

ElementsAttr HostTensor::toCompactAttribute() const {
  constexpr int64_t few = 256;
  if (elements() <= few || !isOverlapping())
    return toAttribute();
  DenseElementsAttr values = reached().toAttribute();
  if (values.isSplat())
    return toAttribute();
  return StridedAttr::get(tensorType.getContext(), tensorType, values,
                          -reach().first, elementStrides);
}
