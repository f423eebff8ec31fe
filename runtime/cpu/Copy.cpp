// Copies. Dims are reordered and merged once per call, so that most copies end
// as memcpy of long runs, and transposes as small square tiles.
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Indexing.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace shardc::runtime::cpu {
namespace {

struct Dim {
  int64_t size, from, to; // strides in elements
};

/// The dims of a copy, outermost first by the destination's strides; neighbours
/// are merged where both sides walk on.
std::vector<Dim> copyDims(const Tensor &source, const Tensor &destination) {
  std::vector<Dim> dims;
  for (int64_t dim = 0; dim < source.rank(); ++dim)
    if (source.shape[dim] != 1)
      dims.push_back(
          {source.shape[dim], source.strides[dim], destination.strides[dim]});
  std::sort(dims.begin(), dims.end(), [](const Dim &a, const Dim &b) {
    return std::tie(a.to, a.from) > std::tie(b.to, b.from);
  });
  std::vector<Dim> merged;
  for (const Dim &dim : dims) {
    if (!merged.empty() && merged.back().from == dim.from * dim.size &&
        merged.back().to == dim.to * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.from, dim.to};
    else
      merged.push_back(dim);
  }
  return merged;
}

/// Copy a run, and a tile, at the given places.
template <typename T> void copyRun(const T *from, T *to, const Dim &run) {
  if (run.from == 1 && run.to == 1)
    std::memcpy(to, from, run.size * sizeof(T));
  else
    for (int64_t i = 0; i < run.size; ++i)
      to[i * run.to] = from[i * run.from];
}
template <typename T>
void copyTile(const T *from, T *to, const Dim &outer, const Dim &inner) {
  constexpr int64_t tile = 16;
  for (int64_t i = 0; i < outer.size; i += tile)
    for (int64_t j = 0; j < inner.size; j += tile) {
      int64_t iEnd = std::min(outer.size, i + tile);
      int64_t jEnd = std::min(inner.size, j + tile);
      for (int64_t row = i; row < iEnd; ++row)
        for (int64_t column = j; column < jEnd; ++column)
          to[row * outer.to + column * inner.to] =
              from[row * outer.from + column * inner.from];
    }
}

template <typename T>
void run(const Tensor &source, const Tensor &destination, ThreadPool &pool) {
  std::vector<Dim> dims = copyDims(source, destination);
  if (dims.empty())
    dims.push_back({1, 1, 1});
  Dim inner = dims.back();
  dims.pop_back();
  // In a transpose the source walks along another dim.
  Dim outer{1, 0, 0};
  if (inner.from != 1) {
    auto along = std::find_if(dims.begin(), dims.end(),
                              [](const Dim &dim) { return dim.from == 1; });
    if (along != dims.end()) {
      outer = *along;
      dims.erase(along);
    }
  }
  // One long run is cut, so that threads have work items to share.
  constexpr int64_t bytesWorthAnItem = 64 << 10;
  int64_t longest = bytesWorthAnItem / int64_t(sizeof(T));
  if (dims.empty() && outer.size == 1 && inner.size >= 2 * longest) {
    int64_t whole = inner.size / longest * longest;
    Dim rest{inner.size - whole, inner.from, inner.to};
    copyRun(source.as<T>() + whole * inner.from,
            destination.as<T>() + whole * inner.to, rest);
    dims.push_back({whole / longest, inner.from * longest, inner.to * longest});
    inner.size = longest;
  } else if (dims.empty() && outer.size > 1) {
    dims.push_back(outer);
    outer = {1, 0, 0};
    // The rows of a transpose are taken in groups of a tile.
    constexpr int64_t group = 16;
    if (dims.back().size % group == 0) {
      outer = {group, dims.back().from, dims.back().to};
      dims.back() = {dims.back().size / group, dims.back().from * group,
                     dims.back().to * group};
    }
  }
  int64_t items = 1;
  for (const Dim &dim : dims)
    items *= dim.size;
  int64_t itemBytes =
      std::max<int64_t>(1, inner.size * outer.size * int64_t(sizeof(T)));
  pool.forRanges(items, bytesWorthAnItem / itemBytes + 1,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t item = begin; item < end; ++item) {
                     const T *from = source.as<T>();
                     T *to = destination.as<T>();
                     int64_t index = item;
                     for (size_t dim = dims.size(); dim-- > 0;) {
                       from += index % dims[dim].size * dims[dim].from;
                       to += index % dims[dim].size * dims[dim].to;
                       index /= dims[dim].size;
                     }
                     if (outer.size == 1)
                       copyRun(from, to, inner);
                     else
                       copyTile(from, to, outer, inner);
                   }
                 });
}

} // namespace

void copy(const Tensor &source, const Tensor &destination, ThreadPool &pool) {
  if (source.elements() == 0)
    return;
  switch (elementSize(source.dtype)) {
  case 1:
    return run<uint8_t>(source, destination, pool);
  case 2:
    return run<uint16_t>(source, destination, pool);
  case 4:
    return run<uint32_t>(source, destination, pool);
  default:
    return run<uint64_t>(source, destination, pool);
  }
}

void fill(const Tensor &destination, double value, ThreadPool &pool) {
  if (destination.elements() == 0)
    return;
  // The source is one element of the value, which strides of 0 repeat.
  alignas(8) std::byte element[8] = {};
  if (isFloat(destination.dtype)) {
    convertElements(&value, plan::FLOAT64, element, destination.dtype, 1);
  } else {
    auto integer = static_cast<int64_t>(value);
    convertElements(&integer, plan::INT64, element, destination.dtype, 1);
  }
  Tensor source = destination;
  source.data = element;
  std::fill(source.strides.begin(), source.strides.end(), 0);
  copy(source, destination, pool);
}

} // namespace shardc::runtime::cpu
