// How a dim is cut into equal parts.
#ifndef SHARDC_RUNTIME_CPU_CUT_H
#define SHARDC_RUNTIME_CPU_CUT_H

#include <algorithm>
#include <cstdint>

namespace shardc::runtime::cpu {

/// There are `parts` parts of `part` elements. `part` is a multiple of
/// `multiple` and about `longest` at most; the last part may be shorter.
struct Cut {
  Cut(int64_t size, int64_t longest, int64_t multiple) : size(size) {
    longest = std::max<int64_t>(1, longest);
    int64_t wanted = std::max<int64_t>(1, (size + longest - 1) / longest);
    part = (size + wanted - 1) / wanted;
    part = std::max<int64_t>(1, (part + multiple - 1) / multiple * multiple);
    parts = (size + part - 1) / part;
  }
  int64_t begin(int64_t index) const { return index * part; }
  int64_t length(int64_t index) const {
    return std::min(part, size - index * part);
  }
  int64_t size, part, parts;
};

} // namespace shardc::runtime::cpu

#endif
