// The loops of Draws.h. Compiled once per instruction set, as Kernels.cpp is;
// the same restrictions hold.
#include "runtime/simd/Draws.h"
#include "runtime/simd/Vector.h"

namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL {
namespace {

typedef uint64_t Wide8x __attribute__((vector_size(64)));

// Lane l of words[w] is word w of block first + l.
struct Blocks {
  Unsigned16x words[4];
};
constexpr int64_t drawsOfBlocks = 64;

struct Product {
  Unsigned16x high, low;
};
/// 32 x 32 -> 64 bits, even and odd lanes apart.
SHARDC_INLINE Product multiply(Unsigned16x a, uint32_t factor) {
  const uint64_t lowHalf = 0xffffffff;
  Wide8x even = ((Wide8x)a & lowHalf) * factor;
  Wide8x odd = ((Wide8x)a >> 32) * factor;
  return {(Unsigned16x)((even >> 32) | (odd & ~lowHalf)),
          (Unsigned16x)((even & lowHalf) | (odd << 32))};
}

/// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011. Ten rounds.
SHARDC_INLINE Blocks blocksFrom(const uint32_t *key, uint64_t first) {
  const Unsigned16x lane = {0, 1, 2,  3,  4,  5,  6,  7,
                            8, 9, 10, 11, 12, 13, 14, 15};
  Unsigned16x low = lane + static_cast<uint32_t>(first);
  // A comparison is -1 where it holds: here, where the low word wrapped.
  Unsigned16x high =
      static_cast<uint32_t>(first >> 32) - (Unsigned16x)(low < lane);
  Unsigned16x a = low, b = high, c = {}, d = {};
  uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    Product ofA = multiply(a, 0xD2511F53), ofC = multiply(c, 0xCD9E8D57);
    a = ofC.high ^ b ^ key0;
    b = ofC.low;
    c = ofA.high ^ d ^ key1;
    d = ofA.low;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return {{a, b, c, d}};
}

SHARDC_INLINE Float16x toFloat(Unsigned16x below2To31) {
  return __builtin_convertvector((Int16x)below2To31, Float16x);
}

/// ln((word + 1) / 2^32), 0 at most. After Cephes' logf (Moshier): the number
/// is 2^e m, m in [sqrt(1/2), sqrt(2)), and a polynomial in m - 1 does the
/// rest.
SHARDC_INLINE Float16x logarithm(Unsigned16x word) {
  using V = Float16x;
  V x = toFloat(word >> 16) * 65536.0f + toFloat(word & 0xffff);
  x = x + 1.0f;
  Int16x bits = (Int16x)x;
  Int16x exponent = (bits - 0x3f3504f3) >> 23;
  V z = (V)(bits - (exponent << 23)) - 1.0f;
  V e = __builtin_convertvector(exponent - 32, V);
  V square = z * z;
  V p = z * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * z + 1.1676998740e-1f;
  p = p * z - 1.2420140846e-1f;
  p = p * z + 1.4249322787e-1f;
  p = p * z - 1.6668057665e-1f;
  p = p * z + 2.0000714765e-1f;
  p = p * z - 2.4999993993e-1f;
  p = p * z + 3.3333331174e-1f;
  p = p * z * square;
  p = p + e * -2.12194440e-4f;
  p = p - square * 0.5f;
  return (z + p) + e * 0.693359375f;
}

struct CosineAndSine {
  Float16x cosine, sine;
};
/// Returns those of the angle 2 pi word / 2^32: the nearest quarter turn is
/// exact, what is left is at most pi / 4 and goes into Cephes' sinf and cosf.
SHARDC_INLINE CosineAndSine cosineAndSine(Unsigned16x word) {
  using V = Float16x;
  Unsigned16x quarter = (word + 0x20000000u) >> 30;
  V x = __builtin_convertvector((Int16x)(word - (quarter << 30)), V) *
        1.46291807926715968e-9f; // 2 pi / 2^32
  V z = x * x;
  V s = z * -1.9515295891e-4f + 8.3321608736e-3f;
  s = s * z - 1.6666654611e-1f;
  s = s * z * x + x;
  V c = z * 2.443315711809948e-5f - 1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - z * 0.5f + 1.0f;
  Int16x odd = (Int16x)(quarter & 1u) != 0;
  Unsigned16x cosine = (Unsigned16x)(odd ? s : c),
              sine = (Unsigned16x)(odd ? c : s);
  cosine ^= ((quarter + 1u) & 2u) << 30;
  sine ^= (quarter & 2u) << 30;
  return {(V)cosine, (V)sine};
}

/// Stores draws 4b, 4b + 1, 4b + 2, 4b + 3 of 16 blocks one behind the other.
SHARDC_INLINE void storeInterleaved(float *to, Float16x a, Float16x b,
                                    Float16x c, Float16x d) {
#define SHARDC_LOW(x, y)                                                       \
  __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,   \
                          22, 7, 23)
#define SHARDC_HIGH(x, y)                                                      \
  __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,  \
                          14, 30, 15, 31)
  Float16x acLow = SHARDC_LOW(a, c), acHigh = SHARDC_HIGH(a, c);
  Float16x bdLow = SHARDC_LOW(b, d), bdHigh = SHARDC_HIGH(b, d);
  store(to, SHARDC_LOW(acLow, bdLow));
  store(to + 16, SHARDC_HIGH(acLow, bdLow));
  store(to + 32, SHARDC_LOW(acHigh, bdHigh));
  store(to + 48, SHARDC_HIGH(acHigh, bdHigh));
#undef SHARDC_LOW
#undef SHARDC_HIGH
}

