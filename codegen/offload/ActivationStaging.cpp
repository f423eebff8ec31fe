// Gaps between the uses of activations, as long as transfers.
#include "codegen/offload/ActivationStaging.h"

#include "codegen/step/EntryNames.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"

using namespace mlir;

namespace shardc::offload {

/// What was planned to come so much earlier than it is read, of what its
/// transfer takes, comes in time where an entry or the link is a bit slower.
static constexpr double spare = 0.1;

ActivationStaging::ActivationStaging(step::ProgramOp program,
                                     const Cluster &cluster, HostLink &link)
    : program(program), cluster(cluster), link(link), entries(program, cluster),
      turn(entries.beginOf("backward")) {
  collect();
}

//===----------------------------------------------------------------------===//
// What may leave
//===----------------------------------------------------------------------===//

void ActivationStaging::collect() {
  alive.assign(entries.size(), 0);
  for (auto &[op, lifetime] : step::lifetimes(program)) {
    auto buffer = cast<step::BufferOp>(op);
    step::Pool pool = step::poolOf(buffer.getKind());
    if (pool != step::Pool::step && pool != step::Pool::gather)
      continue;
    for (int64_t place = lifetime.first; place <= lifetime.last; ++place)
      alive[place] += lifetime.bytes;
    if (buffer.getKind() != step::Kind::activation)
      continue;
    if (std::optional<Candidate> candidate = candidateOf(buffer))
      candidates.push_back(*candidate);
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.before < b.before;
  });
}

std::optional<ActivationStaging::Candidate>
ActivationStaging::candidateOf(step::BufferOp buffer) const {
  // Entries that touch it, up to the waits of those that start something.
  struct Use {
    size_t first, last;
    step::ViewOp view;
    Operation *entry;
  };
  SmallVector<Use> uses;
  for (Operation *user : buffer->getUsers()) {
    auto view = dyn_cast<step::ViewOp>(user);
    if (!view)
      return std::nullopt;
    for (Operation *entry : view->getUsers()) {
      if (!step::isEntry(entry))
        return std::nullopt;
      size_t first = entries.placeOf(entry), last = first;
      if (step::WaitOp wait = step::waitOf(entry))
        last = entries.placeOf(wait);
      uses.push_back({first, last, view, entry});
    }
  }
  llvm::stable_sort(
      uses, [](const Use &a, const Use &b) { return a.first < b.first; });
  // The gap that takes longest.
  Candidate candidate;
  candidate.buffer = buffer;
  double longest = 0;
  size_t end = 0; // of all uses so far
  size_t used = 0;
  for (auto [index, use] : llvm::enumerate(uses)) {
    if (index > 0 && use.first > end + 1) {
      double seconds = entries.timeAt(use.first) - entries.timeAt(end + 1);
      if (seconds > longest) {
        longest = seconds;
        candidate.before = end;
        candidate.after = use.first;
        used = index;
      }
    }
    end = std::max(end, use.last);
  }
  if (longest == 0)
    return std::nullopt;
  for (size_t place : {candidate.before, candidate.after})
    if (StringRef phase = step::entryPhase(entries[place]);
        phase.empty() || phase == "optimizer")
      return std::nullopt;
  // Whole elements of one size, all of which have been written.
  candidate.type = cast<MemRefType>(uses[used].view.getType()).getElementType();
  int64_t size = nn::elementBytes(candidate.type);
  if (candidate.bytes() == 0 || candidate.bytes() % size)
    return std::nullopt;
  for (const Use &use : uses)
    if (nn::elementBytes(cast<MemRefType>(step::ViewOp(use.view).getType())
                             .getElementType()) != size)
      return std::nullopt;
  SmallVector<std::pair<int64_t, int64_t>> written;
  for (const Use &use : ArrayRef(uses).take_front(used))
    for (const step::Access &access : step::accesses(use.entry))
      if (access.buffer == buffer && access.isWritten)
        written.push_back({access.begin, access.end});
  llvm::sort(written);
  int64_t whole = 0;
  for (auto [begin, end] : written)
    if (begin <= whole)
      whole = std::max(whole, end);
  if (whole < candidate.bytes())
    return std::nullopt;
  return candidate;
}

