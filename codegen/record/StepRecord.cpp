// A planned step as plain data, read off its plan.
#include "codegen/record/StepRecord.h"

#include "codegen/step/EntryNames.h"
#include "codegen/step/Liveness.h"
#include "codegen/timeline/DrawTimeline.h"
#include "runtime/base/PoolNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace shardc::record {

namespace {

class Recorder {
public:
  Recorder(step::PlanOp plan, step::ProgramOp program, const CostModel &costs)
      : plan(plan), program(program),
        timed(timeline::readProgram(program, costs)),
        simulated(timed.simulate()) {}

  StepRecord record() {
    result.seconds = simulated.seconds;
    addEntries();
    addCollectives();
    nameOwners();
    addBuffers();
    addAccesses();
    return std::move(result);
  }

private:
  void addEntries();
  void addCollectives();
  /// Whose the buffers of the plan are.
  void nameOwners();
  void addBuffers();
  Buffer &addBuffer(step::BufferOp op);
  void addAccesses();

  step::PlanOp plan;
  step::ProgramOp program;
  timeline::TimedProgram timed;
  timeline::Timeline simulated;
  llvm::DenseMap<Operation *, std::string> owners;
  llvm::DenseMap<Operation *, size_t> places; // of buffers
  StepRecord result;
};

void Recorder::addEntries() {
  step::EntryNames names;
  for (auto [op, span] : llvm::zip(timed.entries, simulated.steps)) {
    Entry entry{names.next(op),
                step::entryKind(op),
                step::entryPhase(op).str(),
                step::entryUnit(op).str(),
                {},
                span.begin,
                span.end};
    for (StringRef node : step::entryNodes(op))
      entry.nodes.push_back(node.str());
    result.entries.push_back(std::move(entry));
  }
}

void Recorder::addCollectives() {
  for (auto [op, collective, span] :
       llvm::zip(timed.starts, timed.collectives, simulated.collectives)) {
    Collective added;
    timeline::CollectiveName name = timeline::nameCollective(op);
    added.what = name.text();
    added.kind = name.kind.str();
    added.phase = name.phase.str();
    added.unit = name.unit.str();
    if (auto group = op->getAttrOfType<FlatSymbolRefAttr>("group"))
      added.group = group.getValue().str();
    added.stream = timed.streams[collective.stream];
    added.begin = span.begin;
    added.end = span.end;
    result.collectives.push_back(std::move(added));
  }
  for (auto [index, step] : llvm::enumerate(timed.steps)) {
    if (step.kind == timeline::Step::Compute)
      continue;
    Collective &collective = result.collectives[step.collective];
    auto place = static_cast<int64_t>(index);
    (step.kind == timeline::Step::Start ? collective.start : collective.wait) =
        place;
    collective.waited += simulated.steps[index].seconds();
  }
}

void Recorder::nameOwners() {
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
    for (Value buffer : storage->getOperands())
      owners[buffer.getDefiningOp()] = storage.getUnit().str();
}

Buffer &Recorder::addBuffer(step::BufferOp op) {
  Buffer buffer;
  buffer.name = op.getName().str();
  buffer.kind = step::stringifyKind(op.getKind()).str();
  buffer.pool = step::stringifyPool(step::poolOf(op.getKind())).str();
  buffer.unit = owners.lookup(op);
  buffer.offset = static_cast<int64_t>(op.getOffset().value_or(0));
  buffer.bytes = static_cast<int64_t>(
      llvm::alignTo(op.getBytes(), plan.getBufferAlignment()));
  places[op] = result.buffers.size();
  result.buffers.push_back(std::move(buffer));
  return result.buffers.back();
}

void Recorder::addBuffers() {
  int64_t end = static_cast<int64_t>(result.entries.size()) - 1;
  for (auto op : plan.getBody().front().getOps<step::BufferOp>()) {
    Buffer &buffer = addBuffer(op);
    buffer.outlivesStep = true;
    buffer.last = end;
  }
  for (auto &[op, lifetime] : step::lifetimes(program)) {
    Buffer &buffer = addBuffer(cast<step::BufferOp>(op));
    buffer.first = lifetime.first;
    buffer.last = lifetime.last;
  }
}

void Recorder::addAccesses() {
  auto add = [](std::vector<int64_t> &list, int64_t entry) {
    if (list.empty() || list.back() != entry)
      list.push_back(entry);
  };
  for (auto [index, op] : llvm::enumerate(timed.entries)) {
    auto place = static_cast<int64_t>(index);
    for (const step::Access &access : step::accesses(op)) {
      auto found = places.find(access.buffer);
      if (found == places.end())
        continue;
      Buffer &buffer = result.buffers[found->second];
      if (access.isWritten)
        add(buffer.writers, place);
      if (access.isRead)
        add(buffer.readers, place);
      if (buffer.unit.empty() && access.isWritten)
        buffer.unit = result.entries[index].unit;
    }
  }
}

} // namespace

std::vector<int64_t> StepRecord::aliveBytes() const {
  std::vector<int64_t> change(entries.size() + 1);
  for (const Buffer &buffer : buffers)
    if (!runtime::isAccumulationPool(buffer.pool)) {
      change[buffer.first] += buffer.bytes;
      change[buffer.last + 1] -= buffer.bytes;
    }
  std::vector<int64_t> alive(entries.size());
  int64_t sum = 0;
  for (size_t i = 0; i < alive.size(); ++i)
    alive[i] = sum += change[i];
  return alive;
}

int64_t StepRecord::peakEntry() const {
  std::vector<int64_t> alive = aliveBytes();
  return std::max_element(alive.begin(), alive.end()) - alive.begin();
}

StepRecord recordStep(ModuleOp module, const CostModel &costs) {
  for (auto plan : module.getOps<step::PlanOp>())
    for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
      if (program.getName() == "train")
        return Recorder(plan, program, costs).record();
  return {};
}

} // namespace shardc::record
