// Raw token files and llm.c's: ids of one type behind no header or a short one.
#include "runtime/data/Tokens.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

size_t tokenBytes(TokenType type) {
  switch (type) {
  case TokenType::UInt8:
  case TokenType::Int8:
    return 1;
  case TokenType::UInt16:
  case TokenType::Int16:
    return 2;
  case TokenType::UInt32:
  case TokenType::Int32:
    return 4;
  case TokenType::Int64:
    return 8;
  }
  return 0;
}

std::vector<int64_t> Tokens::documentEnds() const {
  fail(name(), ": stores no documents; give the id that ends one, as in "
               "documents=50256");
}

StoredTokens::StoredTokens(std::string path, Descriptor file, uint64_t offset,
                           int64_t tokens, TokenType type)
    : name(std::move(path)), file(std::move(file)), offset(offset),
      tokens(tokens), type(type) {}

template <typename Stored>
static void widen(const std::byte *stored, int64_t count,
                  int64_t *destination) {
  for (int64_t i = 0; i < count; ++i) {
    Stored id;
    std::memcpy(&id, stored + i * sizeof(Stored), sizeof(Stored));
    destination[i] = id;
  }
}

void widenTokens(TokenType type, const std::byte *stored, int64_t count,
                 int64_t *destination) {
  switch (type) {
  case TokenType::UInt8:
    return widen<uint8_t>(stored, count, destination);
  case TokenType::Int8:
    return widen<int8_t>(stored, count, destination);
  case TokenType::UInt16:
    return widen<uint16_t>(stored, count, destination);
  case TokenType::Int16:
    return widen<int16_t>(stored, count, destination);
  case TokenType::UInt32:
    return widen<uint32_t>(stored, count, destination);
  case TokenType::Int32:
    return widen<int32_t>(stored, count, destination);
  case TokenType::Int64:
    return widen<int64_t>(stored, count, destination);
  }
}

void StoredTokens::read(int64_t first, int64_t count,
                        int64_t *destination) const {
  size_t size = tokenBytes(type);
  std::vector<std::byte> stored(count * size);
  file.readAt(offset + first * size, stored.data(), stored.size(), name);
  widenTokens(type, stored.data(), count, destination);
}

namespace {

/// A file whose format says nothing of documents.
class PlainTokens final : public Tokens {
public:
  explicit PlainTokens(StoredTokens stored) : stored(std::move(stored)) {}

  const std::string &name() const override { return stored.path(); }
  int64_t size() const override { return stored.size(); }
  void read(int64_t first, int64_t count, int64_t *destination) const override {
    stored.read(first, count, destination);
  }

private:
  StoredTokens stored;
};

struct LlmcFormat {
  uint32_t magic;
  int32_t version;
  TokenType type;
};
constexpr LlmcFormat llmcFormats[] = {{20240520, 1, TokenType::UInt16},
                                      {20240801, 7, TokenType::UInt32}};
constexpr uint64_t llmcHeader = 1024;

} // namespace

std::unique_ptr<Tokens> openRawTokens(const std::string &path, Descriptor file,
                                      TokenType type) {
  uint64_t size = file.regularSize(path);
  size_t width = tokenBytes(type);
  if (size % width)
    fail(path, ": has ", size, " bytes, no multiple of the ", width,
         " of a token; is it truncated, or of another dtype?");
  return std::make_unique<PlainTokens>(StoredTokens(
      path, std::move(file), 0, static_cast<int64_t>(size / width), type));
}

bool isLlmcMagic(uint32_t magic) {
  return std::ranges::find(llmcFormats, magic, &LlmcFormat::magic) !=
         std::end(llmcFormats);
}

std::unique_ptr<Tokens> openLlmcTokens(const std::string &path,
                                       Descriptor file) {
  uint64_t size = file.regularSize(path);
  if (size < llmcHeader)
    fail(path, ": is truncated: ", size, " bytes hold no llm.c header of ",
         llmcHeader);
  int32_t header[3];
  file.readAt(0, header, sizeof(header), path);
  const LlmcFormat *format = std::ranges::find(
      llmcFormats, static_cast<uint32_t>(header[0]), &LlmcFormat::magic);
  if (format == std::end(llmcFormats))
    fail(path, ": is no token file of llm.c any more");
  if (header[1] != format->version)
    fail(path, ": has version ", header[1], " of llm.c's format ",
         format->magic, "; version ", format->version, " is supported");
  uint64_t bytes = size - llmcHeader;
  int64_t tokens = header[2];
  if (tokens < 0 ||
      static_cast<uint64_t>(tokens) * tokenBytes(format->type) != bytes)
    fail(path, ": its header says ", tokens, " tokens of ",
         tokenBytes(format->type), " bytes, and ", bytes, " bytes follow it");
  return std::make_unique<PlainTokens>(
      StoredTokens(path, std::move(file), llmcHeader, tokens, format->type));
}

} // namespace shardc::runtime
