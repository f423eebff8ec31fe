// step-offload: master weights and optimizer state lie in the pool host, from
// where a part at a time comes to be updated.
#include "codegen/Passes.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
#include "codegen/timeline/ReadProgram.h"
#include "passes/analyses/CostModel.h"
#include "passes/fsdp/FSDP.h"
#include "passes/options/Cluster.h"
#include "passes/options/OffloadOption.h"

#include "llvm/Support/MathExtras.h"

#include <map>

namespace shardc {
#define GEN_PASS_DEF_STEPOFFLOAD
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

/// So many parts have room at once: one is updated while the next one comes.
constexpr size_t depth = 2;
/// Parts begin at multiples of so many elements, which are whole blocks of a
/// disk in every type.
constexpr int64_t elementMultiple = 4096;

/// Elements of a unit's slice that are updated at once.
struct Part {
  step::OptimizerStepOp step;
  int64_t begin = 0, elements = 0;
  Type type;                  // of master and states
  SmallVector<Value> host;    // buffers: the master, if there is one, states
  SmallVector<Value> staged;  // views
  Operation *place = nullptr; // it is updated before that, or in the end

  int64_t bytes() const {
    return elements * step::elementBytes(type) *
           static_cast<int64_t>(host.size());
  }
};

class OptimizerStaging {
public:
  OptimizerStaging(step::PlanOp plan, step::ProgramOp program,
                   const Cluster &cluster, int64_t partBytes)
      : program(program), cluster(cluster), partBytes(partBytes),
        units(program->getParentOfType<ModuleOp>()), builder(program) {
    for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
      storageOf[storage.getUnit()] = storage;
  }
  LogicalResult run();

private:
  LogicalResult addParts(step::OptimizerStepOp step);
  /// Returns where the first parts begin to come: what the optimizer waits for
  /// hides them, or backward where units are updated in it.
  Operation *beginOfOptimizer();
  /// Says where parts are updated: behind the first entry at which they can be,
  /// when the parts before have come and gone. What backward computes in
  /// between hides transfers, so that no part waits for its own.
  void place();
  Value view(Value buffer, int64_t begin, int64_t elements, Type type);
  Value transfer(const Part &part, Value source, Value destination);
  void wait(const Part &part, ArrayRef<Value> tokens);
  void load(size_t index);
  /// Lets the next part come into the memory that the one before leaves.
  void update(size_t index);
  /// Says on an entry whose part of the step it is.
  void annotate(Operation *entry, const Part &part);

