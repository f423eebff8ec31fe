// Megatron-LM's indexed datasets. Behind the magic of FILE.idx: uint64 version,
// uint8 dtype, uint64 sequences, uint64 document indices; then int32 tokens of
// each sequence, int64 bytes from the begin of FILE.bin to each, and int64
// sequences before each document, and at the end.
#include "runtime/data/MegatronTokens.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace shardc::runtime {

namespace {

constexpr uint64_t headerBytes = 34;

std::optional<TokenType> typeOfCode(uint8_t code) {
  switch (code) {
  case 1:
    return TokenType::UInt8;
  case 2:
    return TokenType::Int8;
  case 3:
    return TokenType::Int16;
  case 4:
    return TokenType::Int32;
  case 5:
    return TokenType::Int64;
  case 8:
    return TokenType::UInt16;
  default:
    return std::nullopt;
  }
}

struct Index {
  TokenType type;
  uint64_t sequences = 0, documents = 0;
};

/// Numbers of a file, read some at a time: an index may be larger than the
/// memory that a run has to spare.
template <typename Integer, typename Use>
void forEach(const Descriptor &file, const std::string &path, uint64_t offset,
             uint64_t count, Use use) {
  constexpr uint64_t most = 1 << 16;
  std::vector<Integer> numbers(std::min(most, count));
  for (uint64_t first = 0; first < count; first += most) {
    uint64_t some = std::min(most, count - first);
    file.readAt(offset + first * sizeof(Integer), numbers.data(),
                some * sizeof(Integer), path);
    for (uint64_t i = 0; i < some; ++i)
      use(first + i, numbers[i]);
  }
}

Index readHeader(const Descriptor &file, const std::string &path) {
  uint64_t size = file.regularSize(path), version = 0;
  if (size < headerBytes)
    fail(path, ": is truncated: ", size, " bytes hold no header of ",
         headerBytes);
  std::byte header[headerBytes];
  file.readAt(0, header, headerBytes, path);
  std::memcpy(&version, header + 9, 8);
  if (version != 1)
    fail(path, ": has version ", version,
         " of Megatron's index; version 1 is supported");
  auto code = static_cast<uint8_t>(header[17]);
  std::optional<TokenType> type = typeOfCode(code);
  if (!type)
    fail(path, ": has the dtype code ", int(code),
         ", which is no integer; expects uint8 (1), int8 (2), int16 (3), int32 "
         "(4), int64 (5) or uint16 (8)");
  Index index{*type};
  std::memcpy(&index.sequences, header + 18, 8);
  std::memcpy(&index.documents, header + 26, 8);
  uint64_t left = size - headerBytes;
  if (index.sequences > left / 12 ||
      index.documents > (left - index.sequences * 12) / 8)
    fail(path, ": is truncated: ", index.sequences, " sequences and ",
         index.documents, " document indices do not fit in ", size, " bytes");
  return index;
}

class MegatronTokens final : public Tokens {
public:
  MegatronTokens(std::string indexPath, Descriptor index, Index header,
                 StoredTokens stored)
      : indexPath(std::move(indexPath)), index(std::move(index)),
        header(header), stored(std::move(stored)) {}

  const std::string &name() const override { return stored.path(); }
  std::vector<std::string> paths() const override {
    return {indexPath, stored.path()};
  }
  int64_t size() const override { return stored.size(); }
  void read(int64_t first, int64_t count, int64_t *destination) const override {
    stored.read(first, count, destination);
  }
  std::vector<int64_t> documentEnds() const override;

private:
  std::string indexPath;
  Descriptor index;
  Index header;
  StoredTokens stored;
};

std::vector<int64_t> MegatronTokens::documentEnds() const {
  std::vector<int64_t> sequences; // before each document, and at the end
  auto last = static_cast<int64_t>(header.sequences);
  forEach<int64_t>(index, indexPath, headerBytes + header.sequences * 12,
                   header.documents, [&](uint64_t i, int64_t sequence) {
                     int64_t before = sequences.empty() ? 0 : sequences.back();
                     if (sequence < before || sequence > last)
                       fail(indexPath, ": document index ", i, " is ", sequence,
                            ", expects ", before, " to ", last);
                     sequences.push_back(sequence);
                   });
  std::vector<int64_t> ends;
  size_t next = 0;
  int64_t tokens = 0;
  auto endAt = [&](int64_t sequence) {
    for (; next < sequences.size() && sequences[next] == sequence; ++next)
      if (tokens > (ends.empty() ? 0 : ends.back()))
        ends.push_back(tokens);
  };
  forEach<int32_t>(index, indexPath, headerBytes, header.sequences,
                   [&](uint64_t i, int32_t size) {
                     endAt(static_cast<int64_t>(i));
                     tokens += size;
                   });
  endAt(last);
  return ends;
}

} // namespace

std::unique_ptr<Tokens> openMegatronTokens(const std::string &path,
                                           Descriptor index) {
  if (!path.ends_with(".idx"))
    fail(path, ": is an index of Megatron's; it must end in .idx, and its ids "
               "lie beside it in a file that ends in .bin");
  Index header = readHeader(index, path);
  int64_t tokens = 0;
  auto width = static_cast<int64_t>(tokenBytes(header.type));
  std::vector<int64_t> begins;
  // Windows run over sequences as they lie in the file, so they must lie
  // without gaps, as all of Megatron's tools write them.
  uint64_t pointers = headerBytes + header.sequences * 4;
  constexpr uint64_t most = 1 << 16;
  for (uint64_t first = 0; first < header.sequences; first += most) {
    uint64_t some = std::min(most, header.sequences - first);
    begins.resize(some);
    index.readAt(pointers + first * 8, begins.data(), some * 8, path);
    forEach<int32_t>(
        index, path, headerBytes + first * 4, some,
        [&](uint64_t i, int32_t size) {
          if (size < 0)
            fail(path, ": sequence ", first + i, " has ", size, " tokens");
          if (begins[i] != tokens * width)
            fail(path, ": sequence ", first + i, " begins at byte ", begins[i],
                 ", and those before it end at ", tokens * width,
                 "; expects sequences one after the other");
          tokens += size;
        });
  }
  std::string data = path.substr(0, path.size() - 4) + ".bin";
  Descriptor file = Descriptor::openForReading(data);
  uint64_t size = file.regularSize(data);
  if (static_cast<uint64_t>(tokens) * width != size)
    fail(data, ": has ", size, " bytes, and ", path, " counts ", tokens,
         " tokens of ", width, " bytes");
  return std::make_unique<MegatronTokens>(
      path, std::move(index), header,
      StoredTokens(data, std::move(file), 0, tokens, header.type));
}

} // namespace shardc::runtime
