// Whether two declarations of one C function agree, whose types have different
// names: as many parameters, each passed the same way.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_SHAPES_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_SHAPES_H

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

#endif
