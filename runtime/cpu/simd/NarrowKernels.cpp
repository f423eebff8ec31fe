// The inner loops of Narrow.h. As Kernels.cpp: compiled once per instruction
// set, and nothing of other headers may be instantiated here.
#include "runtime/cpu/simd/Narrow.h"
#include "runtime/cpu/simd/NarrowVector.h"

namespace shardc::runtime::cpu::SHARDC_SIMD_LEVEL {
namespace {

constexpr int64_t width = lanes<float>;

template <typename S>
SHARDC_INLINE Float16x loadUpTo(const S *from, int64_t n, float rest = 0) {
  return n >= width ? loadNarrow(from) : loadNarrowPart(from, n, rest);
}
template <typename S>
SHARDC_INLINE void storeUpTo(S *to, Float16x value, int64_t n) {
  if (n >= width)
    storeNarrow(to, value);
  else
    storeNarrowPart(to, value, n);
}

template <typename S> void widen(const S *from, float *to, int64_t count) {
  int64_t i = 0;
  for (; i + width <= count; i += width)
    store(to + i, loadNarrow(from + i));
  if (i < count)
    storePart(to + i, loadNarrowPart(from + i, count - i, 0), count - i);
}

template <typename S> void narrow(const float *from, S *to, int64_t count) {
  int64_t i = 0;
  for (; i + width <= count; i += width)
    storeNarrow(to + i, load(from + i));
  if (i < count)
    storeNarrowPart(to + i, loadPart(from + i, count - i, 0.0f), count - i);
}

template <typename S> NarrowRowSum rowSum(const S *logits, int64_t count) {
  const float lowest = -__builtin_inff();
  Float16x largest[2] = {broadcast(lowest), broadcast(lowest)};
  int which = 0;
  for (int64_t i = 0; i < count; i += width, which ^= 1)
    largest[which] =
        larger<float>(loadUpTo(logits + i, count - i, lowest), largest[which]);
  float maximum = largestLane<float>(larger<float>(largest[0], largest[1]));
  if (maximum == lowest)
    maximum = 0;
  // Runs of 64 vectors go into double, as in Simd<float>::logSumExp.
  constexpr int64_t run = 64 * width;
  Double16x total = {};
  for (int64_t begin = 0; begin < count; begin += run) {
    int64_t end = count - begin < run ? count : begin + run;
    Float16x part = {};
    for (int64_t i = begin; i < end; i += width)
      part += exponential(loadUpTo(logits + i, end - i, lowest) - maximum);
    total += __builtin_convertvector(part, Double16x);
  }
  return {maximum, sumOfLanes<Double16x, double, lanes<float>>(total)};
}

template <typename S>
void crossEntropyGradient(const S *logits, S *gradient, NarrowRowSum row,
                          float factor, int64_t label, int64_t count) {
  const float scale = static_cast<float>(factor / row.sum);
  auto probability = [&](int64_t i, int64_t n) {
    return exponential(loadUpTo(logits + i, n) - row.maximum) * scale;
  };
  Float16x atLabel = probability(label, 1) - factor;
  for (int64_t i = 0; i < count; i += width)
    storeUpTo(gradient + i, probability(i, count - i), count - i);
  storeNarrowPart(gradient + label, atLabel, 1);
}

template <typename S>
constexpr NarrowSimd<S> table = {widen<S>, narrow<S>, rowSum<S>,
                                 crossEntropyGradient<S>};

} // namespace

extern const NarrowSimd<BFloat16> bfloatTable;
extern const NarrowSimd<Float16> halfTable;
const NarrowSimd<BFloat16> bfloatTable = table<BFloat16>;
const NarrowSimd<Float16> halfTable = table<Float16>;

} // namespace shardc::runtime::cpu::SHARDC_SIMD_LEVEL
