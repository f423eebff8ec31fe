// What the conformance tests of transports share.
#ifndef SHARDC_TEST_RUNTIME_COMM_TRANSPORTSUITE_H
#define SHARDC_TEST_RUNTIME_COMM_TRANSPORTSUITE_H

#include "runtime/comm/Transport.h"

#include "gtest/gtest.h"

#include <chrono>
#include <functional>
#include <vector>

namespace shardc::runtime {

struct TransportImplementation {
  const char *name;
  /// body(transport), in each of so many processes; closes it in the end. There
  /// may be more, which do nothing.
  void (*run)(int processes, const std::function<void(Transport &)> &body);
};
/// Those of the program: see implementations().
const std::vector<TransportImplementation> &transportImplementations();

inline void progressUntil(Transport &transport,
                          const std::function<bool()> &condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    if (!transport.progress())
      transport.sleep(std::chrono::steady_clock::now() +
                      std::chrono::milliseconds(100));
  }
}

} // namespace shardc::runtime

#endif
