// Rows that are added at positions known at run time, those of each table row in
// the order of their positions: gradients of embeddings and gathers.
//
// A block has a group of positions and a chunk of columns. It finds out which of
// its positions are the first of their index, drops the others, and walks from
// there through all positions behind: those that have one of its indices make a
// list, which is added to sums in shared memory. No two blocks share a sum.
#include "runtime/cuda/kernels/Indices.h"
#include "runtime/cuda/kernels/Sums.h"

namespace shardc::runtime::cuda {

/// Sums of a block at a time; its positions beyond them are taken after.
constexpr unsigned mostRows = 16;
/// Positions that a thread looks at between two barriers.
constexpr unsigned perThread = 4;
constexpr unsigned tilePositions = perThread * blockThreads;
constexpr unsigned mostListed = 2 * tilePositions;
constexpr unsigned hashes = 2048;
constexpr unsigned char none = 255;

/// What the threads of a block share, beside sums.
struct RowSearch {
  /// Of each position of the group: its index, whether it has none or an earlier
  /// one has it too, and which of the rows that are summed it is, or none.
  int index[mostPositions];
  unsigned char isLater[mostPositions], row[mostPositions];
  /// From the hash of an index to the positions that have a row: 1 + position,
  /// 0 ends a chain.
  unsigned char head[hashes], next[mostPositions];
  /// Of each tile in turns: whether anything was found there, and by each
  /// thread which of its positions, a bit each.
  unsigned isFound[3];
  alignas(8) unsigned char found[2][(blockThreads + 7) / 8 * 8];
  /// position * mostRows + row.
  unsigned list[mostListed];

  SHARDC_DEVICE unsigned hashOf(int of) const { return unsigned(of) % hashes; }

  /// Makes the chains of those of `count` positions that have a row.
  SHARDC_DEVICE void link(unsigned count) {
    for (unsigned i = threadOfBlock(); i < hashes; i += blockThreads)
      head[i] = 0;
    barrier();
    for (unsigned i = threadOfBlock(); i < count; i += blockThreads) {
      if (row[i] == none)
        continue;
      unsigned hash = hashOf(index[i]), before = 0;
      bool isLast = true;
      for (unsigned other = 0; other < count; ++other) {
        if (row[other] == none || hashOf(index[other]) != hash)
          continue;
        if (other < i)
          before = other + 1;
        else if (other > i)
          isLast = false;
      }
      next[i] = static_cast<unsigned char>(before);
      if (isLast)
        head[hash] = static_cast<unsigned char>(i + 1);
    }
    barrier();
  }

