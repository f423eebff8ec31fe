// One hop of a ring, in every type.
#include "test/emulated-cuda/nccl/Reduce.h"

#include "test/emulated-cuda/blaslt/Rounding.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace shardc::test::cuda {
namespace {

template <typename Stored, typename Wide>
void reduceAs(ncclRedOp_t op, std::byte *sums, const std::byte *values,
              size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Stored sum, value;
    std::memcpy(&sum, sums + i * sizeof(Stored), sizeof(Stored));
    std::memcpy(&value, values + i * sizeof(Stored), sizeof(Stored));
    Wide one = static_cast<Wide>(sum), other = static_cast<Wide>(value), result;
    if (op == ncclSum) {
      // Integers wrap.
      if constexpr (std::is_integral_v<Wide>)
        result = Wide(std::make_unsigned_t<Wide>(one) +
                      std::make_unsigned_t<Wide>(other));
      else
        result = one + other;
    } else if constexpr (std::is_integral_v<Wide>) {
      result = one > other ? one : other;
    } else {
      result = std::fmax(one, other);
    }
    sum = static_cast<Stored>(result);
    std::memcpy(sums + i * sizeof(Stored), &sum, sizeof(Stored));
  }
}

} // namespace

size_t bytesOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclFloat64:
    return 8;
  }
  return 0;
}

const char *nameOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
    return "int8";
  case ncclUint8:
    return "uint8";
  case ncclInt32:
    return "int32";
  case ncclInt64:
    return "int64";
  case ncclFloat16:
    return "float16";
  case ncclFloat32:
    return "float32";
  case ncclFloat64:
    return "float64";
  case ncclBfloat16:
    return "bfloat16";
  }
  return "unknown";
}

void reduce(ncclDataType_t type, ncclRedOp_t op, std::byte *sum,
            const std::byte *values, size_t count) {
  switch (type) {
  case ncclInt8:
    return reduceAs<int8_t, int8_t>(op, sum, values, count);
  case ncclUint8:
    return reduceAs<uint8_t, uint8_t>(op, sum, values, count);
  case ncclInt32:
    return reduceAs<int32_t, int32_t>(op, sum, values, count);
  case ncclInt64:
    return reduceAs<int64_t, int64_t>(op, sum, values, count);
  case ncclFloat16:
    return reduceAs<Float16, float>(op, sum, values, count);
  case ncclFloat32:
    return reduceAs<float, float>(op, sum, values, count);
  case ncclFloat64:
    return reduceAs<double, double>(op, sum, values, count);
  case ncclBfloat16:
    return reduceAs<Bfloat16, float>(op, sum, values, count);
  }
}

} // namespace shardc::test::cuda
