// One column of an Arrow IPC stream or file.
#include "runtime/data/ArrowColumn.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"

#include <algorithm>

namespace shardc::runtime {

namespace {

// Numbers of the unions MessageHeader and Type, and of the fields of tables.
enum class Header : uint8_t {
  Schema = 1,
  DictionaryBatch = 2,
  RecordBatch = 3
};
enum class Type : uint8_t {
  Null = 1,
  Int = 2,
  FloatingPoint = 3,
  Binary = 4,
  Utf8 = 5,
  Bool = 6,
  List = 12,
  Struct = 13,
  Union = 14,
  FixedSizeList = 16,
  Map = 17,
  LargeBinary = 19,
  LargeUtf8 = 20,
  LargeList = 21,
  RunEndEncoded = 22,
  BinaryView = 23,
  LargeListView = 26
};
namespace message {
enum { version, headerType, header, bodyLength };
}
namespace schema {
enum { endianness, fields };
}
namespace field {
enum { name, nullable, typeType, type, dictionary, children };
}
namespace recordBatch {
enum { length, nodes, buffers, compression };
}

Type typeOf(const FlatTable &table) {
  return static_cast<Type>(table.scalar<uint8_t>(field::typeType));
}

/// How many nodes and buffers of a record batch belong to a field.
struct Extent {
  size_t nodes = 0, buffers = 0;
};

/// `depth`: of the field in others. `seen`: fields so far; those of damaged
/// metadata may contain themselves.
Extent extentOf(const FlatTable &table, const std::string &path, int depth,
                int &seen) {
  if (depth > 64 || ++seen > 65536)
    fail(path,
         ": its columns are nested more than 64 deep, or more than 65536");
  Extent extent{1, 2};
  if (table.table(field::dictionary))
    return extent; // the indices; the dictionary has messages of its own
  switch (Type type = typeOf(table)) {
  case Type::Null:
  case Type::RunEndEncoded:
    extent.buffers = 0;
    break;
  case Type::Binary:
  case Type::Utf8:
  case Type::LargeBinary:
  case Type::LargeUtf8:
    extent.buffers = 3;
    break;
  case Type::Struct:
  case Type::FixedSizeList:
    extent.buffers = 1;
    break;
  default:
    if (type == Type::Union ||
        (type >= Type::BinaryView && type <= Type::LargeListView))
      fail(path, ": column ", table.text(field::name),
           " is a union or a view, which are not read; save the dataset "
           "without it");
  }
  for (const FlatTable &child : table.tables(field::children)) {
    Extent inner = extentOf(child, path, depth + 1, seen);
    extent.nodes += inner.nodes;
    extent.buffers += inner.buffers;
  }
  return extent;
}

/// `what`: the column.
[[noreturn]] void refuse(Type type, const std::string &what) {
  constexpr const char *expected =
      "; expects integers, floats, booleans or lists of them";
  switch (type) {
  case Type::List:
  case Type::LargeList:
  case Type::FixedSizeList:
    fail(what, " holds lists of lists", expected,
         ": flatten each row before save_to_disk");
  case Type::Utf8:
  case Type::LargeUtf8:
    fail(what, " holds text", expected,
         ": shardc-data tokenize makes tokens of text");
  case Type::Null:
    fail(what, " holds nothing but nulls", expected);
  default:
    fail(what, " has Arrow's type ", int(type), expected);
  }
}

TokenType integerType(int32_t bits, bool isSigned, const std::string &what) {
  switch (bits) {
  case 8:
    return isSigned ? TokenType::Int8 : TokenType::UInt8;
  case 16:
    return isSigned ? TokenType::Int16 : TokenType::UInt16;
  case 32:
    return isSigned ? TokenType::Int32 : TokenType::UInt32;
  case 64:
    if (isSigned)
      return TokenType::Int64;
  }
  fail(what, " holds ", isSigned ? "int" : "uint", bits,
       "; expects integers of up to 64 bits, signed where they have 64");
}

} // namespace

ArrowColumn::ArrowColumn(const std::string &path, Descriptor opened,
                         const std::string &column)
    : name(path), column(column), file(std::move(opened)) {
  uint64_t size = file.regularSize(path), at = 0;
  char head[8] = {};
  file.readAt(0, head, std::min<uint64_t>(size, sizeof(head)), path);
  // A file is a stream between magics, with a footer that is not needed here.
  if (std::string_view(head, sizeof(head)) == arrowFileMagic)
    at = sizeof(head);
  for (;;) {
    uint32_t prefix[2];
    if (size - at < sizeof(prefix))
      fail(path, ": is truncated: its Arrow stream has no end, after ",
           rowCount, " rows");
    file.readAt(at, prefix, sizeof(prefix), path);
    at += sizeof(prefix);
    if (prefix[0] != 0xffffffff)
      fail(path, ": has no Arrow message at byte ", at - sizeof(prefix));
    if (prefix[1] == 0)
      break;
    constexpr uint32_t mostMetadata = 1 << 28;
    if (prefix[1] > size - at || prefix[1] > mostMetadata)
      fail(path, ": is truncated or damaged: an Arrow message has ", prefix[1],
           " bytes, and ", size - at, " are left");
    std::vector<std::byte> metadata(prefix[1]);
    file.readAt(at, metadata.data(), metadata.size(), path);
    at += metadata.size();
    FlatTable message = FlatTable::root(metadata, name);
    auto bodyBytes =
        static_cast<uint64_t>(message.scalar<int64_t>(message::bodyLength));
    if (bodyBytes > size - at)
      fail(path, ": is truncated: an Arrow message's body has ", bodyBytes,
           " bytes, and ", size - at, " are left");
    auto type =
        static_cast<Header>(message.scalar<uint8_t>(message::headerType));
    std::optional<FlatTable> header = message.table(message::header);
    if (header && type == Header::Schema)
      readSchema(*header);
    else if (header && type == Header::RecordBatch)
      readBatch(*header, at, bodyBytes);
    at += bodyBytes;
  }
  if (!hasSchema)
    fail(path, ": its Arrow stream has no schema");
}

void ArrowColumn::readSchema(const FlatTable &table) {
  if (hasSchema)
    fail(name, ": its Arrow stream has two schemas");
  hasSchema = true;
  if (table.scalar<int16_t>(schema::endianness) != 0)
    fail(name, ": is big-endian");
  std::vector<std::string> names;
  int seen = 0;
  for (const FlatTable &each : table.tables(schema::fields)) {
    names.emplace_back(each.text(field::name));
    if (names.back() == column)
      return setType(each);
    Extent extent = extentOf(each, name, 0, seen);
    firstNode += extent.nodes;
    firstBuffer += extent.buffers;
  }
  std::string all;
  for (const std::string &each : names)
    all += (all.empty() ? "" : ", ") + each;
  fail(name, ": has no column ", column, suggestion(column, names),
       "; its columns are ", all, "; give column=NAME");
}

void ArrowColumn::setType(const FlatTable &table) {
  std::string what = concat(name, ": column ", column);
  auto refuseDictionary = [&](const FlatTable &each) {
    if (each.table(field::dictionary))
      fail(what, " is encoded with a dictionary, which is not read; cast it to "
                 "plain integers before save_to_disk");
  };
  refuseDictionary(table);
  FlatTable numbers = table;
  Type type = typeOf(table);
  if (type == Type::List || type == Type::LargeList ||
      type == Type::FixedSizeList) {
    kind = type == Type::List        ? Kind::List
           : type == Type::LargeList ? Kind::LargeList
                                     : Kind::FixedSizeList;
    std::vector<FlatTable> children = table.tables(field::children);
    std::optional<FlatTable> size = table.table(field::type);
    if (children.size() != 1 || !size)
      fail(what, " is a damaged list");
    if (kind == Kind::FixedSizeList)
      listSize = size->scalar<int32_t>(0);
    if (listSize < 0)
      fail(what, " has lists of ", listSize, " numbers");
    numbers = children.front();
    refuseDictionary(numbers);
  }
  std::optional<FlatTable> number = numbers.table(field::type);
  if (number && typeOf(numbers) == Type::Int) {
    integers = integerType(number->scalar<int32_t>(0),
                           number->scalar<uint8_t>(1) != 0, what);
  } else if (number && typeOf(numbers) == Type::FloatingPoint) {
    auto precision = number->scalar<int16_t>(0);
    floats = precision == 0   ? plan::FLOAT16
             : precision == 1 ? plan::FLOAT32
                              : plan::FLOAT64;
  } else if (number && typeOf(numbers) == Type::Bool) {
    integers = TokenType::UInt8;
    areBits = true;
  } else {
    refuse(typeOf(numbers), what);
  }
}

size_t ArrowColumn::valueBytes() const {
  return isFloat() ? elementSize(floats) : tokenBytes(integers);
}

void ArrowColumn::readBatch(const FlatTable &batch, uint64_t body,
                            uint64_t bodyBytes) {
  std::string what =
      concat(name, ": column ", column, " of batch ", batches.size());
  if (!hasSchema)
    fail(name, ": a batch stands before its schema");
  if (batch.table(recordBatch::compression))
    fail(name, ": its batches are compressed, which is not read; write them "
               "without compression, as datasets.save_to_disk does");
  auto nodes = batch.pairs(recordBatch::nodes);
  auto buffers = batch.pairs(recordBatch::buffers);
  size_t lists = isList() ? 1 : 0;
  size_t offsetsAt = firstBuffer + 1;
  size_t valuesAt = firstBuffer + 1 +
                    (kind == Kind::Values          ? 0
                     : kind == Kind::FixedSizeList ? 1
                                                   : 2);
  if (nodes.size() <= firstNode + lists || buffers.size() <= valuesAt)
    fail(what, " is not there: ", nodes.size(), " nodes, ", buffers.size(),
         " buffers");
  auto [rows, nulls] = nodes[firstNode];
  auto [count, valueNulls] = nodes[firstNode + lists];
  if (nulls || valueNulls)
    fail(what, " has ", nulls ? nulls : valueNulls,
         " nulls; expects a number everywhere");
  auto check = [&](size_t buffer, int64_t elements, size_t size) {
    auto [offset, bytes] = buffers[buffer];
    if (offset < 0 || bytes < 0 || uint64_t(offset) > bodyBytes ||
        uint64_t(bytes) > bodyBytes - uint64_t(offset) || elements < 0 ||
        uint64_t(elements) > uint64_t(bytes) / size)
      fail(what, " is truncated or damaged: ", elements, " elements of ", size,
           " bytes in a buffer of ", bytes, " bytes");
    return body + uint64_t(offset);
  };
  int64_t stored = areBits && count > 0 ? (count - 1) / 8 + 1 : count;
  Batch added{rows, 0, check(valuesAt, stored, valueBytes()), 0, count, 0};
  int64_t shortestHere = rows ? 1 : fewest, longestHere = rows ? 1 : most;
  if (kind == Kind::FixedSizeList) {
    int64_t needed;
    if (rows < 0 || __builtin_mul_overflow(rows, listSize, &needed) ||
        needed > count)
      fail(what, " has ", count, " numbers for ", rows, " lists of ", listSize);
    added.valueCount = needed;
    if (rows)
      shortestHere = longestHere = listSize;
  } else if (kind == Kind::Values && rows != count) {
    fail(what, " is damaged: ", rows, " rows and ", count, " values");
  } else if (isList() && rows > 0) {
    added.offsets = check(offsetsAt, rows, kind == Kind::List ? 4 : 8);
    check(offsetsAt, rows + 1, kind == Kind::List ? 4 : 8);
    int64_t before = -1;
    shortestHere = fewest;
    longestHere = most;
    forEachOffset(added, [&](int64_t end) {
      if (end < std::max<int64_t>(before, 0) || end > count)
        fail(what, " is damaged: a list ends at value ", end, ", expects ",
             std::max<int64_t>(before, 0), " to ", count);
      if (before < 0) {
        added.firstValue = end;
      } else {
        shortestHere = std::min(shortestHere, end - before);
        longestHere = std::max(longestHere, end - before);
      }
      before = end;
    });
    added.valueCount = before - added.firstValue;
  } else if (isList()) {
    added.valueCount = 0;
  }
  if (rows < 0)
    fail(what, " is damaged: ", rows, " rows");
  if (rows == 0)
    return;
  fewest = std::min(fewest, shortestHere);
  most = std::max(most, longestHere);
  rowCount += rows;
  added.valuesBefore = valueCount;
  valueCount += added.valueCount;
  batches.push_back(added);
}

template <typename Use>
void ArrowColumn::forEachOffset(const Batch &batch, Use use) const {
  constexpr int64_t atOnce = 1 << 16;
  size_t size = kind == Kind::List ? 4 : 8;
  std::vector<int64_t> ends(std::min(atOnce, batch.rows + 1));
  std::vector<std::byte> stored(ends.size() * size);
  for (int64_t first = 0; first <= batch.rows; first += atOnce) {
    int64_t some = std::min(atOnce, batch.rows + 1 - first);
    file.readAt(batch.offsets + first * size, stored.data(), some * size, name);
    widenTokens(kind == Kind::List ? TokenType::Int32 : TokenType::Int64,
                stored.data(), some, ends.data());
    std::for_each(ends.begin(), ends.begin() + some, use);
  }
}

void ArrowColumn::readBits(uint64_t offset, int64_t first,
                           std::span<std::byte> bits) const {
  if (bits.empty())
    return;
  int64_t begin = first / 8;
  std::vector<std::byte> stored((first + bits.size() - 1) / 8 - begin + 1);
  file.readAt(offset + begin, stored.data(), stored.size(), name);
  for (size_t i = 0; i < bits.size(); ++i) {
    int64_t bit = first - begin * 8 + int64_t(i);
    bits[i] = stored[bit / 8] >> (bit % 8) & std::byte{1};
  }
}

template <typename Use>
void ArrowColumn::forParts(int64_t first, int64_t count, Use use) const {
  size_t size = valueBytes();
  auto batch = std::prev(
      std::ranges::upper_bound(batches, first, {}, &Batch::valuesBefore));
  for (; count > 0 && batch != batches.end(); ++batch) {
    int64_t begin = first - batch->valuesBefore;
    int64_t some = std::min(count, batch->valueCount - begin);
    std::vector<std::byte> stored(some * size);
    int64_t at = batch->firstValue + begin;
    if (areBits)
      readBits(batch->values, at, stored);
    else
      file.readAt(batch->values + at * size, stored.data(), stored.size(),
                  name);
    use(stored.data(), some);
    first += some;
    count -= some;
  }
}

void ArrowColumn::readIntegers(int64_t first, int64_t count,
                               int64_t *destination) const {
  forParts(first, count, [&](const std::byte *stored, int64_t some) {
    widenTokens(integers, stored, some, destination);
    destination += some;
  });
}

void ArrowColumn::readFloats(int64_t first, int64_t count, plan::DType dtype,
                             std::byte *destination) const {
  forParts(first, count, [&](const std::byte *stored, int64_t some) {
    convertElements(stored, floats, destination, dtype, some);
    destination += some * elementSize(dtype);
  });
}

std::vector<int64_t> ArrowColumn::rowEnds() const {
  std::vector<int64_t> ends;
  int64_t before = 0; // values of earlier batches
  for (const Batch &batch : batches) {
    if (kind == Kind::FixedSizeList || kind == Kind::Values) {
      int64_t each = kind == Kind::Values ? 1 : listSize;
      for (int64_t row = 1; row <= batch.rows; ++row)
        ends.push_back(before + row * each);
    } else {
      bool isFirst = true;
      forEachOffset(batch, [&](int64_t end) {
        // The file may have been overwritten since it was opened.
        int64_t inBatch =
            std::clamp<int64_t>(end - batch.firstValue, 0, batch.valueCount);
        if (!isFirst)
          ends.push_back(
              std::max(before + inBatch, ends.empty() ? 0 : ends.back()));
        isFirst = false;
      });
    }
    before += batch.valueCount;
  }
  return ends;
}

} // namespace shardc::runtime
