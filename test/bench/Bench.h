// What the benchmarks of the runtime share: all ranks at once, medians.
#ifndef SHARDC_TEST_BENCH_BENCH_H
#define SHARDC_TEST_BENCH_BENCH_H

#include "runtime/launch/ThreadWorld.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace shardc::bench {

inline double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds between two barriers around body(), which all ranks call.
template <typename Body>
double timed(runtime::Communicator &communicator, Body body) {
  communicator.barrier();
  double begin = now();
  body();
  communicator.barrier();
  return now() - begin;
}

/// NAME RANKS [--json].
struct Arguments {
  int ranks = 0;
  bool json = false;
  Arguments(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; ++i)
      if (!std::strcmp(argv[i], "--json"))
        json = true;
      else if (ranks == 0)
        ranks = std::atoi(argv[i]);
      else
        ranks = -1;
    if (ranks < 1 || ranks > 1024) {
      std::fprintf(stderr,
                   "%s: error: expects a number of ranks from 1 to 1024, and "
                   "--json for figures that a program reads\n",
                   name);
      std::exit(2);
    }
  }
};

} // namespace shardc::bench

#endif
