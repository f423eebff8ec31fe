// Cross entropy by rows; the rows' losses are kept in double and added in
// order.
#include "runtime/cpu/CrossEntropy.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/ThreadPool.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Integers.h"
#include "runtime/cpu/simd/Simd.h"

#include <algorithm>

namespace shardc::runtime::cpu {
namespace {

constexpr int64_t noLabel = -1;

/// The label that each row of logits is compared with.
class Targets {
public:
  Targets(const Labels &labels, int64_t classes)
      : labels(labels), values(labels.labels), classes(classes),
        length(labels.labels.shape.empty() ? 1 : labels.labels.shape.back()) {}

  /// In [0, classes), or noLabel.
  int64_t of(int64_t row) {
    if (row % length + labels.shift >= length)
      return noLabel;
    int64_t label = values[row + labels.shift];
    if (label == labels.ignoreIndex)
      return noLabel;
    if (label >= 0 && label < classes)
      return label;
    wrong.note(row + labels.shift);
    return noLabel;
  }
  /// Throws where of() met a label outside the classes.
  void check() const {
    if (wrong.any())
      fail("label ", values[wrong.position()], " in row ", wrong.position(),
           " of the labels is outside [0, ", classes,
           ") and is not the ignored ", labels.ignoreIndex);
  }

private:
  const Labels &labels;
  Integers values;
  int64_t classes, length;
  FirstWrong wrong;
};

/// A row's loss; `gradient` (null: none; may be `logits`) becomes factor *
/// (softmax - one_hot).
template <typename T>
double lossOfRow(const T *logits, int64_t classes, int64_t label, T factor,
                 T *gradient) {
  const Simd<T> &loops = simd<T>();
  if (label == noLabel) {
    if (gradient)
      std::fill_n(gradient, classes, T(0));
    return 0;
  }
  double atLabel = logits[label], sum;
  double logSumExp = loops.logSumExp(logits, gradient, &sum, classes);
  if (gradient) {
    loops.scale(gradient, T(factor / sum), classes);
    gradient[label] -= factor;
  }
  return logSumExp - atLabel;
}

template <typename T> T scalar(const Tensor &tensor) { return *tensor.as<T>(); }

template <typename T>
void writeLoss(const Tensor &loss, const double *rowLosses, int64_t rows,
               T scale) {
  double total = 0;
  for (int64_t row = 0; row < rows; ++row)
    total += rowLosses[row];
  *loss.as<T>() = T(double(scale) * total);
}

template <typename T>
void lossOnly(const Tensor &logits, const Labels &labels, const Tensor &scale,
              const Tensor &loss, double *rowLosses, ThreadPool &pool) {
  Rows rows = *foldRows(logits, 1);
  int64_t classes = logits.shape.back();
  Targets targets(labels, classes);
  pool.forRanges(rows.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      rowLosses[row] = lossOfRow<T>(logits.as<T>() + row * rows.stride, classes,
                                    targets.of(row), 0, nullptr);
  });
  targets.check();
  writeLoss<T>(loss, rowLosses, rows.rows, scalar<T>(scale));
}

template <typename T>
void gradientOnly(const Tensor &logits, const Labels &labels,
                  const Tensor &scale, const Tensor &gradient,
                  const Tensor &logitsGradient, ThreadPool &pool) {
  Rows rows = *foldRows(logits, 1), out = *foldRows(logitsGradient, 1);
  int64_t classes = logits.shape.back();
  Targets targets(labels, classes);
  T factor = scalar<T>(scale) * (gradient ? scalar<T>(gradient) : T(1));
  pool.forRanges(rows.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      lossOfRow<T>(logits.as<T>() + row * rows.stride, classes, targets.of(row),
                   factor, logitsGradient.as<T>() + row * out.stride);
  });
  targets.check();
}

int64_t logitsBytes(const LinearCrossEntropy &a, int64_t rows,
                    int64_t classes) {
  int64_t bytes = std::min(a.chunkRows, rows) * classes *
                  static_cast<int64_t>(elementSize(a.input.dtype));
  return (bytes + 63) / 64 * 64;
}
int64_t classesOf(const LinearCrossEntropy &a) {
  return a.weight.shape[a.transposeWeight ? 0 : 1];
}

