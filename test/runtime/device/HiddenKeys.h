// What tests of attention expect of windows, from the definition.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_HIDDENKEYS_H
#define SHARDC_TEST_RUNTIME_DEVICE_HIDDENKEYS_H

#include <cstdint>

namespace shardc::test {

/// Keys before and behind a query's own that it sees; -1: all.
struct KeyWindow {
  int64_t left = -1, right = -1;

  /// Whether key `key` of `keys` is hidden from query `query` of `queries`.
  bool hides(int64_t query, int64_t queries, int64_t key, int64_t keys) const {
    int64_t distance = key - (query + keys - queries);
    return (left >= 0 && distance < -left) || (right >= 0 && distance > right);
  }
};

} // namespace shardc::test

#endif
