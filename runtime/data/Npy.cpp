// NumPy's .npy files: the header is a Python dictionary literal with three
// known keys.
#include "runtime/data/Npy.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

namespace shardc::runtime {

namespace {

/// A reader of the few Python literals that the header is made of.
class LiteralReader {
public:
  explicit LiteralReader(std::string_view text) : rest(text) {}

  bool take(char expected) {
    skipSpace();
    if (rest.empty() || rest.front() != expected)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  std::optional<std::string> string() {
    skipSpace();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return std::nullopt;
    size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string value(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    return value;
  }
  std::optional<bool> boolean() {
    skipSpace();
    for (auto [word, value] : {std::pair{std::string_view("True"), true},
                               std::pair{std::string_view("False"), false}})
      if (rest.starts_with(word)) {
        rest.remove_prefix(word.size());
        return value;
      }
    return std::nullopt;
  }
  std::optional<int64_t> integer() {
    skipSpace();
    int64_t value;
    auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc())
      return std::nullopt;
    rest.remove_prefix(end - rest.data());
    return value;
  }
  std::optional<std::vector<int64_t>> tuple() {
    if (!take('('))
      return std::nullopt;
    std::vector<int64_t> values;
    while (!take(')')) {
      std::optional<int64_t> value = integer();
      if (!value)
        return std::nullopt;
      values.push_back(*value);
      if (!take(',')) {
        if (!take(')'))
          return std::nullopt;
        break;
      }
    }
    return values;
  }

private:
  void skipSpace() {
    while (!rest.empty() &&
           std::isspace(static_cast<unsigned char>(rest.front())))
      rest.remove_prefix(1);
  }
  std::string_view rest;
};

struct Literal {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
  bool structured = false; // descr is a list of fields
};

/// None where the text is no such dictionary.
std::optional<Literal> parseLiteral(std::string_view text) {
  LiteralReader reader(text);
  Literal literal;
  if (!reader.take('{'))
    return std::nullopt;
  while (!reader.take('}')) {
    std::optional<std::string> key = reader.string();
    if (!key || !reader.take(':'))
      return std::nullopt;
    if (*key == "descr") {
      literal.descr = reader.string();
      if (!literal.descr) {
        literal.structured = reader.take('[');
        return literal;
      }
    } else if (*key == "fortran_order") {
      literal.fortranOrder = reader.boolean();
      if (!literal.fortranOrder)
        return std::nullopt;
    } else if (*key == "shape") {
      literal.shape = reader.tuple();
      if (!literal.shape)
        return std::nullopt;
    } else {
      return std::nullopt;
    }
    if (!reader.take(',')) {
      if (!reader.take('}'))
        return std::nullopt;
      break;
    }
  }
  return literal;
}

plan::DType dtypeFromDescr(std::string_view kindAndSize) {
  static constexpr std::pair<std::string_view, plan::DType> known[] = {
      {"f4", plan::FLOAT32}, {"f8", plan::FLOAT64}, {"f2", plan::FLOAT16},
      {"i8", plan::INT64},   {"i4", plan::INT32},   {"b1", plan::BOOL},
      {"i2", plan::INT16},   {"i1", plan::INT8},    {"u8", plan::UINT64},
      {"u4", plan::UINT32},  {"u2", plan::UINT16},  {"u1", plan::UINT8}};
  for (auto [name, dtype] : known)
    if (name == kindAndSize)
      return dtype;
  return plan::INVALID;
}

/// The dtype; throws where the trainer does not read it.
plan::DType checkDescr(const std::string &descr, const std::string &name) {
  if (descr.size() >= 2 && (descr[1] == 'O' || descr[0] == 'O'))
    fail(name, ": holds Python objects; expects an array of numbers");
  plan::DType dtype = descr.empty()
                          ? plan::INVALID
                          : dtypeFromDescr(std::string_view(descr).substr(1));
  if (dtype == plan::INVALID)
    fail(
        name, ": dtype '", descr,
        "' is not supported; expects float16, float32, float64, int8 to int64, "
        "uint8 to uint64 or bool");
  if (descr[0] == '>' && elementSize(dtype) > 1)
    fail(name, ": is big-endian; write it as array.astype('<", descr.substr(1),
         "')");
  if (descr[0] != '<' && descr[0] != '>' && descr[0] != '|' && descr[0] != '=')
    fail(name, ": dtype '", descr, "' has no byte order");
  return dtype;
}

/// A header, before its dtype is looked at.
struct Header {
  std::string descr;
  std::vector<int64_t> shape;
  uint64_t dataOffset;
};

Header readHeader(std::span<const std::byte> head, uint64_t fileSize,
                  const std::string &name) {
  auto byteAt = [&](size_t index) {
    return static_cast<unsigned char>(head[index]);
  };
  std::string_view bytes(reinterpret_cast<const char *>(head.data()),
                         std::min(head.size(), longestNpyHead));
  constexpr std::string_view magic = "\x93NUMPY";
  if (!bytes.starts_with(magic))
    fail(name, ": is not a .npy file");
  if (bytes.size() < 12)
    fail(name, ": is truncated: ", fileSize, " bytes hold no header");
  int major = byteAt(6);
  if (major < 1 || major > 3)
    fail(name, ": has .npy version ", major, ".", int(byteAt(7)),
         "; versions 1.0 to 3.0 are supported");
  size_t begin = major == 1 ? 10 : 12;
  size_t length = byteAt(8) | size_t(byteAt(9)) << 8;
  if (major > 1)
    length |= size_t(byteAt(10)) << 16 | size_t(byteAt(11)) << 24;
  if (length > fileSize - begin)
    fail(name, ": is truncated: a header of ", length, " bytes in a file of ",
         fileSize);
  if (length > bytes.size() - begin)
    fail(name, ": has a header of ", length, " bytes; at most ",
         longestNpyHead - begin, " are read");

  std::optional<Literal> literal = parseLiteral(bytes.substr(begin, length));
  if (literal && literal->structured)
    fail(name, ": is a structured array; expects an array of one number type");
  if (!literal || !literal->descr || !literal->fortranOrder || !literal->shape)
    fail(name, ": its .npy header is damaged");

  Header header{std::move(*literal->descr), std::move(*literal->shape),
                begin + length};
  if (header.shape.empty())
    fail(name, ": is a single number; expects a first axis of samples");
  if (*literal->fortranOrder && header.shape.size() > 1)
    fail(name,
         ": is in Fortran order; write it as numpy.ascontiguousarray(array)");
  return header;
}

/// Throws unless elements of `size` bytes are all there.
void checkSize(const Header &header, int64_t size, const std::string &type,
               uint64_t fileSize, const std::string &name) {
  int64_t needed = size;
  // No product of dims may overflow, even where another dim is zero.
  int64_t product = needed;
  for (int64_t dim : header.shape) {
    if (dim < 0 ||
        __builtin_mul_overflow(product, std::max<int64_t>(dim, 1), &product))
      fail(name, ": shape ", shapeText(header.shape), " is not possible");
    needed *= dim;
  }
  uint64_t left = fileSize - header.dataOffset;
  if (static_cast<uint64_t>(needed) > left)
    fail(name, ": is truncated: shape ", shapeText(header.shape), " of ", type,
         " takes ", needed, " bytes, got ", left);
}

std::vector<std::byte> headOf(const Descriptor &file, const std::string &path) {
  std::vector<std::byte> head(
      std::min<uint64_t>(file.regularSize(path), longestNpyHead));
  file.readAt(0, head.data(), head.size(), path);
  return head;
}

/// The ids of an array, row behind row.
class NpyTokens final : public Tokens {
public:
  NpyTokens(StoredTokens stored, int64_t row)
      : stored(std::move(stored)), row(row) {}

