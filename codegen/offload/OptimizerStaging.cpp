// Parts of units, between transfers.
#include "codegen/offload/OptimizerStaging.h"

#include "codegen/step/EntryNames.h"
#include "codegen/step/View.h"
#include "passes/fsdp/FSDP.h"

using namespace mlir;

namespace shardc::offload {

/// So many parts have room at once: one is updated while the next one comes.
static constexpr size_t depth = 2;
/// Before so many further units have their gradients in backward, a unit is
/// updated.
static constexpr size_t mostWaiting = 2;
/// Parts begin at multiples of so many elements, which are whole blocks of a
/// disk in every type.
static constexpr int64_t elementMultiple = 4096;

static Value viewOf(OpBuilder &builder, Value buffer, int64_t begin,
                    int64_t elements, Type type) {
  return step::ViewOp::create(
      builder, buffer.getLoc(), MemRefType::get({elements}, type), buffer,
      static_cast<uint64_t>(begin * nn::elementBytes(type)));
}

int64_t OptimizerStaging::Part::elementBytes() const {
  int64_t bytes = 0;
  for (const Kept &kept : host)
    bytes += nn::elementBytes(kept.type);
  return bytes;
}

OptimizerStaging::OptimizerStaging(step::PlanOp plan, step::ProgramOp program,
                                   const Cluster &cluster, HostLink &link,
                                   int64_t partBytes)
    : program(program), cluster(cluster), link(link), partBytes(partBytes),
      units(program->getParentOfType<ModuleOp>()),
      steps(program.getBody().front().getOps<step::OptimizerStepOp>()) {
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
    storageOf[storage.getUnit()] = storage;
  if (!steps.empty() && !steps.front().getNorm())
    this->partBytes =
        std::max(partBytes, static_cast<int64_t>(2e-3 * cluster.hostBandwidth));
}

static int64_t bytesOf(ArrayRef<Value> buffers) {
  int64_t bytes = 0;
  for (Value buffer : buffers)
    bytes +=
        static_cast<int64_t>(buffer.getDefiningOp<step::BufferOp>().getBytes());
  return bytes;
}

SmallVector<Value> OptimizerStaging::stateOf(step::OptimizerStepOp step) {
  step::StorageOp storage = storageOf.lookup(step.getUnit());
  SmallVector<Value> state;
  if (Value master = storage.getMaster())
    state.push_back(master);
  llvm::append_range(state, storage.getStates());
  return state;
}

int64_t OptimizerStaging::bytesToSave(int64_t saved) {
  int64_t wanted = saved + static_cast<int64_t>(depth) * partBytes, bytes = 0;
  for (step::OptimizerStepOp step : steps) {
    step::StorageOp storage = storageOf.lookup(step.getUnit());
    if (!storage || step.getDirection() || storage.getRemainder())
      return 0;
    if (bytes < wanted)
      bytes += bytesOf(stateOf(step));
  }
  return bytes;
}

LogicalResult OptimizerStaging::addParts(step::OptimizerStepOp step,
                                         int64_t &mostBytes) {
  step::StorageOp storage = storageOf.lookup(step.getUnit());
  auto unit = units.lookup<fsdp::UnitOp>(step.getUnit());
  if (!storage || !unit)
    return step.emitOpError() << "updates a unit that is stored nowhere";
  SmallVector<Value> state = stateOf(step);
  int64_t bytes = bytesOf(state);
  bool leaves = bytes > 0 && bytes <= mostBytes;
  if (!leaves && !isOnHost(storage.getParameters()))
    return success();
  if (step.getDirection())
    return step.emitOpError()
           << "takes whole matrices, whose state cannot be in the pool host";
  if (storage.getRemainder())
    return step.emitOpError()
           << "has split masters, which cannot be in the pool host";
  if (leaves) {
    mostBytes -= bytes;
    for (Value buffer : state)
      buffer.getDefiningOp<step::BufferOp>().setKind(step::Kind::state);
  }
  Part part{step, 0, 0, {}, false, false, {}, {}, {}};
  // Parameters of the masters' type are these.
  Value parameters = storage.getParameters();
  Value master = storage.getMaster() ? storage.getMaster() : parameters;
  part.hasMaster = isOnHost(master);
  if (part.hasMaster)
    part.host.push_back({master, unit.getMasterType()});
  if (leaves)
    for (Value states : storage.getStates())
      part.host.push_back({states, unit.getMasterType()});
  part.hasParameters = master != parameters && isOnHost(parameters);
  if (part.hasParameters)
    part.host.push_back({parameters, unit.getElementType()});
  auto slice =
      static_cast<int64_t>(unit.getElements() / unit.getOptimizerShards());
  int64_t most =
      std::max(elementMultiple, partBytes / part.elementBytes() /
                                    elementMultiple * elementMultiple);
  for (; part.begin < slice; part.begin += most) {
    part.elements = std::min(most, slice - part.begin);
    parts.push_back(part);
  }
  return success();
}

size_t OptimizerStaging::beginOfOptimizer(const TimedEntries &entries) const {
  step::OptimizerStepOp first = parts.front().step;
  return std::min(entries.placeOf(first),
                  entries.beginOf(first.getNorm() ? "optimizer" : "backward"));
}

void OptimizerStaging::load(OpBuilder &builder, Part &part) {
  for (const Kept &kept : part.host) {
    auto buffer = kept.buffer.getDefiningOp<step::BufferOp>();
    Value staged =
        step::BufferOp::create(builder, buffer.getLoc(), step::Kind::staging,
                               part.elements * nn::elementBytes(kept.type),
                               ("staged." + buffer.getName()).str());
    part.staged.push_back(viewOf(builder, staged, 0, part.elements, kept.type));
    Value from =
        viewOf(builder, kept.buffer, part.begin, part.elements, kept.type);
    part.loads.push_back(
        startTransfer(builder, part.step, from, part.staged.back()));
  }
}

void OptimizerStaging::update(OpBuilder &builder, Part &part) {
  step::OptimizerStepOp step = part.step;
  for (Value token : part.loads)
    waitFor(builder, step, token);
  auto gradient = step.getGradient().getDefiningOp<step::ViewOp>();
  Type gradientType = cast<MemRefType>(gradient.getType()).getElementType();
  Value own = step::ViewOp::create(
      builder, gradient.getLoc(),
      MemRefType::get({part.elements}, gradientType), gradient.getBuffer(),
      gradient.getOffset() +
          static_cast<uint64_t>(part.begin * nn::elementBytes(gradientType)));
  ValueRange states = part.staged;
  states = states.drop_front(part.hasMaster).drop_back(part.hasParameters);
  auto made = step::OptimizerStepOp::create(
      builder, step.getLoc(), step.getUnitAttr(), own, step.getNorm(),
      step.getKindAttr(), /*direction=*/Value(),
      part.hasMaster ? part.staged.front() : Value(), states,
      part.hasParameters ? part.staged.back() : Value(),
      builder.getI64IntegerAttr(part.begin));
  annotate(made, step);
  for (auto [kept, from] : llvm::zip(part.host, part.staged))
    part.stores.push_back(startTransfer(
        builder, step, from,
        viewOf(builder, kept.buffer, part.begin, part.elements, kept.type)));
}

void OptimizerStaging::place(TimedEntries &entries, Insertions &insertions) {
  // Other ranks get the updates from here on.
  size_t end = 0;
  while (end < entries.size() &&
         !isa<step::AllGatherUpdatesStartOp>(entries[end]))
    ++end;
  size_t begin = beginOfOptimizer(entries);
  // Of each part: where the wait for its stores stands, and when it has gone.
  std::vector<std::pair<size_t, double>> gone;
  SmallVector<timeline::Span> coming; // by part
  auto roomFor = [&](size_t index) {
    return index < depth ? std::pair(begin, entries.timeAt(begin))
                         : gone[index - depth];
  };
  auto takeNext = [&] {
    coming.push_back(link.first(HostLink::FromHost,
                                roomFor(coming.size()).second,
                                parts[coming.size()].bytes()));
    link.take(HostLink::FromHost, coming.back());
  };
  // Where the link has one direction, they come before the first part goes.
  while (coming.size() < std::min(depth, parts.size()))
    takeNext();
  double updated = 0;
  for (size_t index = 0; index < parts.size(); ++index) {
    Part &part = parts[index];
    size_t step = entries.placeOf(part.step);
    if (index >= depth)
      takeNext();
    updated = std::max({updated, coming[index].end, entries.timeAt(step)});
    size_t last = end;
    size_t other = llvm::find(steps, part.step) - steps.begin();
    bool isInBackward = !step::OptimizerStepOp(part.step).getNorm();
    if (isInBackward && other + mostWaiting < steps.size())
      last = std::min(last, entries.placeOf(steps[other + mostWaiting]));
    size_t at = std::min(last, std::max(step, entries.firstFrom(updated)));
    if (double early = updated - entries.timeAt(at); early > 0)
      entries.delay(at, early);
    timeline::Span going = link.first(HostLink::ToHost, updated, part.bytes());
    link.take(HostLink::ToHost, going);
    // It is queued behind the transfer before, which it then follows at once.
    auto [room, from] = roomFor(index);
    double queued = std::max(
        from, link.beginBefore(HostLink::FromHost, coming[index].begin));
    insertions.add(std::min(at, std::max(room, entries.lastUntil(queued))),
                   queued,
                   [this, &part](OpBuilder &builder) { load(builder, part); });
    insertions.add(at, updated, [this, &part](OpBuilder &builder) {
      update(builder, part);
    });
    size_t left = std::max(at, entries.firstFrom(going.end));
    // Parts that come behind it need its memory.
    if (index + depth < parts.size())
      left = std::max(at, std::min(left, end));
    gone.push_back({left, going.end});
    insertions.add(left, going.end, [&part](OpBuilder &builder) {
      for (Value token : part.stores)
        waitFor(builder, part.step, token);
    });
  }
}

LogicalResult OptimizerStaging::run(int64_t mostBytes) {
  for (step::OptimizerStepOp step : steps)
    if (failed(addParts(step, mostBytes)))
      return failure();
  if (parts.empty())
    return success();
  TimedEntries entries(program, cluster);
  Insertions insertions(entries);
  place(entries, insertions);
  insertions.apply(program);
  for (step::OptimizerStepOp step : steps)
    if (llvm::any_of(parts,
                     [&](const Part &part) { return part.step == step; }))
      step.erase();
  return success();
}

} // namespace shardc::offload
