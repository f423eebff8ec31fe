// The commands of shardc-data. Each throws an Error for what it cannot do.
#ifndef SHARDC_TOOLS_SHARDC_DATA_COMMANDS_H
#define SHARDC_TOOLS_SHARDC_DATA_COMMANDS_H

#include "runtime/data/NamedFile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct TokenizeOptions {
  std::vector<std::string> texts; // files
  std::string output;
  std::optional<std::string> sentencepiece; // a model; else bytes
  bool lines = false;                       // a document is a line, not a file
  bool raw = false;                         // no header
  std::optional<TokenType> dtype;           // UInt16 or UInt32
  /// The token behind each document: an id, or "none".
  std::optional<std::string> end;
};
void tokenize(const TokenizeOptions &options);

/// Prints what the files of PATH[,KEY=VALUE...] hold.
void inspect(const std::string &given);

/// Prints the first ids of the files, `count` at most; with window=N, as many
/// windows, one per line.
void head(const std::string &given, int64_t count);

} // namespace shardc::runtime

#endif