  /// Returns 1 + the position of the group that has a row and this index; 0:
  /// none.
  SHARDC_DEVICE unsigned find(int of) const {
    unsigned at = head[hashOf(of)];
    while (at && index[at - 1] != of)
      at = next[at - 1];
    return at;
  }
};

/// Whose turn it is.
struct RowWork {
  unsigned first, count; // positions of the group
  unsigned column, columns;
  Count gradient, table; // offsets of the outer
};

SHARDC_DEVICE RowWork workOf(const AddRowsParameters &with, unsigned item,
                             unsigned columns) {
  unsigned chunk = item % with.chunks, rest = item / with.chunks;
  unsigned group = rest % with.groups, outer = rest / with.groups;
  RowWork work;
  work.first = group * with.perBlock;
  work.count = with.positions - work.first;
  if (work.count > with.perBlock)
    work.count = with.perBlock;
  work.column = chunk * columns;
  work.columns = with.width - work.column;
  if (work.columns > columns)
    work.columns = columns;
  work.gradient = outer * with.gradientOuter + work.column;
  work.table = outer * with.tableOuter + work.column;
  return work;
}

/// Below 0: none.
SHARDC_DEVICE int rowIndex(const AddRowsParameters &with, unsigned position) {
  return int(checkedIndex(with.indices, position, with.size, with.wraps));
}

/// Finds the positions of the group that are the first of their index, and
/// returns how many these are; isLater is set of the others.
SHARDC_DEVICE unsigned findFirst(const AddRowsParameters &with,
                                 const RowWork &work, RowSearch &search) {
  unsigned thread = threadOfBlock();
  barrier();
  for (unsigned i = thread; i < work.count; i += blockThreads)
    search.index[i] = rowIndex(with, work.first + i);
  barrier();
  for (unsigned i = thread; i < work.count; i += blockThreads) {
    bool isLater = search.index[i] < 0;
    for (unsigned other = 0; other < i; ++other)
      isLater |= search.index[other] == search.index[i];
    search.isLater[i] = isLater;
    search.row[i] = isLater ? none : 0;
  }
  barrier();
  search.link(work.count);
  for (unsigned i = thread; i < work.first; i += blockThreads)
    if (unsigned at = search.find(rowIndex(with, i)))
      search.isLater[at - 1] = 1;
  barrier();
  unsigned firsts = 0;
  for (unsigned i = 0; i < work.count; ++i)
    firsts += !search.isLater[i];
  return firsts;
}

/// Gives rows to mostRows positions, behind `done` others.
SHARDC_DEVICE void giveRows(const RowWork &work, unsigned done,
                            RowSearch &search) {
  barrier();
  for (unsigned i = threadOfBlock(); i < work.count; i += blockThreads) {
    unsigned before = 0;
    for (unsigned other = 0; other < i; ++other)
      before += !search.isLater[other];
    bool has = !search.isLater[i] && before >= done && before < done + mostRows;
    search.row[i] = has ? static_cast<unsigned char>(before - done) : none;
  }
  barrier();
  search.link(work.count);
}

/// Sums of the row that was added to last, in the thread's own columns: those
/// of a row that comes often stay in registers.
template <typename Sum> struct OwnSums {
  static constexpr unsigned columns = rowColumns(sizeof(Sum)),
                            count = columns / blockThreads;
  Sum (*sums)[columns];
  unsigned row;
  Sum kept[count];

  SHARDC_DEVICE OwnSums(Sum (*sums)[columns], unsigned row)
      : sums(sums), row(row) {
    load();
  }
  SHARDC_DEVICE void load() {
    for (unsigned i = 0; i < count; ++i)
      kept[i] = sums[row][threadOfBlock() + i * blockThreads];
  }
  SHARDC_DEVICE void store() const {
    for (unsigned i = 0; i < count; ++i)
      sums[row][threadOfBlock() + i * blockThreads] = kept[i];
  }
  template <typename S>
  SHARDC_DEVICE void add(unsigned to, const S (&values)[count]) {
    if (to != row) {
      store();
      row = to;
      load();
    }
    for (unsigned i = 0; i < count; ++i)
      kept[i] += summand(values[i]);
  }
};

/// Adds what is listed, one or more.
template <typename S, typename Sum>
SHARDC_DEVICE void addListed(const AddRowsParameters &with, const RowWork &work,
                             const RowSearch &search, unsigned listed,
                             Sum (*sums)[rowColumns(sizeof(Sum))]) {
  // Loads do not wait for the sums before them.
  constexpr unsigned ahead = 8, count = OwnSums<Sum>::count;
  auto *from = reinterpret_cast<const S *>(with.gradient) + work.gradient +
               threadOfBlock();
  OwnSums<Sum> own(sums, search.list[0] % mostRows);
  for (unsigned first = 0; first < listed; first += ahead) {
    S values[ahead][count];
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k) {
      unsigned position =
          first + k < listed ? search.list[first + k] / mostRows : 0;
      for (unsigned i = 0; i < count; ++i)
        values[k][i] =
            first + k < listed &&
                    threadOfBlock() + i * blockThreads < work.columns
                ? from[position * with.gradientStride + i * blockThreads]
                : S();
    }
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k)
      if (first + k < listed)
        own.add(search.list[first + k] % mostRows, values[k]);
  }
  own.store();
}

