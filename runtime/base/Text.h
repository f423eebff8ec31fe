// Numbers as people read them.
#ifndef SHARDC_RUNTIME_BASE_TEXT_H
#define SHARDC_RUNTIME_BASE_TEXT_H

#include <cstdint>
#include <span>
#include <string>

namespace shardc::runtime {

/// printf into a string of at most 255 bytes.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

/// "1.2 GiB"
std::string bytesText(double bytes);
/// "1:02:03" or "2:03"
std::string durationText(double seconds);
/// "12345678" as "12.3M"
std::string countText(double count);

/// 9 digits at most: a float32 in full, "1048576" and not "1.04858e+06".
std::string numberText(double number);

/// "[64, 128]": a shape, strides.
std::string shapeText(std::span<const int64_t> shape);

} // namespace shardc::runtime

#endif
