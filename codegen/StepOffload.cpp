// step-offload: master weights and optimizer state lie in the pool host, from
// where a part at a time comes to be updated.
#include "codegen/Passes.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
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
  Type type;                 // of master and states
  SmallVector<Value> host;   // buffers: the master, if there is one, states
  SmallVector<Value> staged; // views
};

class OptimizerStaging {
public:
  OptimizerStaging(step::PlanOp plan, step::ProgramOp program,
                   int64_t partBytes)
      : program(program), partBytes(partBytes),
        units(program->getParentOfType<ModuleOp>()), builder(program) {
    for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
      storageOf[storage.getUnit()] = storage;
  }
  LogicalResult run();

private:
  LogicalResult addParts(step::OptimizerStepOp step);
  /// Returns where the first parts begin to come: what the optimizer waits for
  /// hides them.
  Operation *beginOfOptimizer();
  Value view(Value buffer, int64_t begin, int64_t elements, Type type);
  Value transfer(const Part &part, Value source, Value destination);
  void wait(const Part &part, ArrayRef<Value> tokens);
  void load(size_t index);
  void update(size_t index);
  /// Says on an entry whose part of the step it is.
  void annotate(Operation *entry, const Part &part);

  step::ProgramOp program;
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
  Part part{step, 0, 0, unit.getMasterType(), {}, {}};
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
  for (Operation &entry : program.getBody().front())
    if (auto phase = entry.getAttrOfType<StringAttr>("step.phase");
        phase && phase == "optimizer")
      return &entry;
  return parts.front().step;
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
  for (step::OptimizerStepOp step : steps)
    if (failed(addParts(step)))
      return failure();
  if (parts.empty())
    return success();
  loads.resize(parts.size());
  stores.resize(parts.size());
  builder.setInsertionPoint(beginOfOptimizer());
  for (size_t index = 0; index < std::min(depth, parts.size()); ++index)
    load(index);
  for (size_t index = 0; index < parts.size(); ++index) {
    builder.setInsertionPoint(parts[index].step);
    update(index);
    // What follows comes into the memory that this part leaves.
    if (size_t next = index + depth; next < parts.size()) {
      wait(parts[index], stores[index]);
      load(next);
    }
  }
  for (size_t index = parts.size() - std::min(depth, parts.size());
       index < parts.size(); ++index)
    wait(parts[index], stores[index]);
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

  llvm::Expected<double> findLimit() const {
    auto machine = Cluster::load(cluster);
    if (!machine)
      return machine.takeError();
    return machine->poolLimit(memoryLimit);
  }

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
    auto limit = findLimit();
    if (!limit)
      return fail(limit.takeError());
    for (auto plan : getOperation().getOps<step::PlanOp>())
      if (option->kind == OffloadOption::Optimizer || leastBytes(plan) > *limit)
        for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
          if (failed(OptimizerStaging(plan, program, partBytes).run()))
            return signalPassFailure();
  }
};
} // namespace
} // namespace shardc
