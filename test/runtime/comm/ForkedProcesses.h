// Real processes for tests: children of the test's, which are given a body and
// meet in a folder.
#ifndef SHARDC_TEST_RUNTIME_COMM_FORKEDPROCESSES_H
#define SHARDC_TEST_RUNTIME_COMM_FORKEDPROCESSES_H

#include "runtime/comm/Transport.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What a child is told.
struct ForkedProcess {
  int process, processes;
  TextExchange exchange; // used as often as needed, by all alike
};

struct ChildEnd {
  int exitCode = 0; // of one that ended by a signal: 128 + signal
  std::string text; // what it wrote to stdout and stderr
};

/// Runs the body in so many children. One ends with 0 when its body returns and
/// no test failed in it, with 1 otherwise, having said why. Those that take
/// more than a minute are killed.
std::vector<ChildEnd>
runForked(int processes,
          const std::function<void(const ForkedProcess &)> &body);

} // namespace shardc::runtime

#endif
