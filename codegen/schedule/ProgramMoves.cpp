// What may move where, by the buffers that entries touch.
#include "codegen/schedule/ProgramMoves.h"

#include "codegen/step/Liveness.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace shardc::schedule {

using timeline::Step;

/// Of a start of a gather: it brings a unit's parameters.
static step::AllGatherStartOp gatherOf(Operation *entry) {
  return dyn_cast<step::AllGatherStartOp>(entry);
}

/// The wait of the reduction of a unit's gradients, or null.
static step::WaitOp waitOfReduction(Operation *entry) {
  auto start = dyn_cast<step::CollectiveStart>(entry);
  return start && start.getReducedGradient() ? step::waitOf(entry)
                                             : step::WaitOp();
}

/// What a buffer takes of its pool.
static int64_t alignedBytes(step::BufferOp buffer) {
  auto plan = buffer->getParentOfType<step::PlanOp>();
  return llvm::alignTo(static_cast<int64_t>(buffer.getBytes()),
                       static_cast<int64_t>(plan.getBufferAlignment()));
}

ProgramMoves::ProgramMoves(step::ProgramOp program, const CostModel &costs)
    : program(program) {
  timeline::TimedProgram timed = timeline::readProgram(program, costs);
  problem.collectives = timed.collectives;
  problem.slowdown = timed.slowdown;
  collect(timed);
}

/// The buffer of what a reduction reads first, or of what it makes.
static Operation *bufferOf(Value view) {
  return view.getDefiningOp<step::ViewOp>().getBuffer().getDefiningOp();
}

void ProgramMoves::findNext(const timeline::TimedProgram &timed) {
  llvm::DenseMap<Operation *, Operation *> madeBy; // buffers, by starts
  for (Operation *start : timed.starts) {
    if (!waitOfReduction(start))
      continue;
    if (Operation *first = madeBy.lookup(bufferOf(start->getOperand(0)))) {
      step::WaitOp wait = step::waitOf(first);
      Operation *behind = wait->getNextNode();
      while (behind && !step::isEntry(behind))
        behind = behind->getNextNode();
      if (behind == start) {
        nextOf[wait] = start;
        startBefore[start] = first;
      }
    }
    Value sum = cast<step::CollectiveStart>(start).getReducedGradient();
    madeBy[bufferOf(sum)] = start;
  }
}

void ProgramMoves::collect(const timeline::TimedProgram &timed) {
  findNext(timed);
  llvm::DenseSet<Operation *> moved;
  for (Operation *start : timed.starts) {
    if (startBefore.contains(start))
      moved.insert(start);
    if (gatherOf(start))
      moved.insert(start);
    if (step::WaitOp wait = waitOfReduction(start))
      moved.insert(wait);
  }
  for (auto [step, entry] : llvm::zip(timed.steps, timed.entries)) {
    // What moves is found where it stood: before the next entry that stays.
    placeOf[entry] = problem.steps.size();
    if (moved.contains(entry))
      continue;
    problem.steps.push_back(step);
    entries.push_back(entry);
  }
  addBuffers();
  llvm::DenseMap<Operation *, std::pair<size_t, size_t>> numbers;
  for (auto [collective, start] : llvm::enumerate(timed.starts)) {
    if (auto gather = gatherOf(start))
      addGather(gather, collective);
    else if (step::WaitOp wait = waitOfReduction(start)) {
      addReduction(start, wait, collective);
      size_t number = problem.reductions.size() - 1;
      numbers[start] = {number, collective};
      if (Operation *first = startBefore.lookup(start)) {
        size_t before = numbers.lookup(first).first;
        problem.reductions[number].before = before;
        problem.reductions[before].next = collective;
      }
    }
  }
  // A reduction is there when the one that goes on with it is to be.
  for (const Reduction &reduction : llvm::reverse(problem.reductions))
    if (reduction.before) {
      Reduction &first = problem.reductions[*reduction.before];
      first.latest = std::min(first.latest, reduction.latest);
    }
  // Starts stand in the order of waits.
  std::vector<size_t> order(gathers.size());
  for (size_t index = 0; index < order.size(); ++index)
    order[index] = index;
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return problem.gathers[a].wait < problem.gathers[b].wait;
  });
  std::vector<Gather> sorted;
  std::vector<step::AllGatherStartOp> starts;
  llvm::StringMap<size_t> earlier; // by unit
  for (size_t index : order) {
    Gather &gather = sorted.emplace_back(problem.gathers[index]);
    starts.push_back(gathers[index]);
    auto [place, isNew] =
        earlier.try_emplace(starts.back().getUnit(), sorted.size() - 1);
    if (!isNew) {
      gather.before = place->second;
      gather.earliest =
          std::max(gather.earliest, sorted[place->second].last + 1);
      place->second = sorted.size() - 1;
    }
  }
  problem.gathers = std::move(sorted);
  gathers = std::move(starts);
}

