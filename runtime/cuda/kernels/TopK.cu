// The largest or smallest elements of rows.
#include "runtime/cuda/kernels/Blocks.h"
#include "runtime/cuda/kernels/TopKParameters.h"

namespace shardc::runtime::cuda {

using Word64 = unsigned long long;

// keyOf: a number that orders elements, of which what is no number is the
// largest, and both zeros are one.

SHARDC_DEVICE Word32 keyOf(float value) {
  Word32 bits = __builtin_bit_cast(Word32, value), sign = Word32(1) << 31;
  if (value != value)
    return ~Word32(0);
  if (value == 0)
    return sign;
  return bits & sign ? ~bits : bits | sign;
}
SHARDC_DEVICE Word64 keyOf(double value) {
  Word64 bits = __builtin_bit_cast(Word64, value), sign = Word64(1) << 63;
  if (value != value)
    return ~Word64(0);
  if (value == 0)
    return sign;
  return bits & sign ? ~bits : bits | sign;
}
SHARDC_DEVICE Word32 keyOf(Bf16 value) { return keyOf(float(widen(value))); }
SHARDC_DEVICE Word32 keyOf(F16 value) { return keyOf(float(widen(value))); }
SHARDC_DEVICE Word32 keyOf(int value) {
  return Word32(value) ^ Word32(1) << 31;
}
SHARDC_DEVICE Word32 keyOf(signed char value) { return keyOf(int(value)); }
SHARDC_DEVICE Word32 keyOf(short value) { return keyOf(int(value)); }
SHARDC_DEVICE Word32 keyOf(unsigned char value) { return value; }
SHARDC_DEVICE Word32 keyOf(unsigned short value) { return value; }
SHARDC_DEVICE Word32 keyOf(Word32 value) { return value; }
SHARDC_DEVICE Word64 keyOf(Word64 value) { return value; }
SHARDC_DEVICE Word64 keyOf(Count value) {
  return Word64(value) ^ Word64(1) << 63;
}

template <typename T> using KeyOf = decltype(keyOf(T()));

/// The element with the lower key comes first.
template <typename T>
SHARDC_DEVICE KeyOf<T> orderOf(T value, unsigned smallest) {
  KeyOf<T> key = keyOf(value);
  return smallest ? key : KeyOf<T>(~key);
}

template <typename T>
SHARDC_DEVICE void keep(const TopKParameters &with, Count row, unsigned place,
                        unsigned from) {
  Count to = row * with.kept + place;
  reinterpret_cast<T *>(with.values)[to] =
      reinterpret_cast<const T *>(with.input)[row * with.size + from];
  reinterpret_cast<Count *>(with.places)[to] = from;
}

template <typename T>
static SHARDC_DEVICE void rank(const TopKParameters &with) {
  using Key = KeyOf<T>;
  SHARDC_SHARED Key keys[mostRanked];
  auto *input = reinterpret_cast<const T *>(with.input);
  Count step = Count(blocksOfGrid()) * with.rowsPerBlock;
  for (Count first = Count(blockOfGrid()) * with.rowsPerBlock;
       first < with.rows; first += step) {
    Count rows = with.rows - first;
    unsigned count =
        unsigned(rows < with.rowsPerBlock ? rows : with.rowsPerBlock) *
        with.size;
    barrier();
    for (unsigned i = threadOfBlock(); i < count; i += blockThreads)
      keys[i] = orderOf(input[first * with.size + i], with.smallest);
    barrier();
    for (unsigned i = threadOfBlock(); i < count; i += blockThreads) {
      unsigned row = i / with.size, own = i - row * with.size, place = 0;
      const Key *of = keys + row * with.size;
      Key key = of[own];
      for (unsigned at = 0; at < with.size && place < with.kept; ++at)
        place += of[at] < key || (of[at] == key && at < own);
      if (place < with.kept)
        keep<T>(with, first + row, place, own);
    }
  }
}

template <typename T>
static SHARDC_DEVICE void select(const TopKParameters &with) {
  using Key = KeyOf<T>;
  struct Found {
    Key key;
    unsigned at; // with.size: none
  };
  SHARDC_SHARED Found found[blockThreads];
  auto *input = reinterpret_cast<const T *>(with.input);
  unsigned thread = threadOfBlock();
  auto isBefore = [](const Found &a, const Found &b) {
    return a.key < b.key || (a.key == b.key && a.at < b.at);
  };
  for (Count row = blockOfGrid(); row < with.rows; row += blocksOfGrid()) {
    Found last{};
    for (unsigned place = 0; place < with.kept; ++place) {
      Found first{Key(~Key(0)), with.size};
      for (unsigned i = thread; i < with.size; i += blockThreads) {
        Found each{orderOf(input[row * with.size + i], with.smallest), i};
        if ((place == 0 || isBefore(last, each)) && isBefore(each, first))
          first = each;
      }
      found[thread] = first;
      barrier();
      for (unsigned half = blockThreads / 2; half > 0; half /= 2) {
        if (thread < half && isBefore(found[thread + half], found[thread]))
          found[thread] = found[thread + half];
        barrier();
      }
      last = found[0];
      barrier();
      if (thread == 0)
        keep<T>(with, row, place, last.at);
    }
  }
}

#define SHARDC_TOPK(name, T)                                                   \
  SHARDC_KERNEL void rank_##name(TopKParameters with) { rank<T>(with); }       \
  SHARDC_KERNEL void select_##name(TopKParameters with) { select<T>(with); }
SHARDC_TOPK(f64, double)
SHARDC_TOPK(f32, float)
SHARDC_TOPK(bf16, Bf16)
SHARDC_TOPK(f16, F16)
SHARDC_TOPK(i64, Count)
SHARDC_TOPK(i32, int)
SHARDC_TOPK(i16, short)
SHARDC_TOPK(i8, signed char)
SHARDC_TOPK(u64, Word64)
SHARDC_TOPK(u32, Word32)
SHARDC_TOPK(u16, unsigned short)
SHARDC_TOPK(u8, unsigned char)

} // namespace shardc::runtime::cuda
