// CRC-32C, a byte at a time.
#include "runtime/metrics/Crc32c.h"

#include <array>

namespace shardc::runtime {

/// What each byte does to the remainder. RFC 3720 has the polynomial 0x11edc6f41
/// and shifts the lowest bit out first, which reverses it.
static constexpr std::array<uint32_t, 256> makeTable() {
  constexpr uint32_t reversed = 0x82f63b78;
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ (remainder & 1 ? reversed : 0);
    table[byte] = remainder;
  }
  return table;
}

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> table = makeTable();
  uint32_t remainder = ~uint32_t{0};
  for (char byte : bytes)
    remainder = (remainder >> 8) ^
                table[(remainder ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~remainder;
}

} // namespace shardc::runtime