//===----------------------------------------------------------------------===//
// Who leaves
//===----------------------------------------------------------------------===//

void ActivationStaging::add(std::vector<int64_t> &to,
                            const Candidate &candidate, int64_t bytes) const {
  // The wait for it stands before the entry at `gone`, its transfer back begins
  // before that at `comes`.
  for (size_t place = candidate.gone; place < candidate.comes; ++place)
    to[place] += bytes;
}

bool ActivationStaging::isWorthItsLatency(const Candidate &candidate) const {
  return cluster.hostSeconds(candidate.bytes()) >= 2 * cluster.hostSeconds(0);
}

bool ActivationStaging::chooseHidden(Candidate &candidate) {
  int64_t bytes = candidate.bytes();
  timeline::Span going =
      link.first(HostLink::ToHost, entries.timeAt(candidate.before + 1), bytes);
  link.take(HostLink::ToHost, going);
  double before =
      entries.timeAt(candidate.after) - spare * cluster.hostSeconds(bytes);
  std::optional<timeline::Span> coming =
      link.last(HostLink::FromHost, going.end, before, bytes);
  size_t gone = entries.firstFrom(going.end);
  size_t comes = coming ? entries.lastUntil(coming->begin) : 0;
  if (gone >= comes) {
    link.release(HostLink::ToHost, going);
    return false;
  }
  link.take(HostLink::FromHost, *coming);
  candidate.going = going;
  candidate.coming = *coming;
  candidate.gone = std::max(gone, candidate.before + 1);
  candidate.comes = std::min(comes, candidate.after);
  candidate.isChosen = true;
  add(alive, candidate, -bytes);
  return true;
}

void ActivationStaging::drop(Candidate &candidate) {
  link.release(HostLink::ToHost, candidate.going);
  link.release(HostLink::FromHost, candidate.coming);
  add(alive, candidate, candidate.bytes());
  candidate.isChosen = false;
}

void ActivationStaging::chooseHidden(int64_t enough) {
  for (Candidate &candidate : candidates)
    if (isWorthItsLatency(candidate))
      chooseHidden(candidate);
  enough = std::max(enough, aliveBytes());
  // Who goes last is away for the shortest time.
  for (Candidate &candidate : llvm::reverse(candidates)) {
    if (!candidate.isChosen)
      continue;
    int64_t most = 0;
    for (size_t place = candidate.gone; place < candidate.comes; ++place)
      most = std::max(most, alive[place]);
    if (most + candidate.bytes() <= enough)
      drop(candidate);
  }
}

void ActivationStaging::chooseForced(ArrayRef<Candidate *> forced) {
  // They go as the link is free, by the end of forward; each comes when the one
  // before it has come and is read.
  for (Candidate *candidate : forced) {
    candidate->going =
        link.first(HostLink::ToHost, entries.timeAt(candidate->before + 1),
                   candidate->bytes());
    link.take(HostLink::ToHost, candidate->going);
    candidate->gone = std::clamp(entries.firstFrom(candidate->going.end),
                                 candidate->before + 1,
                                 std::max(turn, candidate->before + 1));
  }
  SmallVector<Candidate *> byUse(forced);
  llvm::stable_sort(
      byUse, [](Candidate *a, Candidate *b) { return a->after < b->after; });
  size_t from = turn;
  for (Candidate *candidate : byUse) {
    double since = std::max(entries.timeAt(from), candidate->going.end);
    std::optional<timeline::Span> coming =
        link.last(HostLink::FromHost, since, entries.timeAt(candidate->after),
                  candidate->bytes());
    if (!coming)
      coming = link.first(HostLink::FromHost, since, candidate->bytes());
    link.take(HostLink::FromHost, *coming);
    candidate->coming = *coming;
    candidate->comes =
        std::clamp(entries.lastUntil(coming->begin),
                   std::max(candidate->gone, std::min(from, candidate->after)),
                   candidate->after);
    candidate->isChosen = true;
    from = candidate->after;
    add(alive, *candidate, -candidate->bytes());
  }
}

