// Bytes and operations of entries, and the time that they take.
#include "codegen/timeline/ReadProgram.h"

#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
#include "passes/fsdp/FSDP.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace shardc::timeline {

using Primitive = step::Communication::Primitive;

namespace {

class ProgramReader {
public:
  ProgramReader(step::ProgramOp program, const CostModel &costs)
      : program(program), costs(costs),
        symbols(program->getParentOfType<ModuleOp>()) {
    for (auto storage :
         program->getParentOfType<step::PlanOp>().getOps<step::StorageOp>())
      storageOf[storage.getUnit()] = storage;
  }

  TimedProgram read();

private:
  /// What an entry reads and writes.
  struct Traffic {
    double read = 0, written = 0;
  };

  void addCollective(Operation *start, const step::Communication &what);
  CollectiveTime timeOf(const step::Communication &what);
  RankGroup ranksOf(StringRef group);
  size_t streamOf(const step::Communication &what);
  Traffic trafficOf(Operation *entry);
  double secondsOf(Operation *entry);
  /// What the start of a collective takes before that begins.
  double secondsBefore(const step::Communication &what);
  double bytesOfState(StringRef unit);

  step::ProgramOp program;
  const CostModel &costs;
  SymbolTable symbols;
  llvm::StringMap<step::StorageOp> storageOf;
  llvm::StringMap<size_t> streams; // by name
  TimedProgram result;
};

double sizeOf(Value view) {
  step::View of = step::View::of(view);
  return static_cast<double>(
      std::min(of.elements() * nn::elementBytes(of.elementType),
               of.spanBytes())); // what is broadcast is read once
}

TimedProgram ProgramReader::read() {
  llvm::DenseMap<Operation *, size_t> collectiveOf; // by start
  for (Operation &entry : program.getBody().front()) {
    if (!step::isEntry(&entry))
      continue;
    Step step;
    if (auto wait = dyn_cast<step::WaitOp>(entry)) {
      step.kind = Step::Wait;
      step.collective = collectiveOf.lookup(wait.getToken().getDefiningOp());
    } else if (auto start = dyn_cast<step::CollectiveStart>(entry)) {
      step.kind = Step::Start;
      step::Communication what = start.getCommunication(symbols);
      step.seconds = secondsBefore(what);
      step.collective = collectiveOf[&entry] = result.collectives.size();
      addCollective(&entry, what);
    } else {
      // Whoever adds a collective says what it communicates.
      if (llvm::is_contained(entry.getResultTypes(),
                             step::TokenType::get(entry.getContext())))
        llvm::reportFatalInternalError("no time of " +
                                       entry.getName().getStringRef());
      step.seconds = secondsOf(&entry);
    }
    result.steps.push_back(step);
    result.entries.push_back(&entry);
  }
  result.slowdown = costs.cluster.collectiveSlowdown;
  return std::move(result);
}

RankGroup ProgramReader::ranksOf(StringRef group) {
  if (auto op = symbols.lookup<fsdp::GroupOp>(group))
    return {static_cast<int64_t>(op.getStride()),
            static_cast<int64_t>(op.getSize())};
  auto module = program->getParentOfType<ModuleOp>();
  return {1, (*module.getOps<fsdp::MeshOp>().begin()).getRanks()};
}

CollectiveTime ProgramReader::timeOf(const step::Communication &what) {
  auto bytes = static_cast<double>(what.bytes);
  switch (what.primitive) {
  case Primitive::allGather:
    return costs.allGather(bytes, ranksOf(what.group));
  case Primitive::reduceScatter:
    return costs.reduceScatter(bytes, ranksOf(what.group));
  case Primitive::allReduce:
    return costs.allReduce(bytes, ranksOf(what.group));
  case Primitive::allToAll:
    return costs.allToAll(bytes, ranksOf(what.group));
  case Primitive::transfer: {
    // It has no link in common with collectives.
    CollectiveTime takes;
    takes.latency = costs.cluster.hostSeconds(what.bytes);
    return takes;
  }
  }
  llvm_unreachable("unknown primitive");
}

size_t ProgramReader::streamOf(const step::Communication &what) {
  std::string name = what.queue.str();
  if (what.primitive != Primitive::transfer)
    name += " over " + (what.group.empty() ? "world" : what.group.str());
  else if (!costs.cluster.hostIsDuplex)
    name = "transfers";
  auto [place, isNew] = streams.try_emplace(name, result.streams.size());
  if (isNew)
    result.streams.push_back(name);
  return place->second;
}

/// All that is exchanged and moved before is read and written once.
double ProgramReader::secondsBefore(const step::Communication &what) {
  if (what.exchangedBefore == 0)
    return 0;
  return costs
             .allToAll(static_cast<double>(what.exchangedBefore),
                       ranksOf(what.group))
             .total() +
         2 * static_cast<double>(what.movedBefore) /
             costs.cluster.memoryBandwidth;
}

void ProgramReader::addCollective(Operation *start,
                                  const step::Communication &what) {
  CollectiveTime takes = timeOf(what);
  result.collectives.push_back(
      {streamOf(what), takes.latency, takes.between,
       takes.transfer - takes.between,
       /*takesProcessors=*/what.primitive != Primitive::transfer});
  result.starts.push_back(start);
}

ProgramReader::Traffic ProgramReader::trafficOf(Operation *entry) {
  Traffic traffic;
  auto effects = dyn_cast<MemoryEffectOpInterface>(entry);
  SmallVector<MemoryEffects::EffectInstance> instances;
  if (effects)
    effects.getEffects(instances);
  for (const MemoryEffects::EffectInstance &effect : instances) {
    auto *operand = effect.getEffectValue<OpOperand *>();
    if (!operand)
      continue;
    Value value = operand->get();
    // Scratch memory is read and written in caches.
    auto view = value.getDefiningOp<step::ViewOp>();
    auto buffer =
        (view ? view.getBuffer() : value).getDefiningOp<step::BufferOp>();
    if (!buffer || buffer.getKind() == step::Kind::workspace)
      continue;
    double bytes =
        view ? sizeOf(value) : static_cast<double>(buffer.getBytes());
    (isa<MemoryEffects::Write>(effect.getEffect()) ? traffic.written
                                                   : traffic.read) += bytes;
  }
  return traffic;
}

/// Master weights and state are read and written, parameters written.
double ProgramReader::bytesOfState(StringRef unit) {
  step::StorageOp storage = storageOf.lookup(unit);
  if (!storage)
    return 0;
  auto bytesOf = [](Value buffer) {
    return static_cast<double>(
        buffer.getDefiningOp<step::BufferOp>().getBytes());
  };
  double bytes = bytesOf(storage.getParameters());
  for (Value buffer : {storage.getMaster(), storage.getRemainder()})
    if (buffer)
      bytes += 2 * bytesOf(buffer);
  for (Value buffer : storage.getStates())
    bytes += 2 * bytesOf(buffer);
  return bytes;
}

double ProgramReader::secondsOf(Operation *entry) {
  auto ranks = entry->getAttrOfType<DenseI64ArrayAttr>(step::ranksAttr);
  if (ranks && !llvm::is_contained(ranks.asArrayRef(), 0))
    return 0;
  Traffic traffic = trafficOf(entry);
  double bandwidth = costs.cluster.memoryBandwidth;
  if (auto flops = entry->getAttrOfType<IntegerAttr>(step::flopsAttr)) {
    int64_t elementBytes = 2;
    for (Value operand : entry->getOperands())
      if (auto type = dyn_cast<MemRefType>(operand.getType());
          type && isa<FloatType>(type.getElementType())) {
        elementBytes =
            std::max<int64_t>(2, nn::elementBytes(type.getElementType()));
        break;
      }
    auto operations = static_cast<double>(flops.getInt());
    bool isAttention = isa<step::AttentionOp, step::AttentionGradOp>(entry);
    return std::max((traffic.read + traffic.written) / bandwidth,
                    isAttention && elementBytes == 2
                        ? operations / costs.cluster.attention16
                        : costs.compute(operations, elementBytes));
  }
  if (auto optimizer = dyn_cast<step::OptimizerStepOp>(entry)) {
    // What is staged is counted with the state.
    double read = sizeOf(optimizer.getGradient());
    if (optimizer.getNorm())
      read += sizeOf(optimizer.getNorm());
    if (optimizer.getDirection())
      read += sizeOf(optimizer.getDirection());
    auto unit = symbols.lookup<fsdp::UnitOp>(optimizer.getUnit());
    int64_t slice =
        unit.getElements() / std::max<int64_t>(1, unit.getOptimizerShards());
    double part = static_cast<double>(
                      step::View::of(optimizer.getGradient()).elements()) /
                  static_cast<double>(std::max<int64_t>(1, slice));
    return (read + part * bytesOfState(optimizer.getUnit())) / bandwidth;
  }
  if (auto direction = dyn_cast<step::MatrixDirectionOp>(entry))
    return (traffic.read + traffic.written +
            bytesOfState(direction.getUnit())) /
           bandwidth;
  // Of a table or a gathered unit they read as much as they write.
  if (isa<step::EmbeddingOp, step::KeepOp, step::IndexCallOp>(entry))
    traffic.read = std::min(traffic.read, traffic.written);
  return (traffic.read + traffic.written) / bandwidth;
}

} // namespace

TimedProgram readProgram(step::ProgramOp program, const CostModel &costs) {
  return ProgramReader(program, costs).read();
}

} // namespace shardc::timeline
