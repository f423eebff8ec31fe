// Which units can leave, and transfers before their uses.
#include "codegen/offload/ParameterStaging.h"

#include "codegen/step/Liveness.h"
#include "passes/fsdp/FSDP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace shardc::offload {

namespace {

/// Entries that read or write a buffer where it lies, but for transfers.
SmallVector<std::pair<Operation *, OpOperand *>> usesOf(step::BufferOp buffer) {
  SmallVector<std::pair<Operation *, OpOperand *>> uses;
  for (Operation *view : buffer->getUsers())
    if (isa<step::ViewOp>(view))
      for (OpOperand &use : view->getUses())
        if (!isa<step::TransferStartOp>(use.getOwner()))
          uses.push_back({use.getOwner(), &use});
  return uses;
}

bool writes(Operation *entry, step::BufferOp buffer) {
  return llvm::any_of(step::accesses(entry), [&](const step::Access &access) {
    return access.buffer == buffer && access.isWritten;
  });
}

/// Of a plan, by unit, in the order of their first uses: whether its parameters
/// may lie in the pool host.
class Candidates {
public:
  Candidates(step::PlanOp plan, const Cluster &cluster)
      : symbols(plan->getParentOfType<ModuleOp>()), cluster(cluster) {
    for (auto storage : plan.getBody().front().getOps<step::StorageOp>()) {
      storageOf[storage.getUnit()] = storage;
      unitOf[storage.getParameters()] = storage.getUnit();
    }
    for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
      for (Operation &entry : program.getBody().front())
        collect(&entry);
    for (auto &[name, mayLeave] : units)
      mayLeave &= isStoredWhole(name);
  }

  llvm::MapVector<StringRef, bool> units;
  step::BufferOp bufferOf(StringRef unit) const {
    return storageOf.lookup(unit)
        .getParameters()
        .getDefiningOp<step::BufferOp>();
  }

private:
  void collect(Operation *entry) {
    if (auto start = dyn_cast<step::AllGatherStartOp>(entry))
      units.insert({start.getUnit(), !start->hasAttr(step::firstAttr)});
    // Others bring a part of what the rank holds; matrices are updated whole.
    if (auto start = dyn_cast<step::AllGatherUpdatesStartOp>(entry))
      units[start.getUnit()] = false;
    if (auto step = dyn_cast<step::OptimizerStepOp>(entry);
        step && step.getDirection())
      units[step.getUnit()] = false;
    if (auto view = dyn_cast<step::ViewOp>(entry))
      if (StringRef unit = unitOf.lookup(view.getBuffer()); !unit.empty())
        units.insert({unit, true});
  }

  bool isStoredWhole(StringRef name) const {
    auto unit = symbols.lookup<fsdp::UnitOp>(name);
    step::StorageOp storage = storageOf.lookup(name);
    if (!unit || !storage || storage.getRemainder())
      return false;
    step::BufferOp buffer = bufferOf(name);
    if (unit.getOptimizerShards() == 0) {
      // Statistics of layers are among what is not trained.
      for (auto [entry, use] : usesOf(buffer))
        if (writes(entry, buffer))
          return false;
      return unit.getShards() > 1 ||
             isWorthItsLatency(static_cast<int64_t>(buffer.getBytes()));
    }
    return unit.getOptimizerShards() == unit.getShards();
  }

  bool isWorthItsLatency(int64_t bytes) const {
    return cluster.hostSeconds(bytes) >= 2 * cluster.hostSeconds(0);
  }

  SymbolTable symbols;
  const Cluster &cluster;
  llvm::StringMap<step::StorageOp> storageOf;
  llvm::DenseMap<Value, StringRef> unitOf; // by the buffer of its parameters
};

} // namespace

bool offloadParameters(step::PlanOp plan, int64_t mostBytes,
                       const Cluster &cluster) {
  Candidates candidates(plan, cluster);
  if (llvm::none_of(candidates.units, [](auto &each) { return each.second; }))
    return false;
  for (auto &[name, mayLeave] : candidates.units) {
    if (!mayLeave)
      continue;
    step::BufferOp buffer = candidates.bufferOf(name);
    if (static_cast<int64_t>(buffer.getBytes()) > mostBytes)
      continue;
    mostBytes -= static_cast<int64_t>(buffer.getBytes());
    buffer.setKind(step::Kind::state);
  }
  return true;
}

namespace {

/// What needs a unit's parameters that have left: a gather, or entries that
/// read them where they lie.
struct Need {
  size_t place;
  step::BufferOp buffer;
  MemRefType type; // of all that the rank has of the unit
  step::AllGatherStartOp gather;
  SmallVector<OpOperand *> reads;
  Value token;

