// What the system knows about this process.
#include "runtime/metrics/Process.h"

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace shardc::runtime {

static double secondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double monotonicSeconds() { return secondsOf(CLOCK_MONOTONIC); }

double secondsSince1970() {
  return std::round(1e3 * secondsOf(CLOCK_REALTIME)) / 1e3;
}

double secondsSinceProcessStart() {
  // proc(5): field 22 is the start, in clock ticks since boot. The name in
  // field 2 may hold spaces and parentheses.
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos)
    return 0;
  double start = std::strtod(text.c_str() + at, nullptr) /
                 static_cast<double>(sysconf(_SC_CLK_TCK));
  return secondsOf(CLOCK_BOOTTIME) - start;
}

int64_t peakResidentBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

int64_t proportionalBytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    int64_t kibibytes = 0;
    if (word == "Pss:" && file >> kibibytes)
      return kibibytes * 1024;
  }
  return 0;
}

} // namespace shardc::runtime
