// What the kernels' sources need of CUDA, without its headers: clang compiles
// them for devices, and tests compile the same files for the host, where
// hostThread says which thread a call is.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICE_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICE_H

#include "runtime/cuda/kernels/Parameters.h"

#ifdef __CUDA__
#define SHARDC_KERNEL extern "C" __attribute__((global))
#define SHARDC_DEVICE __attribute__((device)) inline
#else
#define SHARDC_KERNEL [[maybe_unused]] static
#define SHARDC_DEVICE inline
#endif

namespace shardc::runtime::cuda {

using Word16 = unsigned short;
using Word32 = unsigned int;

#ifdef __CUDA__
SHARDC_DEVICE Count firstElement() {
  return Count(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}
SHARDC_DEVICE Count threadsOfGrid() {
  return Count(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x();
}
#else
struct HostThread {
  Count index, count;
};
inline thread_local HostThread hostThread{0, 1};
inline Count firstElement() { return hostThread.index; }
inline Count threadsOfGrid() { return hostThread.count; }
#endif

struct Bf16 {
  Word16 bits;
};
struct F16 {
  Word16 bits;
};

/// Returns the float that one more rounding takes to where rounding the double
/// once would: inexact results are odd (Boldo and Melquiond, 2008).
SHARDC_DEVICE float roundToOdd(double value) {
  float result = float(value);
  double back = result;
  Word32 word = __builtin_bit_cast(Word32, result);
  if (back == value || value != value || (word & 1))
    return result;
  bool isAway = __builtin_fabs(value) > __builtin_fabs(back);
  return __builtin_bit_cast(float, isAway ? word + 1 : word - 1);
}

SHARDC_DEVICE double widen(double value) { return value; }
SHARDC_DEVICE double widen(float value) { return value; }
SHARDC_DEVICE double widen(Bf16 value) {
  return __builtin_bit_cast(float, Word32(value.bits) << 16);
}
SHARDC_DEVICE double widen(F16 value) {
  return __builtin_bit_cast(_Float16, value.bits);
}

SHARDC_DEVICE void round(double value, double &result) { result = value; }
SHARDC_DEVICE void round(double value, float &result) { result = float(value); }
SHARDC_DEVICE void round(double value, Bf16 &result) {
  Word32 word = __builtin_bit_cast(Word32, roundToOdd(value));
  if ((word & 0x7fffffff) > 0x7f800000) // stays a NaN
    result.bits = Word16((word >> 16) | 0x40);
  else
    result.bits = Word16((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}
SHARDC_DEVICE void round(double value, F16 &result) {
  Word32 word = __builtin_bit_cast(Word32, roundToOdd(value));
  Word32 sign = (word >> 16) & 0x8000;
  word &= 0x7fffffff;
  if (word > 0x7f800000) {
    result.bits = Word16(sign | 0x7e00 | ((word >> 13) & 0x3ff));
  } else if (word >= 0x477ff000) { // rounds to 65536 or more
    result.bits = Word16(sign | 0x7c00);
  } else if (word < 0x38800000) { // subnormal: the sum rounds at 2^-24
    float shifted = __builtin_bit_cast(float, word) + 0.5f;
    result.bits =
        Word16(sign | (__builtin_bit_cast(Word32, shifted) - 0x3f000000));
  } else {
    Word32 rounded = word + 0xfff + ((word >> 13) & 1);
    result.bits = Word16(sign | ((rounded - 0x38000000) >> 13));
  }
}

} // namespace shardc::runtime::cuda

#endif