  Operation *entry() {
    return gather ? gather.getOperation() : reads.front()->getOwner();
  }
  /// Lets it come.
  void begin(OpBuilder &builder);
  /// Waits until it is there.
  void end(OpBuilder &builder) { waitFor(builder, entry(), token); }
};

void Need::begin(OpBuilder &builder) {
  Value staged =
      step::BufferOp::create(builder, buffer.getLoc(), step::Kind::staging,
                             static_cast<int64_t>(buffer.getBytes()),
                             ("staged." + buffer.getName()).str());
  auto view = [&](Value of, MemRefType type, uint64_t offset) -> Value {
    return step::ViewOp::create(builder, buffer.getLoc(), type, of, offset);
  };
  Value whole = view(staged, type, 0);
  token = startTransfer(builder, entry(), view(buffer, type, 0), whole);
  if (gather)
    gather.getKeptMutable().assign(whole);
  llvm::DenseMap<Operation *, Value> views;
  for (OpOperand *read : reads) {
    auto from = read->get().getDefiningOp<step::ViewOp>();
    Value &moved = views[from];
    if (!moved)
      moved = view(staged, cast<MemRefType>(from.getType()), from.getOffset());
    read->set(moved);
  }
}

/// Nothing comes before the need so many places ahead of its own, or much of
/// what has left would wait in memory while the link is busy.
constexpr size_t mostAhead = 2;

/// A program's needs, in the order of their places.
class Needs {
public:
  Needs(step::PlanOp plan, step::ProgramOp program, const Cluster &cluster)
      : symbols(plan->getParentOfType<ModuleOp>()), program(program),
        entries(program, cluster), cluster(cluster) {
    for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
      if (isOnHost(storage.getParameters()))
        collect(symbols.lookup<fsdp::UnitOp>(storage.getUnit()),
                storage.getParameters().getDefiningOp<step::BufferOp>());
    llvm::stable_sort(needs, [](const auto &a, const auto &b) {
      return a->place < b->place;
    });
  }

  void bring();

private:
  std::shared_ptr<Need> add(size_t place, fsdp::UnitOp unit,
                            step::BufferOp buffer) {
    auto need = std::make_shared<Need>();
    need->place = place;
    need->buffer = buffer;
    need->type = MemRefType::get(
        {static_cast<int64_t>(unit.getElements() / unit.getShards())},
        unit.getElementType());
    needs.push_back(need);
    return need;
  }
  void collect(fsdp::UnitOp unit, step::BufferOp buffer);

  SymbolTable symbols;
  step::ProgramOp program;
  TimedEntries entries;
  const Cluster &cluster;
  std::vector<std::shared_ptr<Need>> needs;
};

void Needs::collect(fsdp::UnitOp unit, step::BufferOp buffer) {
  for (auto start : program.getBody().front().getOps<step::AllGatherStartOp>())
    if (!start.getKept() && start.getUnit() == unit.getSymName())
      add(entries.placeOf(start), unit, buffer)->gather = start;
  SmallVector<std::pair<size_t, OpOperand *>> reads;
  for (auto [entry, use] : usesOf(buffer))
    if (entry->getParentOp() == program)
      reads.push_back({entries.placeOf(entry), use});
  llvm::stable_sort(reads, llvm::less_first());
  double pause = cluster.hostSeconds(static_cast<int64_t>(buffer.getBytes()));
  double end = 0; // of the reads so far
  std::shared_ptr<Need> run;
  for (auto [place, use] : reads) {
    if (!run || entries.timeAt(place) > end + pause)
      run = add(place, unit, buffer);
    run->reads.push_back(use);
    size_t last = place;
    if (step::WaitOp wait = step::waitOf(use->getOwner()))
      last = entries.placeOf(wait);
    end = std::max(end, entries.timeAt(last + 1));
  }
}

void Needs::bring() {
  HostLink link(cluster);
  entries.takeTransfers(link);
  Insertions insertions(entries);
  for (size_t index = needs.size(); index-- > 0;) {
    std::shared_ptr<Need> need = needs[index];
    auto bytes = static_cast<int64_t>(need->buffer.getBytes());
    double time = entries.timeAt(need->place);
    auto placeBefore = [&](size_t count) {
      return index >= count ? needs[index - count]->place : 0;
    };
    // Where the link is not free for it then, it follows the one before.
    size_t from = placeBefore(1);
    double begin = entries.timeAt(from);
    if (auto span =
            link.last(HostLink::FromHost,
                      entries.timeAt(placeBefore(mostAhead)), time, bytes)) {
      link.take(HostLink::FromHost, *span);
      begin = span->begin;
      from = std::min(need->place, entries.lastUntil(begin));
    }
    insertions.add(from, begin,
                   [need](OpBuilder &builder) { need->begin(builder); });
    insertions.add(need->place, time,
                   [need](OpBuilder &builder) { need->end(builder); });
  }
  insertions.apply(program);
}

} // namespace

void stageParameters(step::PlanOp plan, step::ProgramOp program,
                     const Cluster &cluster) {
  bool any = llvm::any_of(plan.getBody().front().getOps<step::StorageOp>(),
                          [](step::StorageOp storage) {
                            return isOnHost(storage.getParameters());
                          });
  if (any)
    Needs(plan, program, cluster).bring();
}

} // namespace shardc::offload
