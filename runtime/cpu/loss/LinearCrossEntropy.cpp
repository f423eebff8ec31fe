// A linear layer and cross entropy over chunks of rows: the logits of a chunk
// are computed, then their gradient in place, and from it the gradients of
// input, weight and bias while the chunk is at hand.
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/WorkspaceSizes.h"
#include "runtime/cpu/loss/CrossEntropyRows.h"
#include "runtime/cpu/products/HalfGemm.h"

#include <atomic>

namespace shardc::runtime::cpu {
namespace {

using Matrix = GemmDesc::Matrix;

int64_t classesOf(const LinearCrossEntropy &a) {
  return a.weight.shape[a.transposeWeight ? 0 : 1];
}

LinearCrossEntropyPlaces placesOf(const LinearCrossEntropy &a,
                                  int64_t workers) {
  int64_t rows = foldRows(a.input, 1)->rows;
  return {{.rows = rows,
           .chunk = std::min(a.chunkRows, rows),
           .features = a.input.shape.back(),
           .classes = classesOf(a),
           .elementBytes = int64_t(elementSize(a.input.dtype)),
           .sumsWeights = a.weightGradient && isHalf(a.weightGradient.dtype) &&
                          rows > a.chunkRows,
           .sumsBias = a.biasGradient && isHalf(a.biasGradient.dtype)},
          workers};
}

/// S is the type of input and weight. Logits and their gradients are float32
/// where it has 16 bits.
template <typename S> class Chunks {
public:
  using T = ComputeOf<S>;

  Chunks(const LinearCrossEntropy &a, std::byte *workspace, ThreadPool &pool);

  void run();
  /// Generates the kernels of what run() multiplies.
  void prepare();

private:
  Matrix inputRows(int64_t first) const;
  Matrix weight(bool transpose) const;
  Matrix logitsMatrix() const;

  void multiply(const GemmDesc &product);
  void computeLogits(int64_t first, int64_t rows);
  void computeLosses(int64_t first, int64_t rows);
  void computeInputGradient(int64_t first, int64_t rows);
  void addWeightGradient(int64_t first, int64_t rows);
  void addBiasGradient(int64_t first, int64_t rows);
  /// Rounds the gradients of 16 bits that were summed in float32.
  void roundSums();

  const LinearCrossEntropy &a;
  ThreadPool &pool;
  LinearCrossEntropyPlaces places;
  std::byte *workspace;
  Rows input;
  int64_t features, classes;
  Targets targets;
  T *logits;
  double *rowLosses;
  std::atomic<int64_t> tops = 0; // rows whose largest logit is the label's
  Matrix weightSums;
  T *biasSums;
  bool executes = true;
};

template <typename S>
Chunks<S>::Chunks(const LinearCrossEntropy &a, std::byte *workspace,
                  ThreadPool &pool)
    : a(a), pool(pool), places(placesOf(a, pool.workers())),
      workspace(workspace), input(*foldRows(a.input, 1)),
      features(a.input.shape.back()), classes(classesOf(a)),
      targets(a.labels, classes), logits(reinterpret_cast<T *>(workspace)),
      rowLosses(reinterpret_cast<double *>(workspace + places.losses)) {
  if (a.weightGradient)
    weightSums = places.of.sumsWeights
                     ? Matrix{workspace + places.weightSums, plan::FLOAT32,
                              a.weight.shape[1]}
                     : Matrix{a.weightGradient.data, a.weightGradient.dtype,
                              a.weightGradient.strides[0]};
  biasSums = reinterpret_cast<T *>(
      places.of.sumsBias ? workspace + places.biasSums : a.biasGradient.data);
}

template <typename S> void Chunks<S>::run() {
  // A batch without rows still has gradients: zeros.
  for (int64_t first = 0; first == 0 || first < input.rows;
       first += a.chunkRows) {
    int64_t rows = std::min(a.chunkRows, input.rows - first);
    computeLogits(first, rows);
    computeLosses(first, rows);
    if (a.inputGradient)
      computeInputGradient(first, rows);
    if (a.weightGradient)
      addWeightGradient(first, rows);
    if (a.biasGradient)
      addBiasGradient(first, rows);
  }
  targets.check();
  roundSums();
  if (a.correct)
    *a.correct.template as<double>() = double(tops);
  writeLoss<T>(a.loss, rowLosses, input.rows, a.scale);
}

template <typename S> void Chunks<S>::prepare() {
  executes = false;
  for (int64_t first = 0; first == 0 || first < input.rows;
       first += a.chunkRows) {
    int64_t rows = std::min(a.chunkRows, input.rows - first);
    // The last chunk may be shorter than the others.
    if (first > 0 && rows == a.chunkRows)
      continue;
    computeLogits(first, rows);
    if (a.inputGradient)
      computeInputGradient(first, rows);
    if (a.weightGradient)
      addWeightGradient(first, rows);
  }
}

template <typename S> Matrix Chunks<S>::inputRows(int64_t first) const {
  return {a.input.data + first * input.stride * int64_t(sizeof(S)),
          a.input.dtype, input.stride};
}

template <typename S> Matrix Chunks<S>::weight(bool transpose) const {
  return {a.weight.data, a.weight.dtype, a.weight.strides[0], transpose};
}

template <typename S> Matrix Chunks<S>::logitsMatrix() const {
  return {reinterpret_cast<std::byte *>(logits), computeDtype(a.input.dtype),
          classes};
}

template <typename S> void Chunks<S>::multiply(const GemmDesc &product) {
  if constexpr (isHalfType<S>) {
    if (executes)
      halfGemm(product, workspace + places.products, pool.workers(), pool);
    else
      prepareHalfGemm(product, {1, 0, 0, 0}, pool.workers(), pool);
  } else {
    Gemm<T> p{};
    p.m = product.m, p.n = product.n, p.k = product.k;
    p.a = reinterpret_cast<T *>(product.a.data);
    p.strideA = product.a.stride, p.transposeA = product.a.transpose;
    p.b = reinterpret_cast<T *>(product.b.data);
    p.strideB = product.b.stride, p.transposeB = product.b.transpose;
    p.c = reinterpret_cast<T *>(product.c.data), p.strideC = product.c.stride;
    p.bias = reinterpret_cast<const T *>(product.bias);
    p.accumulate = product.accumulate;
    if (executes)
      cpu::gemm(p, pool);
    else
      prepareGemm(p, {1, 0, 0, 0}, pool);
  }
}

template <typename S>
void Chunks<S>::computeLogits(int64_t first, int64_t rows) {
  GemmDesc p{rows,
             classes,
             features,
             inputRows(first),
             weight(a.transposeWeight),
             logitsMatrix()};
  p.bias = a.bias.data, p.biasDtype = a.bias.dtype;
  multiply(p);
}

template <typename S>
void Chunks<S>::computeLosses(int64_t first, int64_t rows) {
  bool gradients = a.inputGradient || a.weightGradient || a.biasGradient;
  T factor = *a.scale.template as<T>();
  const Smoothing<T> smoothing(a.labels, classes);
  pool.forRanges(rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      T *of = logits + row * classes;
      const int64_t label = targets.of(first + row);
      const Wanted<T> wanted(smoothing, label);
      if (a.softcap != 0)
        simd::loops<T>().softcapRow(of, nullptr, T(a.softcap), classes);
      if (a.correct && isTop(of, classes, label))
        ++tops;
      rowLosses[first + row] =
          a.softcap != 0 && gradients && label != noLabel
              ? lossOfCappedRow<T>(of, classes, wanted, factor, T(a.softcap))
              : lossOfRow<T>(of, classes, wanted, factor,
                             gradients ? of : nullptr);
    }
  });
}

