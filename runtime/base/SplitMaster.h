// A float32 master weight as the bfloat16 that is computed with, and what is
// missing to the float32. The compiler says where the parts lie, host and device
// code take numbers apart.
//
// The bfloat16 is the one next to the float32, and of two that are equally near
// the even one, as everywhere. As integers, the bits of the float32 are those of
// the bfloat16 in front of 16 zeros and a difference from -0x8000 to 0x8000. Its
// last 16 bits are stored: the lower half. That leaves one pattern with two
// meanings, 0x8000, of a number halfway between two bfloat16: more float32 round
// to an even bfloat16 than 16 bits tell apart, by one. So there is a bit for each
// number which says that it lies below its bfloat16; it is looked at in that case
// alone, and whatever it is else.
//
// A NaN's lower half is the float32's own. It is the same NaN behind it, but
// quiet.
#ifndef SHARDC_RUNTIME_BASE_SPLITMASTER_H
#define SHARDC_RUNTIME_BASE_SPLITMASTER_H

namespace shardc::runtime {

struct SplitFloat {
  unsigned short upper; // the bits of the bfloat16
  unsigned short lower;
  bool isBelow; // what the bit becomes, where isHalfway
};

constexpr bool isNanUpper(unsigned short upper) {
  return (upper & 0x7fff) > 0x7f80;
}

/// Whether the bit is looked at.
constexpr bool isHalfway(unsigned short upper, unsigned short lower) {
  return lower == 0x8000 && !isNanUpper(upper);
}

/// `bits`: of the float32.
constexpr SplitFloat splitFloat(unsigned bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return {static_cast<unsigned short>((bits >> 16) | 0x40),
            static_cast<unsigned short>(bits), false};
  unsigned upper = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return {static_cast<unsigned short>(upper), static_cast<unsigned short>(bits),
          bits < upper << 16};
}

/// Returns the bits of the float32.
constexpr unsigned joinFloat(unsigned short upper, unsigned short lower,
                             bool isBelow) {
  unsigned first = static_cast<unsigned>(upper) << 16;
  if (isNanUpper(upper))
    return first | lower;
  bool below = lower == 0x8000 ? isBelow : lower > 0x8000;
  return first + lower - (below ? 0x10000u : 0u);
}

// A slice's lower halves lie in front of its bits, which are in words of 64.

constexpr long long splitWord = 64;
/// Bytes of the lower halves of a slice.
constexpr long long splitLowerBytes(long long elements) {
  return (elements * 2 + 7) / 8 * 8;
}
constexpr long long splitBytes(long long elements) {
  return splitLowerBytes(elements) + (elements + splitWord - 1) / splitWord * 8;
}

/// Numbers that lie side by side on the host; the bit of the first is `bit` of
/// the first word.
void joinFloats(const unsigned short *upper, const unsigned short *lower,
                const unsigned long long *words, int bit, long long count,
                float *values);
/// Threads may do the same with other bits of the first and last word at once.
void splitFloats(const float *values, long long count, unsigned short *upper,
                 unsigned short *lower, unsigned long long *words, int bit);

} // namespace shardc::runtime

#endif
