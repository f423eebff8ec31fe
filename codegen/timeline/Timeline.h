// When a step's arithmetic and its collectives run: a simulation of streams
// that share links. It knows no IR; ReadProgram.h has what a plan is to it.
#ifndef SHARDC_CODEGEN_TIMELINE_TIMELINE_H
#define SHARDC_CODEGEN_TIMELINE_TIMELINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace shardc::timeline {

/// What a collective takes where it has its links to itself, in seconds:
/// `latency` of messages, during which no link is busy, then transfers between
/// nodes and inside them (CostModel.h).
struct Collective {
  size_t stream = 0;
  double latency = 0, between = 0, inside = 0;
  bool takesProcessors = true; // and no copy that a device makes by itself

  double total() const { return latency + between + inside; }
};

/// What the stream that computes does next.
struct Step {
  enum Kind {
    Compute, // for `seconds`
    Start,   // hands `collective` to its stream, behind `seconds` in which
             // compute waits for what comes before it: none, as a rule
    Wait     // until `collective` has ended
  };
  Kind kind = Compute;
  double seconds = 0;
  size_t collective = 0;
};

/// From `begin` to `end`, in seconds since the program began.
struct Span {
  double begin = 0, end = 0;

  double seconds() const { return end - begin; }
};

struct Timeline {
  std::vector<Span> steps;       // one per step
  std::vector<Span> collectives; // from when its stream took it up
  double seconds = 0;            // of the program
  double exposed = 0;            // of that, what was waited for collectives
};

/// Simulates steps in their order. A collective begins when it has been started
/// and the one that was started in its stream before has ended, as on a GPU's
/// stream. Transfers of several streams over links of one kind, inside nodes or
/// between them, each have an equal part of the bandwidth while they overlap.
/// Every collective is started once, and waited for behind that; one that
/// nobody waits for does not make the program longer. While one that takes
/// processors is on its way, compute is slower by the part `slowdown`.
Timeline simulate(llvm::ArrayRef<Step> steps,
                  llvm::ArrayRef<Collective> collectives, double slowdown = 0);

} // namespace shardc::timeline

#endif
