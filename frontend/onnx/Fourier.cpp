// A short transform is one product with its matrix. A longer one whose length
// is n1 n2 is n2 transforms of n1 elements and then n1 of n2 (Cooley and Tukey,
// An Algorithm for the Machine Calculation of Complex Fourier Series, 1965).
// With t = n2 t1 + t2 and k = n1 k2 + k1,
//   X[k] = sum over t2 of e^(-2 pi i t2 k / n)
//          sum over t1 of e^(-2 pi i t1 k1 / n1) x[n2 t1 + t2]:
// the factors between the two are part of the second one's matrices, of which
// each k1 has its own; of long ones, where these would be too many, they are
// multiplied with in between. Where n has a large prime, k t = (k^2 + t^2 -
// (k - t)^2) / 2 makes a convolution of the sum, of any length that is long
// enough (Bluestein, A Linear Filtering Approach to the Computation of the
// Discrete Fourier Transform, 1970).
#include "frontend/onnx/Fourier.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;

namespace {

/// A product with the matrix of so many elements is as fast as several with
/// smaller ones.
constexpr int64_t shortest = 128;

/// The most numbers in the matrices of a second half: more of them come from
/// memory for each row, and take a compiler's time.
constexpr int64_t mostOwnFactors = int64_t(1) << 20;

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

/// e^(-2 pi i j / n), or its conjugate for an inverse. Beyond n the angle would
/// lose digits.
std::complex<double> rootOfUnity(int64_t j, int64_t n, bool isInverse) {
  return std::polar(1.0, (isInverse ? 2 : -2) * std::numbers::pi *
                             double(j % n) / double(n));
}

/// The factors e^(-2 pi i j / n), or e^(2 pi i j / n) / scale, as elements of a
/// matrix: a row for the real part of what is multiplied and one for the
/// imaginary part, and columns for those of the product.
class Factors {
public:
  Factors(int64_t n, bool isInverse, int64_t scale)
      : n(n), isInverse(isInverse), scale(isInverse ? 1 / double(scale) : 1) {}

  /// Appends both columns of one row: part 0 is the real one.
  void append(HostTensor::Floats &values, int64_t j, int part) const {
    std::complex<double> root = scale * rootOfUnity(j, n, isInverse);
    values.push_back(part == 0 ? root.real() : -root.imag());
    values.push_back(part == 0 ? root.imag() : root.real());
  }

private:
  int64_t n;
  bool isInverse;
  double scale;
};

/// Complex constants.
struct Constants {
  Operand real, imag;

  Constants(RankedTensorType type,
            llvm::function_ref<std::complex<double>(int64_t)> at) {
    HostTensor::Floats reals, imags;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      std::complex<double> value = at(i);
      reals.push_back(value.real());
      imags.push_back(value.imag());
    }
    real = HostTensor::floats(type, std::move(reals));
    imag = HostTensor::floats(type, std::move(imags));
  }

  /// x [..., 1 or 2] times them, [..., 2].
  Operand times(Emitter &emit, const Operand &x) const {
    int64_t last = x.rank() - 1;
    auto mul = [&](const Operand &a, const Operand &b) {
      return emit.binary<nn::MulOp>(a, b);
    };
    Operand a = emit.sliceDim(x, last, 0, 1);
    if (x.shape().back() == 1)
      return emit.concat({mul(a, real), mul(a, imag)}, last);
    Operand b = emit.sliceDim(x, last, 1, 1);
    return emit.concat({emit.binary<nn::SubOp>(mul(a, real), mul(b, imag)),
                        emit.binary<nn::AddOp>(mul(a, imag), mul(b, real))},
                       last);
  }
};

/// A product that stays in float32 where others are of 16 bits, as those of
/// torch.autocast do.
Operand unrounded(Emitter &emit, Operand product) {
  if (!product.isConstant())
    product.value().getDefiningOp()->setDiscardableAttr(
        nn::unroundedAttr, emit.attributes().getUnitAttr());
  return product;
}

/// x [..., rows, parts] times a matrix of these values, to [..., columns, 2 or 1].
Operand multiplied(Emitter &emit, const Operand &x, HostTensor::Floats values,
                   int64_t columns, int64_t parts) {
  Shape shape(x.shape());
  int64_t rows = shape.pop_back_val();
  rows *= shape.pop_back_val();
  Operand matrix = HostTensor::floats(
      emit.typeOf({rows, columns * parts}, x.elementType()), std::move(values));
  shape.push_back(rows);
  Operand result =
      unrounded(emit, emit.linear(emit.reshape(x, shape), matrix, false));
  shape.back() = columns;
  shape.push_back(parts);
  return emit.reshape(result, shape);
}

