// A token file as it grows.
#ifndef SHARDC_TOOLS_SHARDC_DATA_TOKENWRITER_H
#define SHARDC_TOOLS_SHARDC_DATA_TOKENWRITER_H

#include "runtime/data/NamedFile.h"
#include "runtime/files/OutputFile.h"

#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

class TokenWriter {
public:
  /// `hasHeader`: llm.c's. `type`: UInt16 or UInt32.
  TokenWriter(const std::string &path, TokenType type, bool hasHeader);

  void add(std::span<const int> ids);
  /// Writes what is left, and the header, and gives the file its name.
  void commit();
  int64_t tokens() const { return count; }

private:
  void flush();

  OutputFile file;
  TokenType type;
  bool hasHeader;
  int64_t count = 0;
  std::vector<char> buffer;
};

} // namespace shardc::runtime

#endif
