// Rows of a table travel between ranks: what runtime/device/RowExchange.h says, as
// entries of a device.
#include "runtime/base/DType.h"
#include "runtime/base/EntryKind.h"
#include "runtime/device/RowExchange.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/Resolve.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {
namespace {

Tensor partOf(const Tensor &workspace, int64_t begin, plan::DType dtype,
              std::vector<int64_t> shape) {
  Tensor part;
  part.data = workspace.data + begin;
  part.dtype = dtype;
  part.strides = rowMajorStrides(shape);
  part.shape = std::move(shape);
  return part;
}

Tensor reshaped(const Tensor &contiguous, std::vector<int64_t> shape) {
  return partOf(contiguous, 0, contiguous.dtype, std::move(shape));
}

/// [ranks, rows, columns] as [rows, ranks, columns], where it lies.
Tensor byRow(Tensor byRank) {
  std::swap(byRank.shape[0], byRank.shape[1]);
  std::swap(byRank.strides[0], byRank.strides[1]);
  return byRank;
}

/// Equal parts of the tensors, one to each rank of the group and one from each.
/// `ids` go to all, one behind the other to `allIds`.
entry::StartAllToAll exchange(uint32_t id, Communicator &group,
                              const Tensor &source, const Tensor &destination,
                              const Tensor &ids = {},
                              const Tensor &allIds = {}) {
  entry::StartAllToAll start{id, &group, {source}, {destination}, {}, {}};
  if (ids) {
    start.sources.push_back(ids);
    start.destinations.push_back(allIds);
  }
  int64_t part = source.elements() / group.size();
  for (int peer = 0; peer < group.size(); ++peer) {
    if (part > 0) {
      start.sends.push_back({peer, 0, peer * part, part});
      start.receives.push_back({peer, 0, peer * part, part});
    }
    if (int64_t all = ids ? ids.elements() : 0; all > 0) {
      start.sends.push_back({peer, 1, 0, all});
      start.receives.push_back({peer, 1, peer * all, all});
    }
  }
  return start;
}

/// Checks what looks rows up, or adds to them, and returns the sizes of both.
RowExchange sizesOf(const RankState &state, const plan::Unit &unit,
                    const Communicator &group, const Tensor &ids,
                    const Tensor &rows, const char *rowsName) {
  requireInteger(ids, "ids");
  requireContiguous(ids, "ids");
  requireContiguous(rows, rowsName);
  if (unit.parameters_size() != 1)
    fail("expects a unit of one table, got ", unit.name(), " of ",
         unit.parameters_size(), " parameters");
  const plan::Parameter &table = state.plan.parameters(int(unit.parameters(0)));
  if (table.shape_size() != 2 || table.flat_offset() != 0)
    fail("expects a table of two dims at the beginning of its unit, got ",
         table.name(), " of ", table.shape_size(), " dims at element ",
         table.flat_offset());
  RowExchange sizes;
  sizes.ranks = group.size();
  sizes.width = table.shape(1);
  int64_t slice = state.sliceElements(unit);
  if (sizes.width < 1 || sizes.width % sizes.ranks != 0 ||
      slice % sizes.width != 0 || slice * sizes.ranks != unit.elements() ||
      state.sliceBegin(unit) != group.rank() * slice)
    fail("rank ", group.rank(), " of ", group.size(), " holds ", slice,
         " elements from ", state.sliceBegin(unit), " on of a table of ",
         unit.elements(), " elements in rows of ", sizes.width,
         ": expects equal slices of whole rows, which the ranks divide");
  sizes.sliceRows = slice / sizes.width;
  sizes.positions = ids.elements();
  std::vector<int64_t> shape = ids.shape;
  shape.push_back(sizes.width);
  requireShape(rows, shape, rowsName);
  sizes.idBytes = int64_t(elementSize(ids.dtype));
  sizes.elementBytes = int64_t(elementSize(rows.dtype));
  return sizes;
}

void requireWorkspace(const Tensor &workspace, int64_t bytes) {
  requireContiguous(workspace, "workspace");
  requireDtype(workspace, plan::UINT8, "workspace");
  if (workspace.elements() < bytes)
    fail("expects a workspace of ", bytes, " bytes, got ",
         workspace.elements());
}

} // namespace

void Program::addExchange(int index, entry::StartAllToAll start, bool last) {
  uint32_t id = start.id;
  push(index, std::move(start), last);
  push(index, entry::Wait{id, true}, last);
}

