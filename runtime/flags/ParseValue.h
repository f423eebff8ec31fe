// Values of flags: numbers and words are read the same way everywhere, so that
// all errors read alike.
#ifndef SHARDC_RUNTIME_FLAGS_PARSEVALUE_H
#define SHARDC_RUNTIME_FLAGS_PARSEVALUE_H

#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"

#include <charconv>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime::cli {

/// The allowed values of a number, and how an error says it.
struct Range {
  double low, high;
  const char *text;
};
inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr Range finite{-infinite, infinite, "a number"};
inline constexpr Range notNegative{0, infinite, "a number of 0 or more"};
inline constexpr Range positive{std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(),
                                "a number above 0 in the range of float32"};
inline constexpr Range scaleRange{std::numeric_limits<float>::min(),
                                  std::numeric_limits<float>::max(),
                                  "dynamic or a number above 0"};
inline constexpr Range factor{0, 1, "a number from 0 to 1"};
inline constexpr Range belowOne{0, 0x1.fffffffffffffp-1,
                                "a number from 0 to less than 1"};

/// `flag` is what errors call it, here and below.
double parseNumber(const std::string &flag, const std::string &text,
                   const Range &range);

/// Any text but none: a variable of a script that is empty is a mistake.
inline const std::string &parseText(const std::string &flag,
                                    const std::string &text) {
  if (text.empty())
    fail(flag, " needs a value, got ''");
  return text;
}

template <typename Integer>
Integer parseInteger(const std::string &flag, const std::string &text,
                     Integer low,
                     Integer high = std::numeric_limits<Integer>::max()) {
  Integer value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= low && value <= high)
    return value;
  if (high == std::numeric_limits<Integer>::max())
    fail(flag, " expects an integer of ", low, " or more, got '", text, "'");
  fail(flag, " expects an integer from ", low, " to ", high, ", got '", text,
       "'");
}

/// The value that a word stands for.
template <typename Value>
Value parseChoice(const std::string &flag, const std::string &text,
                  const std::vector<std::pair<std::string, Value>> &choices) {
  std::string all;
  std::vector<std::string> words;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].first == text)
      return choices[i].second;
    words.push_back(choices[i].first);
    all += (i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ") + words[i];
  }
  fail(flag, " expects ", all, ", got '", text, "'", suggestion(text, words));
}

} // namespace shardc::runtime::cli

#endif