/// Linear layer and loss over chunks of rows: logits, their gradient in place,
/// and from it the gradients of input, weight and bias while the chunk is at
/// hand.
template <typename T> class Chunks {
public:
  Chunks(const LinearCrossEntropy &a, std::byte *workspace, ThreadPool &pool)
      : a(a), pool(pool), input(*foldRows(a.input, 1)),
        features(a.input.shape.back()), classes(classesOf(a)),
        targets(a.labels, classes), logits(reinterpret_cast<T *>(workspace)),
        rowLosses(reinterpret_cast<double *>(
            workspace + logitsBytes(a, input.rows, classes))) {}

  void run() {
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
    writeLoss<T>(a.loss, rowLosses, input.rows, scalar<T>(a.scale));
  }

private:
  const T *inputRow(int64_t row) const {
    return a.input.as<T>() + row * input.stride;
  }

  void computeLogits(int64_t first, int64_t rows) {
    Gemm<T> p{};
    p.m = rows, p.n = classes, p.k = features;
    p.a = inputRow(first), p.strideA = input.stride;
    p.b = a.weight.as<T>(), p.strideB = a.weight.strides[0];
    p.transposeB = a.transposeWeight;
    p.c = logits, p.strideC = classes;
    p.bias = a.bias ? a.bias.as<T>() : nullptr;
    gemm(p, pool);
  }
  void computeLosses(int64_t first, int64_t rows) {
    bool gradients = a.inputGradient || a.weightGradient || a.biasGradient;
    T factor = scalar<T>(a.scale);
    pool.forRanges(rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        T *of = logits + row * classes;
        rowLosses[first + row] =
            lossOfRow<T>(of, classes, targets.of(first + row), factor,
                         gradients ? of : nullptr);
      }
    });
  }
  void computeInputGradient(int64_t first, int64_t rows) {
    Rows out = *foldRows(a.inputGradient, 1);
    Gemm<T> p{};
    p.m = rows, p.n = features, p.k = classes;
    p.a = logits, p.strideA = classes;
    p.b = a.weight.as<T>(), p.strideB = a.weight.strides[0];
    p.transposeB = !a.transposeWeight;
    p.c = a.inputGradient.as<T>() + first * out.stride, p.strideC = out.stride;
    gemm(p, pool);
  }
  void addWeightGradient(int64_t first, int64_t rows) {
    Gemm<T> p{};
    p.k = rows;
    p.transposeA = true;
    if (a.transposeWeight) {
      p.m = classes, p.n = features;
      p.a = logits, p.strideA = classes;
      p.b = inputRow(first), p.strideB = input.stride;
    } else {
      p.m = features, p.n = classes;
      p.a = inputRow(first), p.strideA = input.stride;
      p.b = logits, p.strideB = classes;
    }
    p.c = a.weightGradient.as<T>();
    p.strideC = a.weightGradient.strides[0];
    p.accumulate = first > 0;
    gemm(p, pool);
  }
  void addBiasGradient(int64_t first, int64_t rows) {
    T *sums = a.biasGradient.as<T>();
    pool.forRanges(classes, 1024, [&](int64_t begin, int64_t end, int) {
      if (first == 0)
        std::fill(sums + begin, sums + end, T(0));
      for (int64_t row = 0; row < rows; ++row)
        simd<T>().add(sums + begin, logits + row * classes + begin,
                      end - begin);
    });
  }

  const LinearCrossEntropy &a;
  ThreadPool &pool;
  Rows input;
  int64_t features, classes;
  Targets targets;
  T *logits;
  double *rowLosses;
};

} // namespace

void crossEntropy(const Tensor &logits, const Labels &labels,
                  const Tensor &scale, const Tensor &loss, std::byte *workspace,
                  ThreadPool &pool) {
  auto *rowLosses = reinterpret_cast<double *>(workspace);
  if (logits.dtype == plan::FLOAT32)
    lossOnly<float>(logits, labels, scale, loss, rowLosses, pool);
  else
    lossOnly<double>(logits, labels, scale, loss, rowLosses, pool);
}

void crossEntropyGrad(const Tensor &logits, const Labels &labels,
                      const Tensor &scale, const Tensor &gradient,
                      const Tensor &logitsGradient, ThreadPool &pool) {
  if (logits.dtype == plan::FLOAT32)
    gradientOnly<float>(logits, labels, scale, gradient, logitsGradient, pool);
  else
    gradientOnly<double>(logits, labels, scale, gradient, logitsGradient, pool);
}

int64_t linearCrossEntropyWorkspace(const LinearCrossEntropy &a) {
  int64_t rows = foldRows(a.input, 1)->rows;
  return logitsBytes(a, rows, classesOf(a)) + rows * sizeof(double);
}

void linearCrossEntropy(const LinearCrossEntropy &a, std::byte *workspace,
                        ThreadPool &pool) {
  if (a.input.dtype == plan::FLOAT32)
    Chunks<float>(a, workspace, pool).run();
  else
    Chunks<double>(a, workspace, pool).run();
}

} // namespace shardc::runtime::cpu