/// All at once: x [..., n, parts], to the first `count` elements.
Operand directly(Emitter &emit, const Operand &x, bool isInverse,
                 int64_t count) {
  int64_t parts = x.shape().back(), n = x.shape()[x.rank() - 2];
  Factors factors(n, isInverse, n);
  HostTensor::Floats values;
  values.reserve(n * parts * count * 2);
  for (int64_t t = 0; t < n; ++t)
    for (int part = 0; part < parts; ++part)
      for (int64_t k = 0; k < count; ++k)
        factors.append(values, k * t, part);
  return multiplied(emit, x, std::move(values), count, 2);
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

/// The same with the factors between the two apart, and a transform of its own.
Operand secondTransform(Emitter &emit, const Operand &x, bool isInverse) {
  int64_t n1 = x.shape()[0], n2 = x.shape()[2];
  Constants between(emit.typeOf({n1, 1, n2, 1}, x.elementType()),
                    [&](int64_t i) {
                      return rootOfUnity(i / n2 * (i % n2), n1 * n2, isInverse);
                    });
  return fourier(emit, between.times(emit, x), isInverse);
}

/// The transform of values whose number is a power of two, in their place.
void transform(llvm::MutableArrayRef<std::complex<double>> values) {
  size_t n = values.size();
  if (n == 1)
    return;
  std::vector<std::complex<double>> halves;
  for (size_t first : {0, 1})
    for (size_t i = first; i < n; i += 2)
      halves.push_back(values[i]);
  llvm::MutableArrayRef<std::complex<double>> all(halves);
  transform(all.take_front(n / 2));
  transform(all.drop_front(n / 2));
  for (size_t k = 0; k < n / 2; ++k) {
    std::complex<double> turned =
        halves[n / 2 + k] * rootOfUnity(int64_t(k), int64_t(n), false);
    values[k] = halves[k] + turned;
    values[n / 2 + k] = halves[k] - turned;
  }
}

/// x [..., n, parts] by a convolution with e^(pi i t^2 / n), -n < t < n.
Operand byConvolution(Emitter &emit, const Operand &x, bool isInverse) {
  int64_t dim = x.rank() - 2, n = x.shape()[dim];
  auto length = int64_t(llvm::PowerOf2Ceil(uint64_t(2 * n - 1)));
  Type type = x.elementType();
  auto chirpAt = [&](int64_t t) {
    return rootOfUnity(t * t, 2 * n, isInverse);
  };
  std::vector<std::complex<double>> kernel(static_cast<size_t>(length));
  for (int64_t t = 0; t < n; ++t)
    for (int64_t at : {t, (length - t) % length})
      kernel[size_t(at)] =
          std::conj(chirpAt(t)) / (isInverse ? double(n) : 1.0);
  transform(kernel);
  Constants chirp(emit.typeOf({n, 1}, type), chirpAt);
  Constants spectrum(emit.typeOf({length, 1}, type),
                     [&](int64_t k) { return kernel[size_t(k)]; });
  Shape none(x.rank(), 0), high(none);
  high[dim] = length - n;
  Operand padded = emit.pad(chirp.times(emit, x), none, high, none);
  Operand product = spectrum.times(emit, fourier(emit, padded, false));
  Operand sums = fourier(emit, product, true);
  return chirp.times(emit, emit.sliceDim(sums, dim, 0, n));
}

/// Whether a constant may have so many elements.
bool isFew(int64_t elements) { return elements <= Emitter::maxElements; }

} // namespace

Operand shardc::onnx::fourier(Emitter &emit, const Operand &x, bool isInverse) {
  int64_t parts = x.shape().back(), n = x.shape()[x.rank() - 2];
  int64_t n1 = firstOfTwo(n);
  if (n1 == 1)
    return isFew(n * parts * n * 2) ? directly(emit, x, isInverse, n)
                                    : byConvolution(emit, x, isInverse);
  int64_t n2 = n / n1, rows = x.type().getNumElements() / (n * parts);
  Operand columns = emit.transpose(emit.reshape(x, {rows, n1, n2, parts}),
                                   {0, 2, 1, 3});    // [rows, t2, t1]
  Operand first = fourier(emit, columns, isInverse); // [rows, t2, k1]
  Operand turned = emit.transpose(first, {2, 0, 1, 3});
  Operand second = n * 2 * n2 * 2 <= mostOwnFactors
                       ? secondHalf(emit, turned, isInverse)
                       : secondTransform(emit, turned, isInverse);
  Shape shape(x.shape());
  shape.back() = 2;
  return emit.reshape(emit.transpose(second, {1, 2, 0, 3}), shape); // k2, k1
}