void Program::addCollective(int index, const plan::GatherRowsStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  Communicator &group = state.group(entry.group());
  Tensor ids = state.resolve(entry.ids(), "ids");
  Tensor rows = state.resolve(entry.rows(), "rows");
  Tensor workspace = state.resolve(entry.workspace(), "workspace");
  requireDtype(rows, unit.dtype(), "rows");
  const RowExchange sizes = sizesOf(state, unit, group, ids, rows, "rows");
  const RowExchange::Gather at = sizes.gather();
  requireWorkspace(workspace, at.bytes);
  int64_t all = state.plan.parameters(int(unit.parameters(0))).shape(0);
  int64_t n = sizes.ranks, held = sizes.sliceRows, columns = sizes.columns(),
          positions = sizes.positions;
  if (all > n * held)
    fail("expects slices for the ", all, " rows of unit ", unit.name(),
         ", got ", n, " of ", held);
  bool last = runsOnlyAtEnd(program.entries(index));
  auto part = [&](int64_t begin, std::vector<int64_t> shape) {
    return partOf(workspace, begin, unit.dtype(), std::move(shape));
  };
  Tensor allIds = partOf(workspace, at.ids, ids.dtype, {n * positions});
  Tensor slice = part(at.slice, {n, held, columns});
  push(index,
       entry::Copy{reshaped(state.parameterSlice(unit), {held, n, columns}),
                   byRow(slice)},
       last);
  addExchange(index,
              exchange(nextId++, group, slice,
                       part(at.columns, {n, held, columns}),
                       reshaped(ids, {positions}), allIds),
              last);
  Tensor found = part(at.found, {n * positions, columns});
  push(index, entry::Embedding{part(at.columns, {all, columns}), allIds, found},
       last);
  Tensor arrived = part(at.arrived, {n, positions, columns});
  collectives[entry.token()].arranges =
      entry::Copy{byRow(arrived), reshaped(rows, {positions, n, columns})};
  push(index, exchange(entry.token(), group, found, arrived), last);
}

void Program::addCollective(int index, const plan::ReduceRowsStart &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  Communicator &group = state.group(entry.group());
  Tensor ids = state.resolve(entry.ids(), "ids");
  Tensor gradient = state.resolve(entry.gradient(), "gradient");
  Tensor shard = state.resolve(entry.shard(), "shard");
  Tensor workspace = state.resolve(entry.workspace(), "workspace");
  requireFloat(gradient, "gradient");
  requireDtype(shard, computeDtype(gradient.dtype), "shard");
  requireDtype(shard, unit.gradient_dtype(), "shard");
  requireContiguous(shard, "shard");
  RowExchange sizes = sizesOf(state, unit, group, ids, gradient, "gradient");
  sizes.sumBytes = int64_t(elementSize(shard.dtype));
  const RowExchange::Reduce at = sizes.reduce();
  requireWorkspace(workspace, at.bytes);
  int64_t n = sizes.ranks, held = sizes.sliceRows, columns = sizes.columns(),
          positions = sizes.positions;
  if (shard.elements() != held * sizes.width)
    fail("expects a shard of ", held * sizes.width, " elements, got ",
         shard.describe());
  auto part = [&](int64_t begin, plan::DType dtype,
                  std::vector<int64_t> shape) {
    return partOf(workspace, begin, dtype, std::move(shape));
  };
  Tensor allIds = part(at.ids, ids.dtype, {n * positions});
  Tensor rows = part(at.rows, gradient.dtype, {n, positions, columns});
  Tensor arrived = part(at.arrived, gradient.dtype, {n * positions, columns});
  bool last = runsOnlyAtEnd(program.entries(index));
  push(index,
       entry::Copy{reshaped(gradient, {positions, n, columns}), byRow(rows)},
       last);
  addExchange(index,
              exchange(nextId++, group, rows, arrived,
                       reshaped(ids, {positions}), allIds),
              last);
  Tensor sums = part(at.sums, shard.dtype, {n * held, columns});
  bool running = entry.has_accumulator() && state.accumulates;
  if (running) {
    Tensor accumulator = accumulatorOf(state, entry.accumulator(), shard);
    sums = reshaped(accumulator, {n * held, columns});
  }
  push(index, entry::EmbeddingGrad{arrived, allIds, sums, false, n, running},
       last);
  // Behind the last micro-batch sums go to whose rows they are.
  bool ends = last || entry.has_accumulator();
  Tensor slice = part(at.slice, shard.dtype, {n, held, columns});
  Collective &collective = collectives[entry.token()];
  collective.last = ends;
  collective.arranges =
      entry::Copy{byRow(slice), reshaped(shard, {held, n, columns})};
  push(index, exchange(entry.token(), group, sums, slice), ends);
}

} // namespace shardc::runtime
