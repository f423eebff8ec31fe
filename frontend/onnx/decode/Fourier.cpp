// A short transform is one product with its matrix. A longer one whose length is
// f m is m transforms of f elements and then f of m, each of which may be two
// again (Cooley and Tukey, An Algorithm for the Machine Calculation of Complex
// Fourier Series, 1965). With t = m p + q and k = f l + h,
//   X[k] = sum over q of e^(-2 pi i q l / m) e^(-2 pi i q h / (f m))
//          sum over p of e^(-2 pi i p h / f) x[m p + q].
// Where only real parts are given, or only the first X are wanted, as many sums
// are left out of either. Where the length has a large prime, k t = (k^2 + t^2 -
// (k - t)^2) / 2 makes a convolution of the sum, of any length that is long
// enough (Bluestein, A Linear Filtering Approach to the Computation of the
// Discrete Fourier Transform, 1970).
// Real and imaginary parts lie one behind the other, so that each sum is a
// product with a matrix from the left, and nothing has to be moved between them.
#include "frontend/onnx/decode/Fourier.h"

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

/// The lengths of the transforms that one of n is made of, the longest last:
/// about equally long, and as few as there are with products of `shortest`.
SmallVector<int64_t> factorsOf(int64_t n) {
  SmallVector<int64_t> factors;
  for (double left = std::ceil(std::log2(double(n)) / std::log2(shortest));
       left > 1; --left) {
    auto factor = int64_t(std::pow(double(n), 1 / left) + 0.5);
    while (n % factor)
      --factor;
    if (factor > 1)
      factors.push_back(factor);
    n /= factor;
  }
  factors.push_back(n);
  return factors;
}

/// e^(-2 pi i j / n), or its conjugate for an inverse. Beyond n the angle would
/// lose digits.
std::complex<double> rootOfUnity(int64_t j, int64_t n, bool isInverse) {
  return std::polar(1.0, (isInverse ? 2 : -2) * std::numbers::pi *
                             double(j % n) / double(n));
}

int64_t results(const FourierTransform &transform) {
  return transform.isReal ? 1 : 2;
}

/// What multiplies part `from` of x[t] in part `to` of X[k]; part 0 is the real
/// one.
double factor(const FourierTransform &transform, int64_t k, int to, int64_t t,
              int from) {
  std::complex<double> root =
      rootOfUnity(k * t, transform.length, transform.isInverse);
  double value = to == from ? root.real() : to ? root.imag() : -root.imag();
  return transform.isInverse ? value / double(transform.length) : value;
}

/// The matrix of a transform, [results count, parts given].
Operand matrixOf(Emitter &emit, const FourierTransform &transform,
                 int64_t parts, int64_t given, Type element) {
  HostTensor::Floats values;
  int64_t rows = results(transform) * transform.count, columns = parts * given;
  values.reserve(rows * columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      values.push_back(factor(transform, row % transform.count,
                              int(row / transform.count), column % given,
                              int(column / given)));
  return HostTensor::floats(emit.typeOf({rows, columns}, element),
                            std::move(values));
}

/// A product that stays in float32 where others are of 16 bits, as those of
/// torch.autocast do.
Operand unrounded(Emitter &emit, Operand product) {
  if (!product.isConstant())
    product.value().getDefiningOp()->setDiscardableAttr(
        nn::unroundedAttr, emit.attributes().getUnitAttr());
  return product;
}

/// A matrix [m, k] times each x [rows, k, n], or [rows, n, k] which is read
/// transposed, to [rows, m, n].
Operand fromTheLeft(Emitter &emit, const Operand &matrix, const Operand &x,
                    bool isTransposed) {
  int64_t rows = x.shape()[0], m = matrix.shape()[0];
  SmallVector<NamedAttribute> attributes;
  if (isTransposed)
    attributes.push_back(emit.flag("transpose_rhs"));
  return unrounded(
      emit, emit.emit<nn::MatMulOp>(
                emit.typeOf({rows, m, x.shape()[isTransposed ? 1 : 2]},
                            x.elementType()),
                {emit.broadcast(matrix, {rows, m, matrix.shape()[1]}), x},
                attributes));
}

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

  /// The parts of x times them, whose type has one part.
  std::pair<Operand, Operand> times(Emitter &emit, const Operand &x,
                                    int64_t dim) const {
    auto mul = [&](const Operand &a, const Operand &b) {
      return emit.binary<nn::MulOp>(a, b);
    };
    Operand a = emit.sliceDim(x, dim, 0, 1);
    if (x.shape()[dim] == 1)
      return {mul(a, real), mul(a, imag)};
    Operand b = emit.sliceDim(x, dim, 1, 1);
    return {emit.binary<nn::SubOp>(mul(a, real), mul(b, imag)),
            emit.binary<nn::AddOp>(mul(a, imag), mul(b, real))};
  }
};

