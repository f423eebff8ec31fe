// Numbers as people read them.
#include "runtime/base/Text.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace shardc::runtime {

std::string format(const char *pattern, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

static std::string scaled(double value, double base, const char *const *units,
                          int count) {
  int unit = 0;
  for (; std::abs(value) >= base && unit + 1 < count; ++unit)
    value /= base;
  return format(unit == 0    ? "%.0f%s"
                : value < 10 ? "%.2f%s"
                             : "%.1f%s",
                value, units[unit]);
}

std::string bytesText(double bytes) {
  static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  return scaled(bytes, 1024, units, 5);
}

std::string countText(double count) {
  static const char *const units[] = {"", "k", "M", "G", "T"};
  return scaled(count, 1000, units, 5);
}

std::string durationText(double seconds) {
  auto whole = static_cast<long long>(std::min(std::ceil(seconds), 1e15));
  if (whole >= 3600)
    return format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  return format("%lld:%02lld", whole / 60, whole % 60);
}

std::string numberText(double number) {
  return format("%.9g", withoutNanSign(number));
}

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis)
    text += (axis ? ", " : "") + std::to_string(shape[axis]);
  return text + "]";
}

} // namespace shardc::runtime
