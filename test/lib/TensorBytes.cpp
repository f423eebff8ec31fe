// Conversions between the interpreter's doubles and stored elements.
#include "TensorBytes.h"

#include <cstring>

using namespace mlir;

namespace shardc::test {

template <typename T> static void append(Bytes &bytes, T value) {
  const char *raw = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}
template <typename T> static T at(const Bytes &bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// The bits of a 16-bit float, and its value.
static uint16_t bitsOfHalf(FloatType type, double value) {
  llvm::APFloat number(value);
  bool inexact;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &inexact);
  return number.bitcastToAPInt().getZExtValue();
}
static double valueOfHalf(FloatType type, uint16_t bits) {
  llvm::APFloat number(type.getFloatSemantics(), llvm::APInt(16, bits));
  bool inexact;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

int64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() *
         std::max(1u, type.getElementTypeBitWidth() / 8);
}

Bytes toBytes(const nn::HostTensor &tensor) {
  Type element = tensor.type().getElementType();
  Bytes bytes;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (element.isF32())
      append(bytes, float(tensor.floatAt(i)));
    else if (element.isF64())
      append(bytes, tensor.floatAt(i));
    else if (auto type = dyn_cast<FloatType>(element))
      append(bytes, bitsOfHalf(type, tensor.floatAt(i)));
    else if (element.isInteger(64))
      append(bytes, tensor.intAt(i));
    else if (element.isInteger(32))
      append(bytes, int32_t(tensor.intAt(i)));
    else
      append(bytes, int8_t(tensor.intAt(i)));
  }
  return bytes;
}

nn::HostTensor fromBytes(RankedTensorType type, const Bytes &bytes) {
  Type element = type.getElementType();
  nn::HostTensor::Floats floats;
  nn::HostTensor::Ints ints;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    if (element.isF32())
      floats.push_back(at<float>(bytes, i));
    else if (element.isF64())
      floats.push_back(at<double>(bytes, i));
    else if (auto half = dyn_cast<FloatType>(element))
      floats.push_back(valueOfHalf(half, at<uint16_t>(bytes, i)));
    else
      ints.push_back(element.isInteger(64)   ? at<int64_t>(bytes, i)
                     : element.isInteger(32) ? at<int32_t>(bytes, i)
                                             : at<int8_t>(bytes, i));
  }
  return isa<FloatType>(element)
             ? nn::HostTensor::floats(type, std::move(floats))
             : nn::HostTensor::ints(type, std::move(ints));
}

} // namespace shardc::test