/// x with zeros behind the elements of its last dim, `size` of them in all.
Operand padded(Emitter &emit, const Operand &x, int64_t size) {
  Shape none(x.rank(), 0), high(none);
  high.back() = size - x.shape().back();
  return high.back() ? emit.pad(x, none, high, none) : x;
}

/// All at once: x [rows, parts, given].
Operand directly(Emitter &emit, const Operand &x,
                 const FourierTransform &transform) {
  int64_t rows = x.shape()[0], parts = x.shape()[1], given = x.shape()[2];
  Operand matrix = matrixOf(emit, transform, parts, given, x.elementType());
  Operand flat = emit.reshape(x, {rows, parts * given});
  return emit.reshape(unrounded(emit, emit.linear(flat, matrix, true)),
                      {rows, results(transform), transform.count});
}

/// By transforms of its factors: x [rows, parts, given].
Operand byFactors(Emitter &emit, Operand x, const FourierTransform &transform,
                  ArrayRef<int64_t> factors) {
  int64_t rows = x.shape()[0], behind = transform.length, before = 1;
  Type element = x.elementType();
  for (int64_t factor : factors.drop_back()) {
    // [rows ... h', parts, p, q] to [rows ... h', 2, h, q].
    int64_t parts = x.shape()[1],
            length = std::exchange(behind, behind / factor),
            given = llvm::divideCeil(x.shape()[2], behind);
    Operand matrix = matrixOf(emit, {factor, transform.isInverse, factor},
                              parts, given, element);
    Operand sums =
        fromTheLeft(emit, matrix,
                    emit.reshape(padded(emit, x, given * behind),
                                 {rows * before, parts * given, behind}),
                    false);
    Constants between(emit.typeOf({1, 1, factor, behind}, element),
                      [&](int64_t i) {
                        return rootOfUnity(i / behind * (i % behind), length,
                                           transform.isInverse);
                      });
    auto [real, imag] = between.times(
        emit, emit.reshape(sums, {rows * before, 2, factor, behind}), 1);
    before *= factor;
    Shape shape = {rows * before, 1, behind};
    x = emit.concat({emit.reshape(real, shape), emit.reshape(imag, shape)}, 1);
  }
  // k counts the h backwards, the last one first: [rows, ... h', h, 2, q].
  Shape shape = {rows}, order = {0};
  for (int64_t factor : factors.drop_back())
    shape.push_back(factor), order.insert(order.begin() + 1, shape.size() - 1);
  order.push_back(shape.size());
  shape.push_back(2 * behind);
  Operand ordered = emit.reshape(emit.transpose(emit.reshape(x, shape), order),
                                 {rows, before, 2 * behind});
  FourierTransform last{behind, transform.isInverse,
                        int64_t(llvm::divideCeil(transform.count, before)),
                        transform.isReal};
  Operand sums = fromTheLeft(emit, matrixOf(emit, last, 2, behind, element),
                             ordered, true);
  return emit.sliceDim(
      emit.reshape(sums, {rows, results(transform), last.count * before}), 2, 0,
      transform.count);
}