void ProgramMoves::addBuffers() {
  // Alive from the first entry that stays and touches them to the last, and to
  // waits that stay.
  for (auto buffer : program.getBody().front().getOps<step::BufferOp>())
    if (step::poolOf(buffer.getKind()) == step::Pool::step) {
      bufferIndex[buffer] = problem.buffers.size();
      problem.buffers.push_back({0, -1, alignedBytes(buffer)});
    }
  // What goes on with a reduction begins where it stands or later.
  SmallVector<std::pair<size_t, Operation *>> touching;
  for (auto [start, first] : startBefore)
    touching.push_back({placeOf[start], start});
  for (auto [place, entry] : llvm::enumerate(entries))
    touching.push_back({place, entry});
  for (auto [place, entry] : touching) {
    auto last = static_cast<int64_t>(place);
    if (step::WaitOp wait = step::waitOf(entry);
        wait && !waitOfReduction(entry))
      last = static_cast<int64_t>(placeOf[wait]);
    for (const step::Access &access : step::accesses(entry))
      if (auto found = bufferIndex.find(access.buffer);
          found != bufferIndex.end()) {
        step::Lifetime &lifetime = problem.buffers[found->second];
        bool isNew = lifetime.last < lifetime.first;
        lifetime.first =
            isNew ? static_cast<int64_t>(place)
                  : std::min(lifetime.first, static_cast<int64_t>(place));
        lifetime.last = std::max(lifetime.last, last);
      }
  }
}

void ProgramMoves::addGather(step::AllGatherStartOp start, size_t collective) {
  auto buffer = start.getGathered().getDefiningOp<step::BufferOp>();
  Gather gather;
  gather.collective = collective;
  gather.bytes = alignedBytes(buffer);
  gather.wait = placeOf[step::waitOf(start)];
  gather.last = gather.wait;
  auto readAt = [&](Operation *entry) {
    if (step::isEntry(entry) && entry != start)
      gather.last = std::max(gather.last, placeOf[entry]);
  };
  for (Operation *user : buffer->getUsers()) {
    readAt(user);
    if (isa<step::ViewOp>(user))
      for (Operation *reader : user->getUsers())
        readAt(reader);
  }
  if (Value kept = start.getKept()) {
    Value of = kept.getDefiningOp<step::ViewOp>().getBuffer();
    for (Operation *view : of.getUsers())
      for (Operation *writer : view->getUsers())
        if (isa<step::KeepOp>(writer))
          gather.earliest = std::max(gather.earliest, placeOf[writer] + 1);
  }
  if (start->hasAttr(step::firstAttr)) {
    gather.stays = true;
    gather.last = entries.size();
  }
  problem.gathers.push_back(gather);
  gathers.push_back(start);
}

void ProgramMoves::addReduction(Operation *start, step::WaitOp wait,
                                size_t collective) {
  Reduction reduction;
  reduction.collective = collective;
  reduction.earliest = placeOf[wait];
  llvm::DenseSet<Operation *> touched;
  for (const step::Access &access : step::accesses(start)) {
    touched.insert(access.buffer);
    if (auto found = bufferIndex.find(access.buffer);
        found != bufferIndex.end())
      reduction.buffers.push_back(found->second);
  }
  // The first entry behind the wait that touches one of them.
  reduction.latest = entries.size();
  auto touchedAt = [&](Operation *entry) {
    if (step::isEntry(entry) && entry != start && entry != wait &&
        entry != nextOf.lookup(wait) && placeOf[entry] >= reduction.earliest)
      reduction.latest = std::min(reduction.latest, placeOf[entry]);
  };
  for (Operation *buffer : touched)
    for (Operation *user : buffer->getUsers()) {
      touchedAt(user);
      if (isa<step::ViewOp>(user))
        for (Operation *reader : user->getUsers())
          touchedAt(reader);
    }
  problem.reductions.push_back(std::move(reduction));
  waits.push_back(wait);
}

void ProgramMoves::apply(const Schedule &schedule) {
  Block &body = program.getBody().front();
  auto put = [&](Operation *op, size_t place) {
    if (place < entries.size())
      op->moveBefore(entries[place]);
    else
      op->moveBefore(&body, body.end());
  };
  // Starts before waits, each in its order.
  for (auto [index, start] : llvm::enumerate(gathers)) {
    if (schedule.held[index])
      continue;
    put(start, schedule.starts[index]);
    start.getGathered().getDefiningOp()->moveBefore(start);
    if (Value kept = start.getKept())
      kept.getDefiningOp()->moveBefore(start);
  }
  for (auto [index, wait] : llvm::enumerate(waits)) {
    put(wait, schedule.waits[index]);
    if (Operation *next = nextOf.lookup(wait))
      next->moveAfter(wait);
  }
  for (size_t index = 0; index < gathers.size(); ++index)
    if (schedule.held[index]) {
      size_t first = index;
      while (schedule.held[first])
        first = *problem.gathers[first].before;
      replace(gathers[index], gathers[first].getGathered());
    }
}

void ProgramMoves::replace(step::AllGatherStartOp start, Value held) {
  Value kept = start.getKept();
  Value gathered = start.getGathered();
  step::waitOf(start)->erase();
  start->erase();
  gathered.replaceAllUsesWith(held);
  gathered.getDefiningOp()->erase();
  if (!kept)
    return;
  // Nobody reads the slice that was kept.
  Value slice = kept.getDefiningOp<step::ViewOp>().getBuffer();
  kept.getDefiningOp()->erase();
  for (Operation *view : llvm::to_vector(slice.getUsers())) {
    for (Operation *keep : llvm::to_vector(view->getUsers()))
      keep->erase();
    view->erase();
  }
}

} // namespace shardc::schedule
