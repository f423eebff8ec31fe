// What goes to stdout.
#include "runtime/metrics/Print.h"

#include "runtime/base/Error.h"
#include "runtime/base/Signals.h"

#include <csignal>
#include <cstdio>

namespace shardc::runtime {

static int failure = 0; // errno of the first write that failed

void print(const std::string &text) {
  if (failure)
    return;
  if (std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0)
    return;
  failure = errno;
  if (failure == EPIPE)
    requestStop(SIGPIPE);
}

void checkPrinted(const std::string &meanwhile) {
  if (!failure)
    return;
  fail("cannot write to stdout: ", std::strerror(failure), "; ", meanwhile);
}

} // namespace shardc::runtime
