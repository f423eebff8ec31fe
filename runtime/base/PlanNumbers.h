// Numbers of a plan come from a file: each is bounded before anything counts
// with it, so that no product overflows and no index leaves its list.
#ifndef SHARDC_RUNTIME_BASE_PLANNUMBERS_H
#define SHARDC_RUNTIME_BASE_PLANNUMBERS_H

#include "runtime/base/Error.h"

#include <cstdint>
#include <string_view>

namespace shardc::runtime {

/// Nothing in a plan has more bytes or elements, so that its product with the
/// size of an element fits an int64.
constexpr int64_t mostInPlan = int64_t{1} << 48;

template <typename... Parts>
[[noreturn]] void refusePlan(const Parts &...parts) {
  fail("the trainer's plan does not hold together: ", parts...,
       "; compile it again");
}

/// Throws an Error unless `value`, what is called `what` of `of`, is in the
/// closed range.
inline void checkPlanRange(int64_t value, int64_t low, int64_t high,
                           const char *what, std::string_view of) {
  if (value < low || value > high)
    refusePlan(what, " of ", of, " is ", value);
}

} // namespace shardc::runtime

#endif
