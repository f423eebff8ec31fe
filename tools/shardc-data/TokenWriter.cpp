// A token file as it grows.
#include "tools/shardc-data/TokenWriter.h"

#include "runtime/base/Error.h"

#include <array>
#include <cstring>
#include <limits>

namespace shardc::runtime {

/// int32 numbers of llm.c's header: magic, version, number of tokens, zeros.
using LlmcHeader = std::array<int32_t, 256>;

TokenWriter::TokenWriter(const std::string &path, TokenType type,
                         bool hasHeader)
    : file(path), type(type), hasHeader(hasHeader) {
  LlmcHeader header{};
  if (hasHeader)
    file.write(header.data(), sizeof(header));
}

void TokenWriter::add(std::span<const int> ids) {
  constexpr size_t atOnce = 1 << 20;
  for (int id : ids) {
    auto wide = static_cast<uint32_t>(id);
    auto narrow = static_cast<uint16_t>(id);
    bool isNarrow = type == TokenType::UInt16;
    const char *bytes = isNarrow ? reinterpret_cast<const char *>(&narrow)
                                 : reinterpret_cast<const char *>(&wide);
    buffer.insert(buffer.end(), bytes, bytes + (isNarrow ? 2 : 4));
    if (buffer.size() >= atOnce)
      flush();
  }
  count += std::ssize(ids);
  if (hasHeader && count > std::numeric_limits<int32_t>::max())
    fail(file.path(), ": has more than ", std::numeric_limits<int32_t>::max(),
         " tokens, which llm.c's header cannot say; give --format raw, or make "
         "several files");
}

void TokenWriter::flush() {
  file.write(buffer.data(), buffer.size());
  buffer.clear();
}

void TokenWriter::commit() {
  flush();
  if (hasHeader) {
    LlmcHeader header{};
    bool isNarrow = type == TokenType::UInt16;
    header[0] = isNarrow ? 20240520 : 20240801;
    header[1] = isNarrow ? 1 : 7;
    header[2] = static_cast<int32_t>(count);
    file.overwrite(0, header.data(), sizeof(header));
  }
  file.commit();
}

} // namespace shardc::runtime