  const std::string &name() const override { return stored.path(); }
  int64_t size() const override { return stored.size(); }
  void read(int64_t first, int64_t count, int64_t *destination) const override {
    stored.read(first, count, destination);
  }
  std::vector<int64_t> documentEnds() const override {
    if (row == 0)
      return Tokens::documentEnds();
    std::vector<int64_t> ends;
    for (int64_t end = row; end <= size(); end += row)
      ends.push_back(end);
    return ends;
  }

private:
  StoredTokens stored;
  int64_t row; // the length of each; 0: it has no rows
};

} // namespace

StoredArray parseNpyHeader(std::span<const std::byte> head, uint64_t fileSize,
                           const std::string &name) {
  Header header = readHeader(head, fileSize, name);
  plan::DType dtype = checkDescr(header.descr, name);
  checkSize(header, elementSize(dtype), std::string(dtypeName(dtype)), fileSize,
            name);
  return {dtype, std::move(header.shape), header.dataOffset};
}

std::unique_ptr<Source> openNpy(SampleType type, const std::string &path,
                                Descriptor file) {
  uint64_t size = file.regularSize(path);
  StoredArray array = parseNpyHeader(headOf(file, path), size, path);
  return std::make_unique<ArraySource>(std::move(type), path, std::move(file),
                                       std::move(array));
}

StoredArray openNpyArray(const Descriptor &file, const std::string &path) {
  Header header = readHeader(headOf(file, path), file.regularSize(path), path);
  plan::DType dtype =
      dtypeFromDescr(std::string_view(header.descr)
                         .substr(std::min<size_t>(1, header.descr.size())));
  return {dtype, std::move(header.shape), header.dataOffset};
}

std::unique_ptr<Tokens> openNpyTokens(const std::string &path,
                                      Descriptor file) {
  static constexpr std::pair<std::string_view, TokenType> known[] = {
      {"u1", TokenType::UInt8},  {"i1", TokenType::Int8},
      {"u2", TokenType::UInt16}, {"i2", TokenType::Int16},
      {"u4", TokenType::UInt32}, {"i4", TokenType::Int32},
      {"i8", TokenType::Int64}};
  uint64_t size = file.regularSize(path);
  Header header = readHeader(headOf(file, path), size, path);
  std::string_view descr = header.descr;
  auto found =
      std::ranges::find(known, descr.substr(std::min<size_t>(1, descr.size())),
                        &std::pair<std::string_view, TokenType>::first);
  if (found == std::end(known) || (descr[0] == '>' && found->first[1] != '1'))
    fail(path, ": dtype '", descr,
         "' holds no token ids; windows are cut from little-endian integers of "
         "up to 64 bits, signed where they have 64");
  if (header.shape.size() > 2)
    fail(path, ": has the shape ", shapeText(header.shape),
         "; windows are cut from token ids in a row or in rows");
  auto bytes = static_cast<int64_t>(tokenBytes(found->second));
  checkSize(header, bytes, std::string(found->first), size, path);
  int64_t row = header.shape.size() == 2 ? header.shape[1] : 0;
  int64_t count = header.shape[0] * (row ? row : 1);
  if (header.shape.size() == 2 && row == 0)
    count = 0;
  return std::make_unique<NpyTokens>(StoredTokens(path, std::move(file),
                                                  header.dataOffset, count,
                                                  found->second),
                                     row);
}

} // namespace shardc::runtime