/// Whether real transforms of n elements are products with their own matrix.
static bool isShortReal(int64_t n) { return n <= 2 * shortest; }

/// X [..., n / 2 + 1, 2] backwards, conjugated.
static Operand mirrored(Emitter &emit, const Operand &x) {
  int64_t dim = x.rank() - 2;
  Shape starts(x.rank(), 0), steps(x.rank(), 1);
  starts[dim] = x.shape()[dim] - 1, steps[dim] = -1;
  Operand signs = HostTensor::floats(emit.typeOf({2}, x.elementType()),
                                     HostTensor::Floats{1, -1});
  return emit.binary<nn::MulOp>(emit.slice(x, starts, Shape(x.shape()), steps),
                                signs);
}

/// Half of the sum of both, plus their difference times `factors`.
static Operand combined(Emitter &emit, const Operand &x, const Operand &other,
                        const Constants &factors) {
  Operand sum = emit.binary<nn::MulOp>(emit.binary<nn::AddOp>(x, other),
                                       emit.scalar(x.elementType(), 0.5));
  return emit.binary<nn::AddOp>(
      sum, factors.times(emit, emit.binary<nn::SubOp>(x, other)));
}

// Of n real numbers those at even places are the real parts of n / 2 complex
// ones, and the others the imaginary ones. With Z their transform and
// Z'[k] = conj Z[n / 2 - k],
//   X[k] = (Z[k] + Z'[k]) / 2 - i / 2 e^(-2 pi i k / n) (Z[k] - Z'[k]),
// and back with X in place of Z and the conjugate factor.
Operand shardc::onnx::halfSpectrum(Emitter &emit, const Operand &x) {
  int64_t dim = x.rank() - 2, n = x.shape()[dim];
  if (isShortReal(n))
    return directly(emit, x, false, n / 2 + 1);
  if (n % 2)
    return emit.sliceDim(fourier(emit, x, false), dim, 0, n / 2 + 1);
  Shape shape(x.shape());
  shape[dim] = n / 2, shape[dim + 1] = 2;
  Operand z = fourier(emit, emit.reshape(x, shape), false);
  z = emit.concat({z, emit.sliceDim(z, dim, 0, 1)}, dim);
  Constants factors(
      emit.typeOf({n / 2 + 1, 1}, x.elementType()), [&](int64_t k) {
        return std::complex<double>(0, -0.5) * rootOfUnity(k, n, false);
      });
  return combined(emit, z, mirrored(emit, z), factors);
}

Operand shardc::onnx::ofHalfSpectrum(Emitter &emit, const Operand &half,
                                     int64_t n) {
  int64_t dim = half.rank() - 2, count = n / 2 + 1;
  auto isOwnConjugate = [&](int64_t k) { return k == 0 || 2 * k == n; };
  if (isShortReal(n)) {
    HostTensor::Floats values;
    for (int64_t k = 0; k < count; ++k)
      for (int part = 0; part < 2; ++part)
        for (int64_t t = 0; t < n; ++t) {
          std::complex<double> root = rootOfUnity(k * t, n, true);
          values.push_back((isOwnConjugate(k) ? 1 : 2) / double(n) *
                           (part == 0 ? root.real() : -root.imag()));
        }
    return multiplied(emit, half, std::move(values), n, 1);
  }
  if (n % 2) {
    Operand rest = emit.sliceDim(mirrored(emit, half), dim, 0, n - count);
    return emit.sliceDim(fourier(emit, emit.concat({half, rest}, dim), true),
                         dim + 1, 0, 1);
  }
  HostTensor::Floats counted(size_t(count * 2), 1);
  counted[1] = counted.back() = 0;
  Operand x = emit.binary<nn::MulOp>(
      half, HostTensor::floats(emit.typeOf({count, 2}, half.elementType()),
                               std::move(counted)));
  Constants factors(
      emit.typeOf({count, 1}, half.elementType()), [&](int64_t k) {
        return std::complex<double>(0, 0.5) * rootOfUnity(k, n, true);
      });
  Operand z = combined(emit, x, mirrored(emit, x), factors);
  Operand pairs = fourier(emit, emit.sliceDim(z, dim, 0, n / 2), true);
  Shape shape(half.shape());
  shape[dim] = n, shape[dim + 1] = 1;
  return emit.reshape(pairs, shape);
}
