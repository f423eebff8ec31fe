// Float32 in two parts: the upper one is what every other rounding makes of it,
// and nothing is lost.
#include "runtime/base/SplitMaster.h"
#include "runtime/base/DType.h"

#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace shardc::runtime {
namespace {

bool isNan(unsigned bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/// Of each of these both parts, and what they make together.
void check(const std::vector<unsigned> &all) {
  std::vector<unsigned short> rounded(all.size());
  convertElements(all.data(), plan::FLOAT32, rounded.data(), plan::BFLOAT16,
                  all.size());
  int64_t wrong = 0;
  for (size_t i = 0; i < all.size() && wrong < 5; ++i) {
    SplitFloat split = splitFloat(all[i]);
    unsigned same = joinFloat(split.upper, split.lower, split.isBelow),
             other = joinFloat(split.upper, split.lower, !split.isBelow);
    // NaNs become quiet.
    unsigned expected = isNan(all[i]) ? all[i] | 0x400000 : all[i];
    bool isRight = split.upper == rounded[i] && same == expected &&
                   (other != same) == isHalfway(split.upper, split.lower);
    EXPECT_TRUE(isRight) << std::hex << all[i] << ": " << split.upper << ", "
                         << split.lower << ", " << split.isBelow << " are "
                         << same << ", rounded " << rounded[i];
    wrong += !isRight;
  }
}

// All of sign and exponent and bfloat16's part of the significand, and what lies
// around each place where something changes.
TEST(SplitMaster, EveryUpperHalf) {
  std::vector<unsigned> lowers = {0,      1,      2,      0x3fff, 0x4000,
                                  0x7ffe, 0x7fff, 0x8000, 0x8001, 0x8002,
                                  0xbfff, 0xc000, 0xfffe, 0xffff};
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i)
    lowers.push_back(unsigned(random() & 0xffff));
  for (unsigned lower : lowers) {
    std::vector<unsigned> all;
    for (unsigned upper = 0; upper < 0x10000; ++upper)
      all.push_back(upper << 16 | lower);
    check(all);
  }
}

TEST(SplitMaster, EveryLowerHalf) {
  for (unsigned upper :
       {0u,      1u,      2u,      0x7fu,   0x80u,   0x3f7fu, 0x3f80u,
        0x3f81u, 0x7f7eu, 0x7f7fu, 0x7f80u, 0x7f81u, 0x7fc0u, 0x7fffu,
        0x8000u, 0x8001u, 0xbf80u, 0xff7fu, 0xff80u, 0xffffu}) {
    std::vector<unsigned> all;
    for (unsigned lower = 0; lower < 0x10000; ++lower)
      all.push_back(upper << 16 | lower);
    check(all);
  }
}

// Bits that were of other numbers do not show, and neighbours keep theirs.
TEST(SplitMaster, ArraysInAnyOrder) {
  constexpr int64_t count = 1000;
  std::vector<float> values(count), back(count);
  std::vector<unsigned short> upper(count), lower(count);
  std::vector<unsigned long long> words(count / splitWord + 1);
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    for (float &value : values)
      value = std::bit_cast<float>(unsigned(0x3f800000 | (random() % 8) << 16 |
                                            (random() % 4 ? 0x8000 : 0x1234)));
    std::vector<std::thread> threads;
    for (int64_t begin = 0, end; begin < count; begin = end) {
      end = std::min<int64_t>(count, begin + 1 + random() % 100);
      threads.emplace_back([&, begin, end] {
        splitFloats(values.data() + begin, end - begin, upper.data() + begin,
                    lower.data() + begin, words.data() + begin / splitWord,
                    int(begin % splitWord));
      });
    }
    for (std::thread &thread : threads)
      thread.join();
    joinFloats(upper.data(), lower.data(), words.data(), 0, count, back.data());
    EXPECT_EQ(back, values);
    joinFloats(upper.data() + 70, lower.data() + 70, words.data() + 1, 6, 300,
               back.data());
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 300, &values[70]));
  }
}

TEST(SplitMaster, TakesLessThanFloat32) {
  EXPECT_EQ(splitBytes(0), 0);
  EXPECT_EQ(splitBytes(1), 16);
  EXPECT_EQ(splitBytes(64), 64 * 2 + 8);
  EXPECT_EQ(splitBytes(int64_t(1) << 33), (int64_t(1) << 34) + (1 << 30));
}

} // namespace
} // namespace shardc::runtime
