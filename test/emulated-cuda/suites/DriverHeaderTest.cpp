// runtime/cuda/api/Driver.h beside NVIDIA's own header, where there is one.
#include "runtime/cuda/api/Driver.h"
#include "test/emulated-cuda/SameAsHeader.h"

#include <gtest/gtest.h>
#include <type_traits>

#if __has_include(<cuda.h>)
// There it is a macro.
static constexpr auto portable = shardc::cuda::CU_MEMHOSTALLOC_PORTABLE;
#include <cuda.h>
static_assert(portable == CU_MEMHOSTALLOC_PORTABLE);

namespace shardc::test::cuda {
namespace {

namespace ours = shardc::cuda;

SHARDC_SAME_VALUE(CUDA_SUCCESS)
SHARDC_SAME_VALUE(CUDA_ERROR_INVALID_VALUE)
SHARDC_SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY)
SHARDC_SAME_VALUE(CUDA_ERROR_NOT_INITIALIZED)
SHARDC_SAME_VALUE(CUDA_ERROR_NO_DEVICE)
SHARDC_SAME_VALUE(CUDA_ERROR_INVALID_DEVICE)
SHARDC_SAME_VALUE(CUDA_ERROR_INVALID_IMAGE)
SHARDC_SAME_VALUE(CUDA_ERROR_INVALID_CONTEXT)
SHARDC_SAME_VALUE(CUDA_ERROR_NO_BINARY_FOR_GPU)
SHARDC_SAME_VALUE(CUDA_ERROR_INVALID_PTX)
SHARDC_SAME_VALUE(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
SHARDC_SAME_VALUE(CUDA_ERROR_INVALID_HANDLE)
SHARDC_SAME_VALUE(CUDA_ERROR_ILLEGAL_STATE)
SHARDC_SAME_VALUE(CUDA_ERROR_NOT_FOUND)
SHARDC_SAME_VALUE(CUDA_ERROR_NOT_READY)
SHARDC_SAME_VALUE(CUDA_ERROR_ILLEGAL_ADDRESS)
SHARDC_SAME_VALUE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
SHARDC_SAME_VALUE(CUDA_ERROR_MISALIGNED_ADDRESS)
SHARDC_SAME_VALUE(CUDA_ERROR_LAUNCH_FAILED)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
SHARDC_SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
SHARDC_SAME_VALUE(CUDA_ERROR_UNKNOWN)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SHARDC_SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SHARDC_SAME_VALUE(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
SHARDC_SAME_VALUE(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
SHARDC_SAME_VALUE(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
SHARDC_SAME_VALUE(CU_FUNC_ATTRIBUTE_NUM_REGS)
SHARDC_SAME_VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SHARDC_SAME_VALUE(CU_JIT_ERROR_LOG_BUFFER)
SHARDC_SAME_VALUE(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
SHARDC_SAME_VALUE(CU_STREAM_NON_BLOCKING)
SHARDC_SAME_VALUE(CU_EVENT_DEFAULT)
SHARDC_SAME_VALUE(CU_EVENT_DISABLE_TIMING)
SHARDC_SAME_VALUE(CU_STREAM_CAPTURE_MODE_GLOBAL)
SHARDC_SAME_VALUE(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
SHARDC_SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED)
SHARDC_SAME_VALUE(CU_STREAM_CAPTURE_STATUS_NONE)
SHARDC_SAME_VALUE(CU_STREAM_CAPTURE_STATUS_ACTIVE)
SHARDC_SAME_VALUE(CU_STREAM_CAPTURE_STATUS_INVALIDATED)

/// Whether a value is handed over in the same way: handles, pointers to them,
/// enumerators and numbers of the same size.
template <typename A, typename B> constexpr bool isSameValue() {
  if constexpr (std::is_same_v<A, B>)
    return true;
  else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_pointer_t<A>;
    using Theirs = std::remove_pointer_t<B>;
    if constexpr (std::is_function_v<To> || std::is_function_v<Theirs>)
      return std::is_function_v<To> && std::is_function_v<Theirs>;
    else if constexpr (std::is_const_v<To> != std::is_const_v<Theirs>)
      return false;
    else if constexpr (std::is_class_v<To> && std::is_class_v<Theirs>)
      return true; // opaque
    else
      return isSameValue<std::remove_const_t<To>,
                         std::remove_const_t<Theirs>>();
  } else if constexpr (std::is_enum_v<A> || std::is_enum_v<B>)
    return (std::is_enum_v<A> || std::is_integral_v<A>) &&
           (std::is_enum_v<B> || std::is_integral_v<B>) &&
           sizeof(A) == sizeof(B);
  else
    return std::is_integral_v<A> && std::is_integral_v<B> &&
           sizeof(A) == sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B>;
}

template <typename, typename> struct SameCall : std::false_type {};
template <typename... A, typename... B>
struct SameCall<ours::CUresult(A...), ::CUresult(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) == sizeof...(B))
      return (isSameValue<A, B>() && ...);
    return false;
  }
  static constexpr bool value = compare();
};

// cuda.h's macros give `symbol` where its functions have a suffix.
#define SHARDC_SAME(name, symbol, arguments)                                   \
  static_assert(SameCall<ours::CUresult arguments, decltype(::symbol)>::value);
namespace arguments {
using namespace shardc::cuda;
SHARDC_CUDA_DRIVER(SHARDC_SAME)
} // namespace arguments
#undef SHARDC_SAME

static_assert(sizeof(ours::CUuuid) == sizeof(::CUuuid));
static_assert(sizeof(ours::CUdeviceptr) == sizeof(::CUdeviceptr));

// What is above says it while it is compiled.
TEST(DriverHeader, IsCudasOwn) { EXPECT_GE(CUDA_VERSION, 12000); }

} // namespace
} // namespace shardc::test::cuda

#else

TEST(DriverHeader, IsCudasOwn) {
  GTEST_SKIP()
      << "there was no cuda.h to compare runtime/cuda/api/Driver.h with";
}

#endif
