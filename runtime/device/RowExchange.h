// A table of embeddings whose rows travel to who looks them up, and their
// gradients back, in place of the table: what of a workspace is what. Compiler
// and runtime read this header.
//
// A rank has some rows of the table as a slice. For a step it gets some columns
// of all rows instead, by an all-to-all of a slice's size; looks up the
// positions of all ranks in them; and gives each rank its positions, by another
// all-to-all. Gradients go the same way: columns of all positions to who adds
// them up there, rank by rank, and rows of the sums back to whose slice they
// are. What moves does not depend on the ids.
#ifndef SHARDC_RUNTIME_DEVICE_ROWEXCHANGE_H
#define SHARDC_RUNTIME_DEVICE_ROWEXCHANGE_H

#include <cstdint>

namespace shardc {

struct RowExchange {
  int64_t ranks = 1;
  int64_t sliceRows = 0; // of the table, padding included
  int64_t width = 0;     // of a row; a multiple of the ranks
  int64_t positions = 0; // of one rank
  int64_t idBytes = 8, elementBytes = 4;
  int64_t sumBytes = 4; // of an element of a sum of gradients

  int64_t columns() const { return width / ranks; }

  static constexpr int64_t alignment = 256;
  static int64_t aligned(int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }
  int64_t idsBytes() const { return aligned(ranks * positions * idBytes); }
  int64_t sliceBytes() const {
    return aligned(sliceRows * width * elementBytes);
  }
  int64_t rowsBytes() const {
    return aligned(positions * width * elementBytes);
  }
  int64_t sumsBytes() const { return aligned(sliceRows * width * sumBytes); }

  /// Where things begin in the workspace that brings rows: ids of all ranks;
  /// the slice by columns, and what it is exchanged for, which is the table's
  /// columns; what all ranks look up in these, and what it is exchanged for.
  struct Gather {
    int64_t ids = 0, slice, columns, found, arrived, bytes;
  };
  Gather gather() const {
    int64_t slice = idsBytes(), columns = slice + sliceBytes();
    int64_t found = columns + sliceBytes(), arrived = found + rowsBytes();
    return {0, slice, columns, found, arrived, arrived + rowsBytes()};
  }
  /// The same of gradients: ids; the rank's by columns, and all ranks' of its
  /// own columns; their sums, and the slice's rows of all columns.
  struct Reduce {
    int64_t ids = 0, rows, arrived, sums, slice, bytes;
  };
  Reduce reduce() const {
    int64_t rows = idsBytes(), arrived = rows + rowsBytes();
    int64_t sums = arrived + rowsBytes(), slice = sums + sumsBytes();
    return {0, rows, arrived, sums, slice, slice + sumsBytes()};
  }

  /// Bytes that a rank sends, with those that it keeps, in both all-to-alls.
  int64_t gatherBytes() const {
    return idsBytes() + sliceBytes() + rowsBytes();
  }
  int64_t reduceBytes() const { return idsBytes() + rowsBytes() + sumsBytes(); }

  /// Whether so many bytes of rows are less than those of a table that is
  /// gathered and reduced: what is put in order for an all-to-all goes through
  /// memory, too, and counts twice.
  static bool isLess(double rowBytes, double tableBytes) {
    return 2 * rowBytes <= tableBytes;
  }
};

} // namespace shardc

#endif
