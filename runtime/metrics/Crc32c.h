// CRC-32C, the checksum of TFRecord files.
#ifndef SHARDC_RUNTIME_METRICS_CRC32C_H
#define SHARDC_RUNTIME_METRICS_CRC32C_H

#include <cstdint>
#include <string_view>

namespace shardc::runtime {

/// The polynomial of Castagnoli et al. as iSCSI uses it: RFC 3720, section
/// 12.1, with examples in appendix B.4.
uint32_t crc32c(std::string_view bytes);

} // namespace shardc::runtime

#endif
