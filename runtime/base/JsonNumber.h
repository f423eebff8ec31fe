// Whole numbers of JSON that somebody else may have written.
#ifndef SHARDC_RUNTIME_BASE_JSONNUMBER_H
#define SHARDC_RUNTIME_BASE_JSONNUMBER_H

#include <concepts>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace shardc::runtime {

/// The number, as an integer of this type. The library's own conversion casts
/// whatever number there is: 1e300 to one that C++ leaves undefined, 2.7 to 2,
/// 2^63 to a negative one, true to 1. Throws Json::out_of_range, one of
/// Json::exception, where it is not exactly that number.
template <std::integral Integer, typename Json>
Integer wholeNumber(const Json &json) {
  using Limits = std::numeric_limits<Integer>;
  bool fits = false;
  if (json.is_number_unsigned())
    fits = std::in_range<Integer>(json.template get<uint64_t>());
  else if (json.is_number_integer())
    fits = std::in_range<Integer>(json.template get<int64_t>());
  if (!fits)
    throw Json::out_of_range::create(
        406,
        json.dump(-1, ' ', false, Json::error_handler_t::replace) +
            " is no whole number from " + std::to_string(Limits::min()) +
            " to " + std::to_string(Limits::max()),
        &json);
  return json.template get<Integer>();
}

template <std::integral Integer, typename Json>
void readWhole(const Json &json, Integer &to) {
  to = wholeNumber<Integer>(json);
}

} // namespace shardc::runtime

#endif
