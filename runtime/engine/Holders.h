// The ranks that hold equal slices.
#ifndef SHARDC_RUNTIME_ENGINE_HOLDERS_H
#define SHARDC_RUNTIME_ENGINE_HOLDERS_H

#include <cstdint>

namespace shardc::runtime {

/// A rank among those, in the order of ranks.
struct Holders {
  int64_t count = 1;
  int64_t own = 0; // which of them it is
  bool isFirst() const { return own == 0; }
};

} // namespace shardc::runtime

#endif
