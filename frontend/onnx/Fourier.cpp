// A short transform is one product with its matrix. A longer one whose length
// is n1 n2 is n2 transforms of n1 elements and then n1 of n2 (Cooley and Tukey,
// An Algorithm for the Machine Calculation of Complex Fourier Series, 1965).
// With t = n2 t1 + t2 and k = n1 k2 + k1,
//   X[k] = sum over t2 of e^(-2 pi i t2 k / n)
//          sum over t1 of e^(-2 pi i t1 k1 / n1) x[n2 t1 + t2]:
// the factors between the two are part of the second one's matrices, of which
// each k1 has its own.
#include "frontend/onnx/Fourier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;

namespace {

/// A product with the matrix of so many elements is as fast as several with
/// smaller ones.
constexpr int64_t shortest = 128;

/// How many elements the first of two transforms has; 1: there is one alone.
int64_t firstOfTwo(int64_t n) {
  if (n <= shortest)
    return 1;
  // The largest divisor of n that is at most its root.
  int64_t factor = int64_t(std::sqrt(double(n)));
  while (n % factor)
    --factor;
  return factor;
}

/// The factors e^(-2 pi i j / n), or e^(2 pi i j / n) / scale, as elements of a
/// matrix: a row for the real part of what is multiplied and one for the
/// imaginary part, and columns for those of the product.
class Factors {
public:
  Factors(int64_t n, bool isInverse, int64_t scale)
      : n(n), sign(isInverse ? 1 : -1),
        scale(isInverse ? 1 / double(scale) : 1) {}

  /// Appends both columns of one row: part 0 is the real one.
  void append(HostTensor::Floats &values, int64_t j, int part) const {
    // Beyond n the angle would lose digits.
    double angle = 2 * std::numbers::pi * double(j % n) / double(n);
    double real = scale * std::cos(angle),
           imag = scale * sign * std::sin(angle);
    values.push_back(part == 0 ? real : -imag);
    values.push_back(part == 0 ? imag : real);
  }

private:
  int64_t n;
  int sign;
  double scale;
};

/// A product that stays in float32 where others are of 16 bits, as those of
/// torch.autocast do.
Operand unrounded(Emitter &emit, Operand product) {
  if (!product.isConstant())
    product.value().getDefiningOp()->setDiscardableAttr(
        nn::unroundedAttr, emit.attributes().getUnitAttr());
  return product;
}

/// All at once: x [..., n, parts].
Operand directly(Emitter &emit, const Operand &x, bool isInverse) {
  Shape shape(x.shape());
  int64_t parts = shape.pop_back_val(), n = shape.pop_back_val();
  Factors factors(n, isInverse, n);
  HostTensor::Floats values;
  values.reserve(n * parts * n * 2);
  for (int64_t t = 0; t < n; ++t)
    for (int part = 0; part < parts; ++part)
      for (int64_t k = 0; k < n; ++k)
        factors.append(values, k * t, part);
  Operand matrix = HostTensor::floats(
      emit.typeOf({n * parts, n * 2}, x.elementType()), std::move(values));
  shape.push_back(n * parts);
  Operand result =
      unrounded(emit, emit.linear(emit.reshape(x, shape), matrix, false));
  shape.back() = n;
  shape.push_back(2);
  return emit.reshape(result, shape);
}

/// The second half of two: x [n1, rows, n2, 2], by k1, to [n1, rows, n2, 2].
Operand secondHalf(Emitter &emit, const Operand &x, bool isInverse) {
  int64_t n1 = x.shape()[0], rows = x.shape()[1], n2 = x.shape()[2];
  Factors factors(n1 * n2, isInverse, n2);
  HostTensor::Floats values;
  values.reserve(n1 * n2 * 2 * n2 * 2);
  for (int64_t k1 = 0; k1 < n1; ++k1)
    for (int64_t t2 = 0; t2 < n2; ++t2)
      for (int part = 0; part < 2; ++part)
        for (int64_t k2 = 0; k2 < n2; ++k2)
          factors.append(values, t2 * (n1 * k2 + k1), part);
  Operand matrices = HostTensor::floats(
      emit.typeOf({n1, n2 * 2, n2 * 2}, x.elementType()), std::move(values));
  Operand product =
      emit.emit<nn::MatMulOp>(emit.typeOf({n1, rows, n2 * 2}, x.elementType()),
                              {emit.reshape(x, {n1, rows, n2 * 2}), matrices});
  return emit.reshape(product, {n1, rows, n2, 2});
}

} // namespace

int64_t shardc::onnx::fourierNumbers(int64_t n, int64_t parts) {
  constexpr int64_t tooMany = int64_t(1) << 31; // whose squares are too large
  if (n >= tooMany)
    return std::numeric_limits<int64_t>::max();
  int64_t n1 = firstOfTwo(n);
  if (n1 == 1)
    return n < tooMany / 4 ? n * parts * n * 2
                           : std::numeric_limits<int64_t>::max();
  return std::max(fourierNumbers(n1, parts), n * 2 * (n / n1) * 2);
}

Operand shardc::onnx::fourier(Emitter &emit, const Operand &x, bool isInverse) {
  int64_t parts = x.shape().back(), n = x.shape()[x.rank() - 2];
  int64_t n1 = firstOfTwo(n);
  if (n1 == 1)
    return directly(emit, x, isInverse);
  int64_t n2 = n / n1, rows = x.type().getNumElements() / (n * parts);
  Operand columns = emit.transpose(emit.reshape(x, {rows, n1, n2, parts}),
                                   {0, 2, 1, 3});    // [rows, t2, t1]
  Operand first = fourier(emit, columns, isInverse); // [rows, t2, k1]
  Operand second =
      secondHalf(emit, emit.transpose(first, {2, 0, 1, 3}), isInverse);
  Shape shape(x.shape());
  shape.back() = 2;
  return emit.reshape(emit.transpose(second, {1, 2, 0, 3}), shape); // k2, k1
}
