// Copies and fills: runs of bytes, transposes by tiles, and all other views.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/kernels/CopyParameters.h"
#include "runtime/cuda/moves/Moves.h"
#include "runtime/cuda/moves/Views.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace shardc::runtime::cuda {

static void requireDims(size_t dims, size_t most, const Tensor &of) {
  if (dims > most)
    fail("a view of ", of.describe(), " has ", dims,
         " dims after merging neighbours, and CUDA's kernels take ", most,
         ": make one of the tensors contiguous first");
}

static void setDims(const std::vector<ViewDim> &dims, CopyDim *to) {
  for (const ViewDim &dim : dims)
    *to++ = {divisorOf(dim.size), dim.from, dim.to};
}

/// The kernel for a part of a copy in which source and destination walk along
/// different dims; none where tiles would be narrow.
static std::optional<KernelMove> transposeOf(ViewPair views) {
  constexpr int64_t narrow = 8;
  std::vector<ViewDim> &dims = views.dims;
  ViewDim inner = dims.back();
  auto along = std::find_if(dims.begin(), dims.end() - 1,
                            [](const ViewDim &dim) { return dim.from == 1; });
  if (views.unit > 8 || inner.to != 1 || inner.from == 1 ||
      along == dims.end() - 1 || inner.size < narrow || along->size < narrow)
    return std::nullopt;
  int64_t side = tileSide(int(views.unit));
  auto tiles = [&](int64_t size) { return (size + side - 1) / side; };
  TransposeParameters with{};
  with.source = address(views.from), with.destination = address(views.to);
  with.sourceSize = unsigned(along->size), with.to = along->to;
  with.destinationSize = unsigned(inner.size), with.from = inner.from;
  with.sourceTiles = divisorOf(tiles(along->size));
  with.destinationTiles = divisorOf(tiles(inner.size));
  int64_t count = tiles(along->size) * tiles(inner.size);
  dims.pop_back();
  dims.erase(along);
  for (const ViewDim &dim : dims)
    count *= dim.size;
  with.tiles = unsigned(count), with.rank = unsigned(dims.size());
  setDims(dims, with.dims);
  return kernelMove("Copy", "transpose" + std::to_string(views.unit),
                    count * copyThreads, with);
}

std::vector<Move> movesOf(const entry::Copy &entry) {
  std::vector<Move> moves;
  if (entry.source.elements() == 0)
    return moves;
  ViewPair views = viewPair(entry.source, entry.destination);
  if (views.isRun()) {
    moves.push_back(
        CopyBytes{views.to, views.from, views.units() * views.unit});
    return moves;
  }
  requireDims(views.dims.size(), mostDims, entry.source);
  inParts(views, indexLimit, [&](const ViewPair &part) {
    if (std::optional<KernelMove> move = transposeOf(part)) {
      moves.push_back(std::move(*move));
      return;
    }
    CopyParameters with{};
    with.source = address(part.from), with.destination = address(part.to);
    with.units = unsigned(part.units()), with.rank = unsigned(part.dims.size());
    setDims(part.dims, with.dims);
    moves.push_back(kernelMove("Copy", "copy" + std::to_string(part.unit),
                               part.units(), with));
  });
  return moves;
}

/// 16 bytes of elements of a value, converted as the processor's fill does.
static void repeatValue(double value, plan::DType dtype, std::byte *to) {
  size_t size = elementSize(dtype);
  if (isFloat(dtype)) {
    convertElements(&value, plan::FLOAT64, to, dtype, 1);
  } else {
    auto integer = static_cast<int64_t>(value);
    convertElements(&integer, plan::INT64, to, dtype, 1);
  }
  for (size_t at = size; at < 16; at += size)
    std::memcpy(to + at, to, size);
}

std::vector<Move> movesOf(const entry::Fill &entry) {
  std::vector<Move> moves;
  const Tensor &to = entry.destination;
  if (to.elements() == 0)
    return moves;
  FillParameters with{};
  std::byte pattern[16];
  repeatValue(entry.value, to.dtype, pattern);
  std::memcpy(with.bits, pattern, sizeof(pattern));
  ViewPair views = viewPair(to, to);
  bool isOneByte = std::all_of(pattern, pattern + sizeof(pattern),
                               [&](std::byte b) { return b == pattern[0]; });
  if (isOneByte && views.isRun()) {
    moves.push_back(SetBytes{views.to, static_cast<unsigned char>(pattern[0]),
                             views.units() * views.unit});
    return moves;
  }
  requireDims(views.dims.size(), mostDims, to);
  inParts(views, indexLimit, [&](const ViewPair &part) {
    FillParameters one = with;
    one.destination = address(part.to);
    one.units = unsigned(part.units()), one.rank = unsigned(part.dims.size());
    setDims(part.dims, one.dims);
    moves.push_back(kernelMove("Copy", "fill" + std::to_string(part.unit),
                               part.units(), one));
  });
  return moves;
}

} // namespace shardc::runtime::cuda
