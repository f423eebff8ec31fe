// Values of flags.
#include "runtime/flags/ParseValue.h"

#include <cmath>

namespace shardc::runtime::cli {

double parseNumber(const std::string &flag, const std::string &text,
                   const Range &range) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) ||
      value < range.low || value > range.high)
    fail(flag, " expects ", range.text, ", got '", text, "'");
  return value;
}

} // namespace shardc::runtime::cli