/// The transform of values whose number is a power of two, in their place.
void transformInPlace(llvm::MutableArrayRef<std::complex<double>> values) {
  size_t n = values.size();
  if (n == 1)
    return;
  std::vector<std::complex<double>> halves;
  for (size_t first : {0, 1})
    for (size_t i = first; i < n; i += 2)
      halves.push_back(values[i]);
  llvm::MutableArrayRef<std::complex<double>> all(halves);
  transformInPlace(all.take_front(n / 2));
  transformInPlace(all.drop_front(n / 2));
  for (size_t k = 0; k < n / 2; ++k) {
    std::complex<double> turned =
        halves[n / 2 + k] * rootOfUnity(int64_t(k), int64_t(n), false);
    values[k] = halves[k] + turned;
    values[n / 2 + k] = halves[k] - turned;
  }
}

/// By a convolution with e^(pi i t^2 / n), -n < t < n: x [rows, parts, given].
Operand byConvolution(Emitter &emit, const Operand &x,
                      const FourierTransform &transform) {
  int64_t n = transform.length, given = x.shape()[2], count = transform.count;
  auto length = int64_t(llvm::PowerOf2Ceil(uint64_t(2 * n - 1)));
  Type type = x.elementType();
  auto chirpAt = [&](int64_t t) {
    return rootOfUnity(t * t, 2 * n, transform.isInverse);
  };
  auto chirp = [&](int64_t size) {
    return Constants(emit.typeOf({1, 1, size}, type), chirpAt);
  };
  std::vector<std::complex<double>> kernel(static_cast<size_t>(length));
  for (int64_t t = 0; t < n; ++t)
    for (int64_t at : {t, (length - t) % length})
      kernel[size_t(at)] =
          std::conj(chirpAt(t)) / (transform.isInverse ? double(n) : 1.0);
  transformInPlace(kernel);
  Constants spectrum(emit.typeOf({1, 1, length}, type),
                     [&](int64_t k) { return kernel[size_t(k)]; });
  auto turned = [&](const Constants &by, const Operand &y) {
    auto [real, imag] = by.times(emit, y, 1);
    return emit.concat({real, imag}, 1);
  };
  Operand signal =
      FourierTransform{length, false, length}.of(emit, turned(chirp(given), x));
  Operand sums =
      FourierTransform{length, true, count}.of(emit, turned(spectrum, signal));
  auto [real, imag] = chirp(count).times(emit, sums, 1);
  return transform.isReal ? real : emit.concat({real, imag}, 1);
}

/// Whether a matrix may have so many elements, all of which a trainer carries.
bool isFew(int64_t elements) { return elements <= int64_t(1) << 22; }

} // namespace

Operand FourierTransform::of(Emitter &emit, const Operand &x) const {
  int64_t parts = x.shape()[x.rank() - 2], given = x.shape().back();
  Operand flat = emit.reshape(
      x, {x.type().getNumElements() / (parts * given), parts, given});
  SmallVector<int64_t> factors = factorsOf(length);
  bool isOne = factors.size() == 1;
  Operand result;
  if (!isFew(isOne ? parts * given * results(*this) * count
                   : 4 * factors.back() * factors.back()))
    result = byConvolution(emit, flat, *this);
  else
    result = isOne ? directly(emit, flat, *this)
                   : byFactors(emit, flat, *this, factors);
  Shape shape(x.shape());
  shape[x.rank() - 2] = results(*this), shape.back() = count;
  return emit.reshape(result, shape);
}

// All elements but those that are their own conjugates count twice, since the
// real parts of an element and of its conjugate are one sum.
Operand shardc::onnx::ofHalfSpectrum(Emitter &emit, const Operand &half,
                                     int64_t n) {
  int64_t given = half.shape().back();
  HostTensor::Floats counted(size_t(2 * given), 2);
  auto count = [&](int64_t k) {
    if (k < given)
      counted[size_t(k)] = 1, counted[size_t(given + k)] = 0;
  };
  count(0);
  if (n % 2 == 0)
    count(n / 2);
  Operand all = emit.binary<nn::MulOp>(
      half, HostTensor::floats(emit.typeOf({2, given}, half.elementType()),
                               std::move(counted)));
  return FourierTransform{n, true, n, true}.of(emit, all);
}
