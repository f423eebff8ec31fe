// A cell for each two bytes of shared memory.
#include "SharedChecks.h"

#include <cstring>

namespace shardc::test::ptx {

static bool areOfOneWarp(const SharedTime &one, const SharedTime &other) {
  constexpr uint32_t warpSize = 32;
  return one.thread / warpSize == other.thread / warpSize;
}

/// Whether a barrier lies between what `other` did and what `by` does now.
static bool isBehind(const SharedTime &by, const SharedTime &other) {
  return other.thread == by.thread || other.block < by.block ||
         (areOfOneWarp(by, other) && other.block == by.block &&
          other.warp < by.warp);
}

static std::string race(const SharedTime &by, const char *does,
                        const char *statement, const SharedTime &other,
                        const char *did, const char *otherStatement) {
  return "race in shared memory: thread " + std::to_string(by.thread) + " " +
         does + " what thread " + std::to_string(other.thread) + " " + did +
         ", and no barrier is between them: " + statement + ", and " +
         otherStatement;
}

void SharedChecks::begin(const void *memory, size_t bytes) {
  base = reinterpret_cast<uint64_t>(memory);
  // What earlier blocks left has smaller numbers.
  if (cells.size() < (bytes + 1) / 2)
    cells.resize((bytes + 1) / 2);
}

void SharedChecks::Cell::addReader(const SharedTime &by,
                                   const char *statement) {
  if (!read || reader.block != by.block)
    severalWarps = severalThreads = false;
  else if (!areOfOneWarp(reader, by))
    severalWarps = true;
  else if (reader.warp != by.warp)
    severalThreads = false;
  else if (reader.thread != by.thread)
    severalThreads = true;
  reader = by;
  read = statement;
}

/// Whether anyone but a writer has read, and no barrier was since.
bool SharedChecks::Cell::isReadBeside(const SharedTime &by) const {
  if (!read)
    return false;
  if (severalWarps && reader.block >= by.block)
    return true;
  return !isBehind(by, reader) ||
         (severalThreads && reader.thread == by.thread &&
          reader.block == by.block && reader.warp == by.warp);
}

/// "st.shared.b32 [%rd1], 1": all who run it write the same.
static bool writesAConstant(const char *statement) {
  const char *value = std::strrchr(statement, ',');
  return value && !std::strchr(value, '%') && !std::strchr(value, '}');
}

std::string SharedChecks::touch(const SharedTime &by, uint64_t address,
                                unsigned bytes, bool reads, bool writes,
                                const char *statement) {
  uint64_t offset = address - base;
  if (bytes < 2 || offset / 2 >= cells.size())
    return "";
  bool isAtomic = reads && writes;
  for (uint64_t at = offset / 2; at < (offset + bytes) / 2; ++at) {
    Cell &cell = cells[at];
    bool isSame =
        (isAtomic && cell.isAtomic) ||
        (writes && cell.write == statement && writesAConstant(statement));
    if (cell.write && !isSame && !isBehind(by, cell.writer))
      return race(by, writes ? "writes" : "reads", statement, cell.writer,
                  "writes", cell.write);
    if (!writes) {
      cell.addReader(by, statement);
      continue;
    }
    if (cell.isReadBeside(by))
      return race(by, "writes", statement, cell.reader, "reads", cell.read);
    cell = {};
    cell.writer = by, cell.write = statement, cell.isAtomic = isAtomic;
  }
  return "";
}

} // namespace shardc::test::ptx