void ActivationStaging::chooseUpTo(int64_t mostBytes) {
  for (Candidate &candidate : candidates)
    if (isWorthItsLatency(candidate) && candidate.bytes() <= mostBytes &&
        chooseHidden(candidate))
      mostBytes -= candidate.bytes();
  SmallVector<Candidate *> forced;
  for (Candidate &candidate : candidates)
    if (!candidate.isChosen && candidate.before < turn &&
        candidate.after > turn && candidate.bytes() <= mostBytes) {
      forced.push_back(&candidate);
      mostBytes -= candidate.bytes();
    }
  chooseForced(forced);
}

int64_t ActivationStaging::aliveBytes() const {
  return alive.empty() ? 0 : *llvm::max_element(alive);
}

int64_t ActivationStaging::bytes() const {
  int64_t bytes = 0;
  for (const Candidate &candidate : candidates)
    if (candidate.isChosen)
      bytes += candidate.bytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

namespace {
/// What a candidate's insertions hand to each other.
struct Away {
  step::BufferOp buffer;
  Type type;
  Operation *before = nullptr, *after = nullptr;
  Value host, token;
  /// Views of entries from `after` on.
  SmallVector<OpOperand *> later;

  Value whole(OpBuilder &builder, Value of) const {
    int64_t elements = static_cast<int64_t>(step::BufferOp(buffer).getBytes()) /
                       nn::elementBytes(type);
    return step::ViewOp::create(builder, of.getLoc(),
                                MemRefType::get({elements}, type), of,
                                uint64_t(0));
  }
  void go(OpBuilder &builder) {
    host =
        step::BufferOp::create(builder, buffer.getLoc(), step::Kind::offloaded,
                               static_cast<int64_t>(buffer.getBytes()),
                               ("offloaded." + buffer.getName()).str());
    Value from = whole(builder, buffer);
    token = startTransfer(builder, before, from, whole(builder, host));
  }
  void come(OpBuilder &builder) {
    Value back = step::BufferOp::create(
        builder, buffer.getLoc(), step::Kind::activation,
        static_cast<int64_t>(buffer.getBytes()), buffer.getName());
    Value from = whole(builder, host);
    token = startTransfer(builder, after, from, whole(builder, back));
    llvm::DenseMap<Operation *, Value> views;
    for (OpOperand *operand : later) {
      auto view = operand->get().getDefiningOp<step::ViewOp>();
      Value &moved = views[view];
      if (!moved)
        moved = step::ViewOp::create(builder, view.getLoc(), view.getType(),
                                     back, view.getOffset());
      operand->set(moved);
    }
  }
};
} // namespace

void ActivationStaging::apply() {
  Insertions insertions(entries);
  for (const Candidate &candidate : candidates) {
    if (!candidate.isChosen)
      continue;
    auto away = std::make_shared<Away>();
    away->buffer = candidate.buffer;
    away->type = candidate.type;
    away->before = entries[candidate.before];
    away->after = entries[candidate.after];
    for (Operation *view : candidate.buffer->getUsers())
      for (OpOperand &use : view->getUses())
        if (entries.placeOf(use.getOwner()) >= candidate.after)
          away->later.push_back(&use);
    auto add = [&](size_t place, double time, auto make) {
      insertions.add(place, time, [away, make](OpBuilder &builder) {
        make(builder, *away);
      });
    };
    add(candidate.before + 1, candidate.going.begin,
        [](OpBuilder &builder, Away &of) { of.go(builder); });
    add(candidate.gone, candidate.going.end, [](OpBuilder &builder, Away &of) {
      waitFor(builder, of.before, of.token);
    });
    add(candidate.comes, candidate.coming.begin,
        [](OpBuilder &builder, Away &of) { of.come(builder); });
    add(candidate.after, candidate.coming.end,
        [](OpBuilder &builder, Away &of) {
          waitFor(builder, of.after, of.token);
        });
  }
  insertions.apply(program);
}

} // namespace shardc::offload
