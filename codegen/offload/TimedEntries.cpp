// Places by times of a simulation.
#include "codegen/offload/TimedEntries.h"

#include "codegen/step/EntryNames.h"
#include "codegen/step/View.h"

using namespace mlir;

namespace shardc::offload {

bool isOnHost(Value buffer) {
  return step::poolOf(buffer.getDefiningOp<step::BufferOp>().getKind()) ==
         step::Pool::host;
}

TimedEntries::TimedEntries(step::ProgramOp program, const Cluster &cluster) {
  timeline::TimedProgram timed =
      timeline::readProgram(program, CostModel(cluster));
  timeline::Timeline timeline = timed.simulate();
  for (const timeline::Span &span : timeline.steps)
    times.push_back(span.begin);
  times.push_back(timeline.seconds);
  for (auto [start, span] : llvm::zip(timed.starts, timeline.collectives))
    if (auto transfer = dyn_cast<step::TransferStartOp>(start))
      transfers.push_back({isOnHost(step::View::of(transfer.getSource()).buffer)
                               ? HostLink::FromHost
                               : HostLink::ToHost,
                           span});
  entries = std::move(timed.entries);
  for (auto [place, entry] : llvm::enumerate(entries))
    places[entry] = place;
}

void TimedEntries::delay(size_t place, double seconds) {
  for (double &time : MutableArrayRef(times).drop_front(place))
    time += seconds;
}

size_t TimedEntries::firstFrom(double time) const {
  return std::min<size_t>(size(),
                          llvm::lower_bound(times, time) - times.begin());
}

size_t TimedEntries::lastUntil(double time) const {
  auto behind = llvm::upper_bound(times, time);
  return behind == times.begin() ? 0 : behind - times.begin() - 1;
}

size_t TimedEntries::beginOf(StringRef phase) const {
  return llvm::find_if(entries,
                       [&](Operation *entry) {
                         return step::entryPhase(entry) == phase;
                       }) -
         entries.begin();
}

void TimedEntries::takeTransfers(HostLink &link) const {
  for (auto [direction, span] : transfers)
    link.take(direction, span);
}

void Insertions::add(size_t place, double time,
                     std::function<void(OpBuilder &)> make) {
  all.push_back({place, time, std::move(make)});
}

void Insertions::apply(step::ProgramOp program) {
  llvm::stable_sort(all, [](const Insertion &a, const Insertion &b) {
    return std::pair(a.place, a.time) < std::pair(b.place, b.time);
  });
  OpBuilder builder(program);
  for (const Insertion &insertion : all) {
    if (insertion.place < entries.size())
      builder.setInsertionPoint(entries[insertion.place]);
    else
      builder.setInsertionPointToEnd(&program.getBody().front());
    insertion.make(builder);
  }
}

void annotate(Operation *op, Operation *entry) {
  for (StringRef name : {step::phaseAttr, step::unitAttr})
    if (Attribute value = entry->getAttr(name))
      op->setAttr(name, value);
}

Value startTransfer(OpBuilder &builder, Operation *entry, Value source,
                    Value destination) {
  auto start = step::TransferStartOp::create(
      builder, entry->getLoc(), step::TokenType::get(builder.getContext()),
      source, destination);
  annotate(start, entry);
  return start.getToken();
}

void waitFor(OpBuilder &builder, Operation *entry, Value token) {
  annotate(step::WaitOp::create(builder, entry->getLoc(), token), entry);
}

} // namespace shardc::offload