template <typename S>
void Chunks<S>::computeInputGradient(int64_t first, int64_t rows) {
  Rows out = *foldRows(a.inputGradient, 1);
  multiply({rows,
            features,
            classes,
            logitsMatrix(),
            weight(!a.transposeWeight),
            {a.inputGradient.data + first * out.stride * int64_t(sizeof(S)),
             a.inputGradient.dtype, out.stride}});
}

template <typename S>
void Chunks<S>::addWeightGradient(int64_t first, int64_t rows) {
  GemmDesc p{};
  p.m = features, p.n = classes, p.k = rows;
  p.a = inputRows(first), p.b = logitsMatrix();
  if (a.transposeWeight) {
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
  }
  p.a.transpose = true;
  p.c = weightSums;
  p.accumulate = first > 0;
  multiply(p);
}

template <typename S>
void Chunks<S>::addBiasGradient(int64_t first, int64_t rows) {
  pool.forRanges(classes, 1024, [&](int64_t begin, int64_t end, int) {
    if (first == 0)
      std::fill(biasSums + begin, biasSums + end, T(0));
    for (int64_t row = 0; row < rows; ++row)
      simd::loops<T>().add(biasSums + begin, logits + row * classes + begin,
                           end - begin);
  });
}

template <typename S> void Chunks<S>::roundSums() {
  if constexpr (isHalfType<S>) {
    if (places.of.sumsBias)
      roundRow(biasSums, a.biasGradient.template as<S>(), classes);
    if (!places.of.sumsWeights)
      return;
    auto *sums = reinterpret_cast<const float *>(weightSums.data);
    int64_t columns = a.weight.shape[1];
    pool.forRanges(a.weight.shape[0], 16, [&](int64_t begin, int64_t end, int) {
      int64_t stride = a.weightGradient.strides[0];
      roundRows(sums + begin * columns, columns,
                a.weightGradient.template as<S>() + begin * stride, stride,
                end - begin, columns);
    });
  }
}

} // namespace

int64_t linearCrossEntropyWorkspace(const LinearCrossEntropy &a, int workers) {
  return placesOf(a, workers).end;
}

void prepareLinearCrossEntropy(const LinearCrossEntropy &a,
                               std::byte *workspace, ThreadPool &pool) {
  withFloat(a.input.dtype,
            [&]<typename S>(S) { Chunks<S>(a, workspace, pool).prepare(); });
}

void linearCrossEntropy(const LinearCrossEntropy &a, std::byte *workspace,
                        ThreadPool &pool) {
  withFloat(a.input.dtype,
            [&]<typename S>(S) { Chunks<S>(a, workspace, pool).run(); });
}

} // namespace shardc::runtime::cpu
