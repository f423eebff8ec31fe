// One column of an Arrow IPC stream or file, as datasets.save_to_disk writes
// them. Format: https://arrow.apache.org/docs/format/Columnar.html, "Serialization
// and Interprocess Communication (IPC)", with the tables of Message.fbs and
// Schema.fbs.
#ifndef SHARDC_RUNTIME_DATA_ARROWCOLUMN_H
#define SHARDC_RUNTIME_DATA_ARROWCOLUMN_H

#include "runtime/data/FlatTable.h"
#include "runtime/data/Tokens.h"
#include "runtime/plan.pb.h"

#include <string_view>

namespace shardc::runtime {

inline constexpr std::string_view arrowFileMagic{"ARROW1\0\0", 8};
inline constexpr std::string_view arrowStreamMagic{"\xff\xff\xff\xff", 4};

/// Rows of numbers, or of lists of numbers. Values are read when they are asked
/// for; where they lie is checked when the column is opened.
class ArrowColumn {
public:
  ArrowColumn(const std::string &path, Descriptor file,
              const std::string &column);

  const std::string &path() const { return name; }
  int64_t rows() const { return rowCount; }
  int64_t values() const { return valueCount; }
  bool isList() const { return kind != Kind::Values; }
  bool isFloat() const { return floats != plan::INVALID; }
  /// Booleans are the integers 0 and 1.
  bool isBool() const { return areBits; }
  /// Numbers of the rows with the fewest and with the most.
  int64_t shortest() const { return fewest; }
  int64_t longest() const { return most; }

  /// Copies values [first, first + count) of all rows one after the other:
  /// integers as int64, floats as `dtype`. Safe to call from several threads.
  void readIntegers(int64_t first, int64_t count, int64_t *destination) const;
  void readFloats(int64_t first, int64_t count, plan::DType dtype,
                  std::byte *destination) const;
  /// Values before the end of each row.
  std::vector<int64_t> rowEnds() const;

private:
  enum class Kind { Values, List, LargeList, FixedSizeList };
  struct Batch {
    int64_t rows;
    uint64_t offsets; // bytes from the file's begin, of lists
    uint64_t values;
    int64_t firstValue, valueCount;
    int64_t valuesBefore; // those of earlier batches
  };
  void readSchema(const FlatTable &schema);
  void setType(const FlatTable &field);
  void readBatch(const FlatTable &batch, uint64_t body, uint64_t bodyBytes);
  size_t valueBytes() const;
  /// Calls use(end) with the end of every row of a batch as its offsets have
  /// it, beginning with what is before the first row.
  template <typename Use> void forEachOffset(const Batch &batch, Use use) const;
  /// Calls use(offset, values, count) for the parts of [first, first + count).
  template <typename Use>
  void forParts(int64_t first, int64_t count, Use use) const;

  /// Booleans from number `first` on, a byte each. `offset`: where they begin.
  void readBits(uint64_t offset, int64_t first,
                std::span<std::byte> bits) const;

  std::string name, column;
  Descriptor file;
  Kind kind = Kind::Values;
  int64_t listSize = 0; // of FixedSizeList
  TokenType integers = TokenType::Int64;
  plan::DType floats = plan::INVALID; // INVALID: the values are integers
  bool areBits = false;               // or booleans, eight in a byte
  size_t firstNode = 0, firstBuffer = 0;
  bool hasSchema = false;
  std::vector<Batch> batches;
  int64_t rowCount = 0, valueCount = 0;
  int64_t fewest = std::numeric_limits<int64_t>::max(), most = 0;
};

} // namespace shardc::runtime

#endif
