// Arrays of numbers in two parts.
#include "runtime/base/SplitMaster.h"

#include <atomic>
#include <bit>

namespace shardc::runtime {

using Word = unsigned long long;

void joinFloats(const unsigned short *upper, const unsigned short *lower,
                const Word *words, int bit, long long count, float *values) {
  for (long long i = 0; i < count; ++i) {
    long long at = bit + i;
    bool isBelow = isHalfway(upper[i], lower[i]) &&
                   (__atomic_load_n(words + at / splitWord, __ATOMIC_RELAXED) >>
                        (at % splitWord) &
                    1) != 0;
    values[i] = std::bit_cast<float>(joinFloat(upper[i], lower[i], isBelow));
  }
}

void splitFloats(const float *values, long long count, unsigned short *upper,
                 unsigned short *lower, Word *words, int bit) {
  for (long long i = 0; i < count; ++i) {
    SplitFloat split = splitFloat(std::bit_cast<unsigned>(values[i]));
    upper[i] = split.upper;
    lower[i] = split.lower;
    if (!isHalfway(split.upper, split.lower))
      continue;
    long long at = bit + i;
    std::atomic_ref<Word> word(words[at / splitWord]);
    Word own = Word(1) << (at % splitWord);
    if (split.isBelow)
      word.fetch_or(own, std::memory_order_relaxed);
    else
      word.fetch_and(~own, std::memory_order_relaxed);
  }
}

} // namespace shardc::runtime
