// Token ids one after the other, as a file of any format holds them.
#ifndef SHARDC_RUNTIME_DATA_TOKENS_H
#define SHARDC_RUNTIME_DATA_TOKENS_H

#include "runtime/data/NamedFile.h"
#include "runtime/files/Descriptor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Bytes of one id.
size_t tokenBytes(TokenType type);

/// Copies ids as they are stored, at any alignment.
void widenTokens(TokenType type, const std::byte *stored, int64_t count,
                 int64_t *destination);

/// The tokens of one file.
class Tokens {
public:
  virtual ~Tokens() = default;

  virtual const std::string &name() const = 0; // the path
  virtual std::vector<std::string> paths() const { return {name()}; }
  virtual int64_t size() const = 0;
  /// Copies ids [first, first + count). Safe to call from several threads.
  /// Throws an Error where the file has been truncated since it was opened.
  virtual void read(int64_t first, int64_t count,
                    int64_t *destination) const = 0;
  /// Where documents end, in ascending order; throws where the format does not
  /// say it.
  virtual std::vector<int64_t> documentEnds() const;
};

/// A part of a file that holds nothing but ids of one type.
class StoredTokens {
public:
  /// `offset`: bytes from the file's begin.
  StoredTokens(std::string path, Descriptor file, uint64_t offset,
               int64_t tokens, TokenType type);

  const std::string &path() const { return name; }
  int64_t size() const { return tokens; }
  void read(int64_t first, int64_t count, int64_t *destination) const;

private:
  std::string name;
  Descriptor file;
  uint64_t offset;
  int64_t tokens;
  TokenType type;
};

/// A file of ids without a header.
std::unique_ptr<Tokens> openRawTokens(const std::string &path, Descriptor file,
                                      TokenType type);

/// What llm.c's data scripts write: a header of 256 int32 (magic, version,
/// number of tokens), then uint16 or uint32.
bool isLlmcMagic(uint32_t magic);
std::unique_ptr<Tokens> openLlmcTokens(const std::string &path,
                                       Descriptor file);

} // namespace shardc::runtime

#endif