  step::ProgramOp program;
  const Cluster &cluster;
  int64_t partBytes;
  SymbolTable units;
  OpBuilder builder;
  llvm::StringMap<step::StorageOp> storageOf;
  SmallVector<Part> parts;
  SmallVector<SmallVector<Value>> loads, stores; // tokens, by part
};

LogicalResult OptimizerStaging::addParts(step::OptimizerStepOp step) {
  step::StorageOp storage = storageOf.lookup(step.getUnit());
  auto unit = units.lookup<fsdp::UnitOp>(step.getUnit());
  if (!storage || !unit)
    return step.emitOpError() << "updates a unit that is stored nowhere";
  if (step.getDirection())
    return step.emitOpError()
           << "takes whole matrices, whose state cannot be in the pool host";
  if (storage.getRemainder())
    return step.emitOpError()
           << "has split masters, which cannot be in the pool host";
  Part part{step, 0, 0, unit.getMasterType(), {}, {}, nullptr};
  if (Value master = storage.getMaster())
    part.host.push_back(master);
  llvm::append_range(part.host, storage.getStates());
  if (part.host.empty())
    return success();
  for (Value buffer : part.host)
    buffer.getDefiningOp<step::BufferOp>().setKind(step::Kind::host);
  auto slice =
      static_cast<int64_t>(unit.getElements() / unit.getOptimizerShards());
  int64_t most = partBytes / (step::elementBytes(part.type) *
                              static_cast<int64_t>(part.host.size()));
  most = std::max(elementMultiple, most / elementMultiple * elementMultiple);
  for (; part.begin < slice; part.begin += most) {
    part.elements = std::min(most, slice - part.begin);
    parts.push_back(part);
  }
  return success();
}

Operation *OptimizerStaging::beginOfOptimizer() {
  StringRef first = parts.front().step.getNorm() ? "optimizer" : "backward";
  for (Operation &entry : program.getBody().front())
    if (auto phase = entry.getAttrOfType<StringAttr>("step.phase");
        phase && phase == first)
      return &entry;
  return parts.front().step;
}

void OptimizerStaging::place() {
  timeline::TimedProgram timed =
      timeline::readProgram(program, CostModel(cluster));
  // Other ranks get the updates from here on.
  size_t end = 0;
  while (end < timed.entries.size() &&
         !isa<step::AllGatherUpdatesStartOp>(timed.entries[end]))
    ++end;
  size_t at = 0;
  double now = 0, free = 0; // seconds of the entries before `at`; of transfers
  auto goOn = [&] { now += timed.steps[at++].seconds; };
  Operation *before = nullptr;
  for (Part &part : parts) {
    if (part.step != before)
      while (at < end && timed.entries[at]->isBeforeInBlock(part.step))
        goOn();
    before = part.step;
    free = std::max(free, now);
    while (at < end && now < free)
      goOn();
    part.place = at < timed.entries.size() ? timed.entries[at] : nullptr;
    free += 2 * static_cast<double>(part.bytes()) / cluster.hostBandwidth;
  }
}

void OptimizerStaging::annotate(Operation *entry, const Part &part) {
  for (StringRef name : {"step.phase", "step.unit"})
    if (Attribute value = part.step->getAttr(name))
      entry->setAttr(name, value);
}

Value OptimizerStaging::view(Value buffer, int64_t begin, int64_t elements,
                             Type type) {
  return step::ViewOp::create(
      builder, buffer.getLoc(), MemRefType::get({elements}, type), buffer,
      static_cast<uint64_t>(begin * step::elementBytes(type)));
}

Value OptimizerStaging::transfer(const Part &part, Value source,
                                 Value destination) {
  auto start = step::TransferStartOp::create(
      builder, part.step->getLoc(), step::TokenType::get(builder.getContext()),
      source, destination);
  annotate(start, part);
  return start.getToken();
}

void OptimizerStaging::wait(const Part &part, ArrayRef<Value> tokens) {
  for (Value token : tokens)
    annotate(step::WaitOp::create(builder, part.step->getLoc(), token), part);
}

void OptimizerStaging::load(size_t index) {
  Part &part = parts[index];
  for (Value host : part.host) {
    auto buffer = host.getDefiningOp<step::BufferOp>();
    Value staged =
        step::BufferOp::create(builder, host.getLoc(), step::Kind::staging,
                               part.elements * step::elementBytes(part.type),
                               ("staged." + buffer.getName()).str());
    part.staged.push_back(view(staged, 0, part.elements, part.type));
    loads[index].push_back(
        transfer(part, view(host, part.begin, part.elements, part.type),
                 part.staged.back()));
  }
}

void OptimizerStaging::update(size_t index) {
  Part &part = parts[index];
  step::OptimizerStepOp step = part.step;
  if (index > 0) {
    wait(parts[index - 1], stores[index - 1]);
    if (size_t next = index - 1 + depth; next < parts.size())
      load(next);
  }
  wait(part, loads[index]);
  auto gradient = step.getGradient().getDefiningOp<step::ViewOp>();
  Type gradientType = cast<MemRefType>(gradient.getType()).getElementType();
  Value own = step::ViewOp::create(
      builder, gradient.getLoc(),
      MemRefType::get({part.elements}, gradientType), gradient.getBuffer(),
      gradient.getOffset() +
          static_cast<uint64_t>(part.begin * step::elementBytes(gradientType)));
  ValueRange staged = part.staged;
  bool hasMaster = bool(storageOf.lookup(step.getUnit()).getMaster());
  auto made = step::OptimizerStepOp::create(
      builder, step.getLoc(), step.getUnitAttr(), own, step.getNorm(),
      step.getKindAttr(), /*direction=*/Value(),
      hasMaster ? staged.front() : Value(), staged.drop_front(hasMaster),
      builder.getI64IntegerAttr(part.begin));
  annotate(made, part);
  for (auto [host, from] : llvm::zip(part.host, part.staged))
    stores[index].push_back(
        transfer(part, from, view(host, part.begin, part.elements, part.type)));
}

LogicalResult OptimizerStaging::run() {
  SmallVector<step::OptimizerStepOp> steps(
      program.getBody().front().getOps<step::OptimizerStepOp>());
  // Entries of backward are short beside what moves in two milliseconds.
  if (!steps.empty() && !steps.front().getNorm())
    partBytes =
        std::max(partBytes, static_cast<int64_t>(2e-3 * cluster.hostBandwidth));
  for (step::OptimizerStepOp step : steps)
    if (failed(addParts(step)))
      return failure();
  if (parts.empty())
    return success();
  place();
  loads.resize(parts.size());
  stores.resize(parts.size());
  builder.setInsertionPoint(beginOfOptimizer());
  for (size_t index = 0; index < std::min(depth, parts.size()); ++index)
    load(index);
  for (size_t index = 0; index < parts.size(); ++index) {
    if (parts[index].place)
      builder.setInsertionPoint(parts[index].place);
    else
      builder.setInsertionPointToEnd(&program.getBody().front());
    update(index);
  }
  builder.setInsertionPointToEnd(&program.getBody().front());
  wait(parts.back(), stores.back());
  for (step::OptimizerStepOp step : steps)
    if (llvm::any_of(parts,
                     [&](const Part &part) { return part.step == step; }))
      step.erase();
  return success();
}

/// What no placement of a plan's buffers takes less than.
double leastBytes(step::PlanOp plan) {
  double bytes = 0;
  for (auto buffer : plan.getBody().front().getOps<step::BufferOp>())
    if (step::poolOf(buffer.getKind()) == step::Pool::persistent)
      bytes += static_cast<double>(buffer.getBytes());
  int64_t most = 0;
  for (auto program : plan.getBody().front().getOps<step::ProgramOp>()) {
    std::map<step::Pool, SmallVector<step::Lifetime>> pools;
    for (auto &[buffer, lifetime] : step::lifetimes(program))
      pools[step::poolOf(cast<step::BufferOp>(buffer).getKind())].push_back(
          lifetime);
    int64_t own = 0;
    for (auto &[pool, lifetimes] : pools)
      own += step::mostAlive(lifetimes);
    most = std::max(most, own);
  }
  return bytes + static_cast<double>(most);
}

struct StepOffload : impl::StepOffloadBase<StepOffload> {
  using StepOffloadBase::StepOffloadBase;

  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  void runOnOperation() override {
    auto option = OffloadOption::parse(offload);
    if (!option)
      return fail(option.takeError());
    if (option->kind == OffloadOption::None)
      return markAllAnalysesPreserved();
    auto machine = Cluster::load(cluster);
    if (!machine)
      return fail(machine.takeError());
    auto limit = machine->poolLimit(memoryLimit);
    if (!limit)
      return fail(limit.takeError());
    for (auto plan : getOperation().getOps<step::PlanOp>())
      if (option->kind == OffloadOption::Optimizer || leastBytes(plan) > *limit)
        for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
          if (failed(
                  OptimizerStaging(plan, program, *machine, partBytes).run()))
            return signalPassFailure();
  }
};
} // namespace
} // namespace shardc