/// Appends a tile's positions to the list, which has `listed` so far, and
/// returns how many it has then. `turn` counts tiles.
SHARDC_DEVICE unsigned listTile(const AddRowsParameters &with, unsigned tile,
                                unsigned turn, unsigned listed,
                                RowSearch &search) {
  unsigned thread = threadOfBlock(), bits = 0;
  unsigned char rows[perThread];
#pragma unroll
  for (unsigned i = 0; i < perThread; ++i) {
    unsigned position = tile + thread * perThread + i;
    rows[i] = none;
    if (position >= with.positions)
      continue;
    if (unsigned at = search.find(rowIndex(with, position))) {
      rows[i] = search.row[at - 1];
      bits |= 1u << i;
    }
  }
  // Of three, as slow threads may still read that of the tile before.
  if (thread == 0)
    search.isFound[(turn + 1) % 3] = 0;
  search.found[turn % 2][thread] = static_cast<unsigned char>(bits);
  if (bits)
    search.isFound[turn % 3] = 1;
  barrier();
  if (!search.isFound[turn % 3])
    return listed;
  auto *words =
      reinterpret_cast<const unsigned long long *>(search.found[turn % 2]);
  unsigned before = 0, all = 0;
  for (unsigned word = 0; word < (blockThreads + 7) / 8; ++word) {
    unsigned long long of = words[word];
    if (word == thread / 8)
      before =
          all +
          unsigned(__builtin_popcountll(of & ((1ull << (thread % 8 * 8)) - 1)));
    all += unsigned(__builtin_popcountll(of));
  }
#pragma unroll
  for (unsigned i = 0; i < perThread; ++i)
    if (bits >> i & 1)
      search.list[listed + before++] =
          (tile + thread * perThread + i) * mostRows + rows[i];
  return listed + all;
}

template <typename S, typename T>
static SHARDC_DEVICE void addRows(const AddRowsParameters &with) {
  using Sum = SumOf<T>;
  SHARDC_SHARED RowSearch search;
  SHARDC_SHARED Sum sums[mostRows][rowColumns(sizeof(Sum))];
  auto *table = reinterpret_cast<T *>(with.table);
  unsigned thread = threadOfBlock();
  unsigned items = with.outers * with.groups * with.chunks;
  for (unsigned item = blockOfGrid(); item < items; item += blocksOfGrid()) {
    RowWork work = workOf(with, item, rowColumns(sizeof(Sum)));
    unsigned firsts = findFirst(with, work, search);
    for (unsigned done = 0; done < firsts; done += mostRows) {
      giveRows(work, done, search);
      for (unsigned i = 0; i < work.count; ++i)
        for (unsigned column = thread;
             search.row[i] != none && column < work.columns;
             column += blockThreads)
          sums[search.row[i]][column] =
              with.start == RowStart::Row
                  ? Sum(0) +
                        summand(
                            table[work.table +
                                  search.index[i] * with.tableStride + column])
                  : Sum(0);
      for (unsigned i = thread; i < 3; i += blockThreads)
        search.isFound[i] = 0;
      if (thread < sizeof(search.found[0]) - blockThreads)
        search.found[0][blockThreads + thread] =
            search.found[1][blockThreads + thread] = 0;
      barrier();
      unsigned listed = 0, turn = 0;
      for (unsigned tile = work.first; tile < with.positions;
           tile += tilePositions, ++turn) {
        listed = listTile(with, tile, turn, listed, search);
        if (listed + tilePositions <= mostListed)
          continue;
        barrier();
        addListed<S>(with, work, search, listed, sums);
        barrier();
        listed = 0;
      }
      barrier();
      if (listed)
        addListed<S>(with, work, search, listed, sums);
      for (unsigned i = 0; i < work.count; ++i)
        for (unsigned column = thread;
             search.row[i] != none && column < work.columns;
             column += blockThreads) {
          Sum sum = sums[search.row[i]][column];
          T &to =
              table[work.table + search.index[i] * with.tableStride + column];
          store(with.start == RowStart::SumToRow ? summand(to) + sum : sum, to);
        }
    }
  }
}

#define SHARDC_ADD_ROWS(gradient, S, table, T)                                 \
  SHARDC_KERNEL void add_rows_##gradient##_##table(AddRowsParameters with) {   \
    addRows<S, T>(with);                                                       \
  }
SHARDC_ADD_ROWS(f64, double, f64, double)
SHARDC_ADD_ROWS(f32, float, f32, float)
SHARDC_ADD_ROWS(bf16, Bf16, bf16, Bf16)
SHARDC_ADD_ROWS(bf16, Bf16, f32, float)
SHARDC_ADD_ROWS(f16, F16, f16, F16)
SHARDC_ADD_ROWS(f16, F16, f32, float)

} // namespace shardc::runtime::cuda
