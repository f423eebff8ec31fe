// Sums and maxima over ranks, in one pass over all their elements.
#include "runtime/comm/RankOrderSum.h"

#include "runtime/simd/Simd.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

namespace shardc::runtime {

namespace {

/// A chunk of all ranks' buffers, and how it is combined.
struct Combined {
  std::span<std::byte *const> destinations;
  std::span<const std::byte *const> sources; // in rank order
  int64_t count;
  bool streamed;
  Unrounded unrounded;

  template <typename T> T *const *to() const {
    return reinterpret_cast<T *const *>(destinations.data());
  }
  template <typename T> const T *const *from() const {
    return reinterpret_cast<const T *const *>(sources.data());
  }

  /// Combines element by element, where vector registers are not worth it.
  template <typename T, typename Function> void each(Function combine) const {
    for (int64_t i = 0; i < count; ++i) {
      T total = from<T>()[0][i];
      for (size_t rank = 1; rank < sources.size(); ++rank)
        total = combine(total, from<T>()[rank][i]);
      for (size_t copy = 0; copy < destinations.size(); ++copy)
        to<T>()[copy][i] = total;
    }
  }
  template <typename T> void sum() const {
    if constexpr (std::is_floating_point_v<T>) {
      if (streamed && destinations.size() == 1)
        return simd::loops<T>().sumAroundCaches(to<T>()[0], from<T>(),
                                                int(sources.size()), count);
      simd::loops<T>().sum(to<T>(), destinations.size(), from<T>(),
                           sources.size(), count);
    } else if constexpr (std::is_integral_v<T>)
      each<T>([](T a, T b) { // wraps around
        using Unsigned = std::make_unsigned_t<T>;
        return T(Unsigned(a) + Unsigned(b));
      });
    else if (unrounded.before || unrounded.after)
      sumOfBlocks<T>();
    else
      simd::halfLoops<T>().sum(to<T>(), destinations.size(), from<T>(),
                               sources.size(), count);
  }
  /// Adds up elements of 16 bits a block at a time, in float32.
  template <typename T> void sumOfBlocks() const {
    constexpr int64_t block = 2048; // total and term stay in the first cache
    alignas(64) float total[block], term[block];
    float *const totals[] = {total};
    const float *const terms[] = {total, term};
    const auto &halves = simd::halfLoops<T>();
    for (int64_t begin = 0; begin < count; begin += block) {
      int64_t size = std::min(block, count - begin);
      size_t next = 0;
      if (unrounded.before)
        std::memcpy(total,
                    reinterpret_cast<const float *>(unrounded.before) + begin,
                    size * sizeof(float));
      else
        halves.widen(total, from<T>()[next++] + begin, size);
      for (; next < sources.size(); ++next) {
        halves.widen(term, from<T>()[next] + begin, size);
        simd::loops<float>().sum(totals, 1, terms, 2, size);
      }
      for (size_t copy = 0; copy < destinations.size(); ++copy)
        if (unrounded.after)
          std::memcpy(to<float>()[copy] + begin, total, size * sizeof(float));
        else
          halves.round(to<T>()[copy] + begin, total, size);
    }
  }
  template <typename T> void maximum() const {
    auto larger = [](auto a, auto b) { return a != a || a >= b ? a : b; };
    if constexpr (std::is_arithmetic_v<T>)
      each<T>(larger);
    else
      each<T>([&](T a, T b) {
        float wideA, wideB;
        simd::halfLoops<T>().widen(&wideA, &a, 1);
        simd::halfLoops<T>().widen(&wideB, &b, 1);
        return wideA != wideA || wideA >= wideB ? a : b;
      });
  }
  template <typename T> void run(Combine combine) const {
    combine == Combine::Sum ? sum<T>() : maximum<T>();
  }
};

} // namespace

void combineInRankOrder(std::span<std::byte *const> destinations,
                        std::span<const std::byte *const> sources,
                        int64_t count, plan::DType dtype, Combine combine,
                        bool streamed, Unrounded unrounded) {
  std::vector<const std::byte *> withBefore;
  if (unrounded.before && Communicator::sumType(dtype) == dtype) {
    withBefore.push_back(unrounded.before);
    withBefore.insert(withBefore.end(), sources.begin(), sources.end());
    sources = withBefore;
  }
  Combined combined{destinations, sources, count, streamed, unrounded};
  switch (dtype) {
  case plan::FLOAT32:
    return combined.run<float>(combine);
  case plan::FLOAT64:
    return combined.run<double>(combine);
  case plan::BFLOAT16:
    return combined.run<BFloat16>(combine);
  case plan::FLOAT16:
    return combined.run<Float16>(combine);
  case plan::INT64:
    return combined.run<int64_t>(combine);
  default:
    return combined.run<int32_t>(combine);
  }
}

} // namespace shardc::runtime
