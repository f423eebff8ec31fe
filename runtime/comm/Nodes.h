// Which processes read each other's memory.
#ifndef SHARDC_RUNTIME_COMM_NODES_H
#define SHARDC_RUNTIME_COMM_NODES_H

#include "runtime/comm/Transport.h"

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace shardc::runtime {

/// Another process is there no more.
class GoneProcess : public Error {
public:
  GoneProcess(int process, const std::string &why)
      : Error(why), process(process) {}
  int process;
};

/// A node: processes in a row that read each other's memory
/// (process_vm_readv(2)). Where they cannot, a process is a node of its own.
struct Nodes {
  std::vector<int> of;     // by process; ascending from 0 on
  std::vector<pid_t> pids; // by process, as this one sees those of its node

  /// Every process alone.
  static Nodes apart(int processes);
  /// Finds them: every process asks, and tries. Other hosts, containers and
  /// users are told apart by trying. `exchange` is used twice. `reads`: whether
  /// this process takes part; else it is a node of its own.
  static Nodes find(int process, int processes, const TextExchange &exchange,
                    bool reads = true);

  /// How many there are.
  int count() const { return of.back() + 1; }
  /// Reads memory of a process of this node. Throws a GoneProcess where that
  /// has ended, an Error where there is no such memory.
  void read(int process, const void *from, void *to, int64_t bytes) const;
  /// Whether a process of this node has been stopped by a signal, and does not
  /// run. One that a debugger holds has not.
  bool isStopped(int process) const;
};

} // namespace shardc::runtime

#endif
