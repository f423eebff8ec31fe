// A slice of the last reduction, backwards over what entries touch.
#include "codegen/schedule/Deferral.h"

#include "codegen/step/EntryNames.h"
#include "codegen/step/Liveness.h"

using namespace mlir;

namespace shardc::schedule {

using timeline::Step;

namespace {

/// Ranges of buffers that entries touch.
class Touched {
public:
  explicit Touched(step::ProgramOp program) {
    auto plan = program->getParentOfType<step::PlanOp>();
    for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
      parametersOf[storage.getUnit()] =
          storage.getParameters().getDefiningOp<step::BufferOp>();
  }
  void add(Operation *entry) {
    for (const step::Access &access : accessesOf(entry))
      ranges[access.buffer].push_back(access);
    auto update = dyn_cast<step::OptimizerStepOp>(entry);
    if (!update)
      return;
    step::Access access;
    access.buffer = parametersOf.lookup(update.getUnit());
    if (!access.buffer)
      return;
    access.end = access.buffer.getBytes();
    access.isWritten = true;
    ranges[access.buffer].push_back(access);
  }
  bool conflicts(Operation *entry) const {
    return llvm::any_of(accessesOf(entry), [&](const step::Access &own) {
      auto found = ranges.find(own.buffer);
      return found != ranges.end() &&
             llvm::any_of(found->second, [&](const step::Access &other) {
               return (own.isWritten || other.isWritten) &&
                      own.begin < other.end && other.begin < own.end;
             });
    });
  }

private:
  /// A wait ends what its collective does.
  static SmallVector<step::Access> accessesOf(Operation *entry) {
    auto wait = dyn_cast<step::WaitOp>(entry);
    return step::accesses(wait ? wait.getToken().getDefiningOp() : entry);
  }

  llvm::StringMap<step::BufferOp> parametersOf;                  // by unit
  llvm::DenseMap<Operation *, SmallVector<step::Access>> ranges; // by buffer
};

/// Whether the entry begins to reduce gradients that were computed, not those
/// that another collective has reduced.
bool reducesGradients(Operation *entry) {
  auto start = dyn_cast<step::CollectiveStart>(entry);
  if (!start || !start.getReducedGradient() ||
      step::entryPhase(entry) != "backward")
    return false;
  Operation *buffer = entry->getOperand(0)
                          .getDefiningOp<step::ViewOp>()
                          .getBuffer()
                          .getDefiningOp();
  for (Operation *view : buffer->getUsers())
    for (Operation *user : view->getUsers())
      if (user != entry && step::waitOf(user) && user->isBeforeInBlock(entry))
        return false;
  return true;
}

} // namespace

Deferral::Deferral(step::ProgramOp program, const CostModel &costs,
                   double times)
    : program(program) {
  timeline::TimedProgram timed = timeline::readProgram(program, costs);
  size_t from = timed.steps.size();
  while (from > 0 && !reducesGradients(timed.entries[from - 1]))
    --from;
  if (from == 0)
    return;
  last = timed.entries[--from];
  double wanted =
      times * timed.collectives[timed.steps[from].collective].total();
  Touched staying(program);
  staying.add(last);
  double seconds = 0;
  while (from > 0 && seconds < wanted) {
    Operation *entry = timed.entries[--from];
    StringRef phase = step::entryPhase(entry);
    if (phase == "optimizer") { // units that are updated in backward
      staying.add(entry);
      continue;
    }
    if (phase != "backward")
      break;
    auto wait = dyn_cast<step::WaitOp>(entry);
    Operation *start = wait ? wait.getToken().getDefiningOp() : entry;
    if (isa<step::AllGatherStartOp>(start) || staying.conflicts(entry)) {
      staying.add(entry);
      continue;
    }
    deferred.push_back(entry);
    seconds += timed.steps[from].seconds;
  }
  std::reverse(deferred.begin(), deferred.end());
  // Collectives alone hide nothing.
  if (seconds == 0)
    deferred.clear();
}

void Deferral::apply() {
  before.clear();
  for (Operation &op : program.getBody().front())
    before.push_back(&op);
  Operation *place = last;
  for (Operation *entry : deferred) {
    entry->moveAfter(place);
    place = entry;
  }
}

void Deferral::undo() {
  Block &body = program.getBody().front();
  for (Operation *op : before)
    op->moveBefore(&body, body.end());
}

} // namespace shardc::schedule
