// Norms of gradients. Gradients are cut into parts of fixed size, so that the
// order of the sum is fixed.
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Optimizer.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::cpu {

static constexpr int64_t partElements = 64 << 10;

GradientNorm::GradientNorm(std::vector<Tensor> gradientTensors,
                           std::vector<int64_t> slices)
    : gradients(std::move(gradientTensors)), levels(std::move(slices)) {
  int64_t count = 1;
  for (int64_t level : levels)
    count *= level;
  for (int64_t slice = 0; slice < count; ++slice)
    for (int64_t i = 0; i < int64_t(gradients.size()); ++i) {
      int64_t size = gradients[i].elements() / count;
      for (int64_t begin = 0; begin < size; begin += partElements)
        parts.push_back({slice, i, slice * size + begin,
                         slice * size + std::min(size, begin + partElements)});
    }
  partSums.resize(parts.size());
  sliceSums.resize(count);
}

/// Returns the larger; what is not a number wins.
static double larger(double a, double b) { return a != a || a >= b ? a : b; }
static double combined(Norm norm, double a, double b) {
  return norm == Norm::Inf ? larger(a, b) : a + b;
}

template <typename T>
static double powerSum(const T *values, int64_t count, Norm norm) {
  switch (norm) {
  case Norm::One:
    return simd::loops<T>().absoluteSum(values, count);
  case Norm::Two:
    return simd::loops<T>().squaredNorm(values, count);
  default:
    return simd::loops<T>().largestAbsolute(values, count);
  }
}
template <typename H>
static double powerSumOfHalves(const H *values, int64_t count, Norm norm) {
  constexpr int64_t block = 4096;
  alignas(64) float wide[block];
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t size = std::min(block, count - begin);
    simd::halfLoops<H>().widen(wide, values + begin, size);
    total = combined(norm, total, powerSum(wide, size, norm));
  }
  return total;
}
static double powerSum(const Tensor &gradient, int64_t begin, int64_t end,
                       Norm norm) {
  int64_t count = end - begin;
  switch (gradient.dtype) {
  case plan::FLOAT32:
    return powerSum(gradient.as<float>() + begin, count, norm);
  case plan::FLOAT64:
    return powerSum(gradient.as<double>() + begin, count, norm);
  case plan::BFLOAT16:
    return powerSumOfHalves(gradient.as<BFloat16>() + begin, count, norm);
  default:
    return powerSumOfHalves(gradient.as<Float16>() + begin, count, norm);
  }
}

double GradientNorm::partialSum(Norm norm, size_t level,
                                const double *&slice) const {
  if (level == levels.size())
    return *slice++;
  double total = 0;
  for (int64_t i = 0; i < levels[level]; ++i)
    total = combined(norm, total, partialSum(norm, level + 1, slice));
  return total;
}

double GradientNorm::compute(Norm norm, ThreadPool &pool) {
  pool.forRanges(parts.size(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      partSums[i] = powerSum(gradients[parts[i].gradient], parts[i].begin,
                             parts[i].end, norm);
  });
  std::fill(sliceSums.begin(), sliceSums.end(), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    double &sum = sliceSums[parts[i].slice];
    sum = combined(norm, sum, partSums[i]);
  }
  const double *slice = sliceSums.data();
  return partialSum(norm, 0, slice);
}

} // namespace shardc::runtime::cpu
