// Copies. Dims are reordered and merged once per call, so that most copies end
// as memcpy of long runs, and transposes as small square tiles; short runs are
// elements of more bytes.
#include "runtime/base/CopyDims.h"
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/moves/Indexing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace shardc::runtime::cpu {
namespace {

/// Sixteen bytes at once.
struct Wide {
  uint64_t low, high;
};

/// The dims of a copy, and the bytes of an element.
struct Elements {
  std::vector<ViewDim> dims;
  const std::byte *from;
  std::byte *to;
  int64_t bytes;

  Elements(const Tensor &source, const Tensor &destination)
      : dims(copyDims(source, destination)), from(source.data),
        to(destination.data), bytes(int64_t(elementSize(source.dtype))) {
    while (canWiden())
      widen();
  }

private:
  /// Whether neighbours are one element of twice the bytes: runs of a few, such
  /// as the two parts of complex numbers, cost more to find than to copy.
  bool canWiden() const {
    if (dims.empty() || bytes == sizeof(Wide))
      return false;
    const ViewDim &run = dims.back();
    auto isAligned = [&](const std::byte *at) {
      int64_t wanted = std::min<int64_t>(2 * bytes, alignof(Wide));
      return reinterpret_cast<uintptr_t>(at) % wanted == 0;
    };
    return run.from == 1 && run.to == 1 && run.size % 2 == 0 &&
           run.size * bytes <= int64_t(sizeof(Wide)) && isAligned(from) &&
           isAligned(to) &&
           std::all_of(dims.begin(), dims.end() - 1, [](const ViewDim &dim) {
             return dim.from % 2 == 0 && dim.to % 2 == 0;
           });
  }
  void widen() {
    bytes *= 2;
    dims.back().size /= 2;
    for (size_t i = 0; i + 1 < dims.size(); ++i)
      dims[i].from /= 2, dims[i].to /= 2;
    if (dims.back().size == 1)
      dims.pop_back();
  }
};

/// Copy a run, and a tile, at the given places.
template <typename T> void copyRun(const T *from, T *to, const ViewDim &run) {
  if (run.from == 1 && run.to == 1)
    std::memcpy(to, from, run.size * sizeof(T));
  else
    for (int64_t i = 0; i < run.size; ++i)
      to[i * run.to] = from[i * run.from];
}
template <typename T>
void copyTile(const T *from, T *to, const ViewDim &outer,
              const ViewDim &inner) {
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

template <typename T> void run(const Elements &of, ThreadPool &pool) {
  std::vector<ViewDim> dims = of.dims;
  const T *source = reinterpret_cast<const T *>(of.from);
  T *destination = reinterpret_cast<T *>(of.to);
  if (dims.empty())
    dims.push_back({1, 1, 1});
  ViewDim inner = dims.back();
  dims.pop_back();
  // In a transpose the source walks along another dim.
  ViewDim outer{1, 0, 0};
  if (inner.from != 1) {
    auto along = std::find_if(dims.begin(), dims.end(),
                              [](const ViewDim &dim) { return dim.from == 1; });
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
    ViewDim rest{inner.size - whole, inner.from, inner.to};
    copyRun(source + whole * inner.from, destination + whole * inner.to, rest);
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
  for (const ViewDim &dim : dims)
    items *= dim.size;
  int64_t itemBytes =
      std::max<int64_t>(1, inner.size * outer.size * int64_t(sizeof(T)));
  pool.forRanges(items, bytesWorthAnItem / itemBytes + 1,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t item = begin; item < end; ++item) {
                     const T *from = source;
                     T *to = destination;
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
  Elements of(source, destination);
  switch (of.bytes) {
  case 1:
    return run<uint8_t>(of, pool);
  case 2:
    return run<uint16_t>(of, pool);
  case 4:
    return run<uint32_t>(of, pool);
  case 8:
    return run<uint64_t>(of, pool);
  default:
    return run<Wide>(of, pool);
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
