// Each process tells where it has a number that nobody else has.
#include "runtime/comm/Nodes.h"

#include "runtime/base/Error.h"

#include <charconv>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace shardc::runtime {

Nodes Nodes::apart(int processes) {
  Nodes nodes;
  nodes.of.resize(processes);
  std::iota(nodes.of.begin(), nodes.of.end(), 0);
  nodes.pids.resize(processes);
  return nodes;
}

/// Returns whether all was read.
static bool tryRead(pid_t pid, uintptr_t from, void *to, int64_t bytes) {
  auto *at = static_cast<std::byte *>(to);
  while (bytes > 0) {
    iovec here{at, size_t(bytes)},
        there{reinterpret_cast<void *>(from), size_t(bytes)};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got <= 0)
      return false;
    at += got, from += got, bytes -= got;
  }
  return true;
}

void Nodes::read(int process, const void *from, void *to, int64_t bytes) const {
  if (tryRead(pids[process], reinterpret_cast<uintptr_t>(from), to, bytes))
    return;
  if (errno == ESRCH)
    throw GoneProcess(process, "it has ended");
  failErrno("cannot read the memory of process ", process, " (pid ",
            pids[process], ")");
}

bool Nodes::isStopped(int process) const {
  std::ifstream file(concat("/proc/", pids[process], "/stat"));
  std::string line;
  std::getline(file, line);
  // Behind the name, which is in parentheses and may hold some itself.
  size_t state = line.rfind(')');
  return state != std::string::npos && line.compare(state, 3, ") T") == 0;
}

Nodes Nodes::find(int process, int processes, const TextExchange &exchange,
                  bool takesPart) {
  Nodes nodes = apart(processes);
#ifdef PR_SET_PTRACER
  // Where Yama lets a process's parents alone read it.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  std::random_device random;
  static uint64_t own; // stays where it is as long as the process
  own = uint64_t(random()) << 32 | random();
  // No process has the number 0.
  std::vector<std::string> told =
      exchange(concat(takesPart ? getpid() : 0, " ",
                      reinterpret_cast<uintptr_t>(&own), " ", own));
  std::string reads;
  for (int other = 0; other < processes; ++other) {
    std::istringstream text(told[other]);
    uintptr_t address = 0;
    uint64_t number = 0, found = 0;
    text >> nodes.pids[other] >> address >> number;
    bool canRead = other == process || (takesPart && nodes.pids[other] > 0 &&
                                        tryRead(nodes.pids[other], address,
                                                &found, sizeof(found)) &&
                                        found == number);
    reads += canRead ? '1' : '0';
  }
  std::vector<std::string> all = exchange(reads);
  for (int next = 1, first = 0; next < processes; ++next) {
    for (int before = first; before < next; ++before)
      if (all[before][next] == '0' || all[next][before] == '0')
        first = next;
    nodes.of[next] = nodes.of[next - 1] + (first == next);
  }
  return nodes;
}

} // namespace shardc::runtime
