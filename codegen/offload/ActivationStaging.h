// Activations that backward reads, in the pool host until then.
#ifndef SHARDC_CODEGEN_OFFLOAD_ACTIVATIONSTAGING_H
#define SHARDC_CODEGEN_OFFLOAD_ACTIVATIONSTAGING_H

#include "codegen/offload/HostLink.h"
#include "codegen/offload/TimedEntries.h"

namespace shardc::offload {

/// An activation may leave where nothing touches it for a while, between the
/// end of forward and the beginning of backward as a rule: it goes to the host
/// behind the entry that touches it before, and comes into a buffer of its own
/// before the one that reads it next. Candidates are looked at in the order in
/// which they may go; each takes the first time in which the link to the host is
/// free, and the last one in which that from it is.
class ActivationStaging {
public:
  ActivationStaging(step::ProgramOp program, const Cluster &cluster,
                    HostLink &link);

  /// Chooses all whose transfers nothing waits for, and whose bytes take longer
  /// than what a transfer takes besides. Of these it leaves out who is not
  /// needed: without whom no more bytes are alive at once than `enough`, or than
  /// with all of them where that is more.
  void chooseHidden(int64_t enough);
  /// Chooses so many bytes at most: those that chooseHidden() would, and then
  /// whatever comes first, for which compute waits.
  void chooseUpTo(int64_t mostBytes);

  /// Most bytes of the pools of the program's own buffers that are alive at
  /// once, with what was chosen. It knows what is alive and not where it lies.
  int64_t aliveBytes() const;
  /// Bytes that leave.
  int64_t bytes() const;
  void apply();

private:
  struct Candidate {
    step::BufferOp buffer;
    size_t before = 0, after = 0; // entries that touch it
    mlir::Type type;              // of its elements
    bool isChosen = false;
    timeline::Span going, coming;
    // Places: its memory is free from `gone` on, to `comes`.
    size_t gone = 0, comes = 0;

    int64_t bytes() const {
      return static_cast<int64_t>(step::BufferOp(buffer).getBytes());
    }
  };

  void collect();
  /// Nothing where the buffer cannot leave.
  std::optional<Candidate> candidateOf(step::BufferOp buffer) const;
  bool chooseHidden(Candidate &candidate);
  void chooseForced(llvm::ArrayRef<Candidate *> candidates);
  bool isWorthItsLatency(const Candidate &candidate) const;
  void drop(Candidate &candidate);
  /// Adds to what is alive at each place while a candidate is away.
  void add(std::vector<int64_t> &alive, const Candidate &candidate,
           int64_t bytes) const;

  step::ProgramOp program;
  const Cluster &cluster;
  HostLink &link;
  TimedEntries entries;
  size_t turn; // where backward begins
  std::vector<Candidate> candidates;
  std::vector<int64_t> alive; // bytes at each entry, with what was chosen
};

} // namespace shardc::offload

#endif
