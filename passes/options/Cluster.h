// The machine that a trainer is compiled for: what its links, its arithmetic
// and its memory give. docs/cluster.md has the file format and the machines
// that are built in.
#ifndef SHARDC_PASSES_OPTIONS_CLUSTER_H
#define SHARDC_PASSES_OPTIONS_CLUSTER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <limits>
#include <string>

namespace shardc {

/// How ranks reach each other.
struct Link {
  double bandwidth = 0; // bytes per second that a rank sends while it receives
                        // as many
  double latency = 0;   // seconds that one message takes besides its bytes
};

struct Cluster {
  std::string name;
  /// Ranks 0 .. ranksPerNode-1 are in the first node, and so on.
  int64_t ranksPerNode = std::numeric_limits<int64_t>::max();
  Link insideNode;
  Link betweenNodes; // unused where one node holds every rank
  double memory = 0; // bytes of one rank
  double memoryBandwidth =
      0; // bytes per second that a rank's kernels read and write together
  /// Bytes per second between a rank's device and the pool host, one way at a
  /// time, or both ways at once, each with as many.
  double hostBandwidth = 2e9;
  bool hostIsDuplex = false;
  /// Seconds of a transfer to the host or from it: its bytes, and 10 us, which
  /// a copy's launch or a disk's answer takes.
  double hostSeconds(int64_t bytes) const {
    return 10e-6 + static_cast<double>(bytes) / hostBandwidth;
  }
  /// Floating-point operations per second of one rank on values of 2, 4 and 8
  /// bytes.
  double flops16 = 0, flops32 = 0, flops64 = 0;
  /// Those of attention on values of 2 bytes.
  double attention16 = 0;
  /// The part of all these rates that is lost while a collective is on its way:
  /// to kernels of collectives, which take processors of a GPU.
  double collectiveSlowdown = 0;

  /// `elementBytes`: 2, 4 or 8.
  double flopsPerSecond(int64_t elementBytes) const;

  /// Bytes that a rank's pools may take together: as `given` says (ByteSize.h);
  /// empty: 97.5 % of the memory, as drivers and NCCL have some of their own.
  /// The error is one line.
  llvm::Expected<double> poolLimit(llvm::StringRef given) const;

  /// A machine that is built in, by name, or the TOML file at that path; empty:
  /// cpu. The error is one line: file, line and key of what is wrong, or the
  /// names that there are.
  static llvm::Expected<Cluster> load(llvm::StringRef nameOrPath);
  /// A TOML text; `path` stands in errors.
  static llvm::Expected<Cluster> parse(llvm::StringRef text,
                                       llvm::StringRef path);
  /// Names of the machines that are built in.
  static llvm::SmallVector<llvm::StringRef> builtIn();
};

} // namespace shardc

#endif
