// Whether what runtime/cuda/api declares is what NVIDIA's own header does. Types
// have different names there; functions agree where they have as many parameters,
// each passed the same way.
#ifndef SHARDC_TEST_EMULATEDCUDA_SAMEASHEADER_H
#define SHARDC_TEST_EMULATEDCUDA_SAMEASHEADER_H

#include <type_traits>

namespace shardc::test::cuda {

template <typename One, typename Other> constexpr bool passedAlike() {
  return sizeof(One) == sizeof(Other) && alignof(One) == alignof(Other) &&
         std::is_pointer_v<One> == std::is_pointer_v<Other> &&
         std::is_class_v<One> == std::is_class_v<Other> &&
         std::is_floating_point_v<One> == std::is_floating_point_v<Other>;
}

template <typename One, typename Other> struct SameShape : std::false_type {};
template <typename ROne, typename ROther, typename... One, typename... Other>
  requires(sizeof...(One) == sizeof...(Other))
struct SameShape<ROne(One...), ROther(Other...)>
    : std::bool_constant<passedAlike<ROne, ROther>() &&
                         (passedAlike<One, Other>() && ...)> {};

} // namespace shardc::test::cuda

/// Of an enumerator or a macro.
#define SHARDC_SAME_VALUE(name)                                                \
  static_assert(static_cast<long long>(shardc::cuda::name) ==                  \
                static_cast<long long>(::name));

/// Of a function, as the lists of runtime/cuda/api have it; inside of the
/// namespace shardc::cuda.
#define SHARDC_SAME_FUNCTION(result, name, arguments)                          \
  static_assert(                                                               \
      test::cuda::SameShape<result arguments, decltype(::name)>::value);

#endif