/// Calls make(first block, destination of 64 draws), and cuts where the range
/// begins inside a block or ends early.
template <typename Make>
SHARDC_INLINE void forDraws(uint64_t begin, float *values, int64_t count,
                            Make make) {
  while (count > 0) {
    int64_t skipped = static_cast<int64_t>(begin % 4);
    int64_t made =
        drawsOfBlocks - skipped < count ? drawsOfBlocks - skipped : count;
    if (made == drawsOfBlocks) {
      make(begin / 4, values);
    } else {
      float draws[drawsOfBlocks];
      make(begin / 4, draws);
      __builtin_memcpy(values, draws + skipped, made * sizeof(float));
    }
    begin += made;
    values += made;
    count -= made;
  }
}

void uniform(const uint32_t *key, float low, float high, uint64_t begin,
             float *values, int64_t count) {
  float range = high - low;
  forDraws(begin, values, count, [&](uint64_t first, float *to) {
    Blocks blocks = blocksFrom(key, first);
    Float16x draws[4];
    for (int word = 0; word < 4; ++word)
      draws[word] = toFloat(blocks.words[word] >> 8) * 0x1p-24f * range + low;
    storeInterleaved(to, draws[0], draws[1], draws[2], draws[3]);
  });
}

void normal(const uint32_t *key, float mean, float deviation, uint64_t begin,
            float *values, int64_t count) {
  forDraws(begin, values, count, [&](uint64_t first, float *to) {
    Blocks blocks = blocksFrom(key, first);
    Float16x draws[4];
    for (int pair = 0; pair < 4; pair += 2) {
      Float16x radius =
          squareRoot<float>(logarithm(blocks.words[pair]) * -2.0f) * deviation;
      CosineAndSine angle = cosineAndSine(blocks.words[pair + 1]);
      draws[pair] = radius * angle.cosine + mean;
      draws[pair + 1] = radius * angle.sine + mean;
    }
    storeInterleaved(to, draws[0], draws[1], draws[2], draws[3]);
  });
}

} // namespace

extern const DrawLoops drawTable;
const DrawLoops drawTable = {uniform, normal};

} // namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL
