// Bytes and operations of entries, and the time that they take.
#include "codegen/timeline/ReadProgram.h"

#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
#include "passes/fsdp/RowSizes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace shardc::timeline {

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

  bool addStart(Operation *entry);
  void addCollective(Operation *entry, StringRef kind, StringRef group,
                     CollectiveTime (CostModel::*time)(double, RankGroup) const,
                     double bytes);
  void addCollective(Operation *entry, size_t stream, CollectiveTime takes);
  size_t streamOf(StringRef kind, StringRef group);
  size_t streamNamed(const std::string &name);
  Traffic trafficOf(Operation *entry);
  double secondsOf(Operation *entry);
  /// What the start of a collective takes before that begins.
  double secondsBefore(Operation *entry);
  /// Of the start of one that brings rows of a table, or reduces them.
  template <typename Start> RowExchange rowsOf(Start start, Value rows);
  CollectiveTime exchangeTime(double bytes, StringRef group);
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
    } else if (addStart(&entry)) {
      step.kind = Step::Start;
      step.seconds = secondsBefore(&entry);
      step.collective = result.collectives.size() - 1;
      collectiveOf[&entry] = step.collective;
    } else {
      step.seconds = secondsOf(&entry);
    }
    result.steps.push_back(step);
    result.entries.push_back(&entry);
  }
  result.slowdown = costs.cluster.collectiveSlowdown;
  return std::move(result);
}

bool ProgramReader::addStart(Operation *entry) {
  return llvm::TypeSwitch<Operation *, bool>(entry)
      .Case([&](step::AllGatherStartOp start) {
        auto buffer = start.getGathered().getDefiningOp<step::BufferOp>();
        addCollective(entry, "gather", start.getGroup(), &CostModel::allGather,
                      static_cast<double>(buffer.getBytes()));
        return true;
      })
      .Case([&](step::AllGatherUpdatesStartOp start) {
        auto unit = symbols.lookup<fsdp::UnitOp>(start.getUnit());
        addCollective(
            entry, "gather", start.getGroup(), &CostModel::allGather,
            static_cast<double>(unit.getElements() / unit.getShards() *
                                nn::elementBytes(unit.getElementType())));
        return true;
      })
      .Case([&](step::ReduceScatterStartOp start) {
        addCollective(entry, "reduce", start.getGroup(),
                      &CostModel::reduceScatter, sizeOf(start.getFlat()));
        return true;
      })
      .Case([&](step::AllReduceStartOp start) {
        double bytes = 0;
        for (Value value : start.getValues())
          bytes += sizeOf(value);
        addCollective(entry, "reduce", start.getGroup(), &CostModel::allReduce,
                      bytes);
        return true;
      })
      .Case([&](step::GatherRowsStartOp start) {
        auto bytes =
            static_cast<double>(rowsOf(start, start.getRows()).rowsBytes());
        addCollective(entry, streamOf("reduce", start.getGroup()),
                      exchangeTime(bytes, start.getGroup()));
        return true;
      })
      .Case([&](step::ReduceRowsStartOp start) {
        auto bytes =
            static_cast<double>(rowsOf(start, start.getGradient()).sumsBytes());
        addCollective(entry, streamOf("reduce", start.getGroup()),
                      exchangeTime(bytes, start.getGroup()));
        return true;
      })
      .Case<step::GatherMatricesStartOp, step::ScatterMatricesStartOp>(
          [&](auto start) {
            double bytes = 0;
            for (Value matrix : start.getMatrices())
              bytes += sizeOf(matrix);
            auto mesh = *program->getParentOfType<ModuleOp>()
                             .getOps<fsdp::MeshOp>()
                             .begin();
            addCollective(entry, streamOf("all-to-all", "world"),
                          costs.allToAll(bytes, {1, mesh.getRanks()}));
            return true;
          })
      .Case([&](step::TransferStartOp start) {
        // It has no link in common with collectives.
        CollectiveTime takes;
        takes.latency = costs.cluster.hostSeconds(
            static_cast<int64_t>(sizeOf(start.getSource())));
        bool isFromHost =
            step::poolOf(step::View::of(start.getSource())
                             .buffer.getDefiningOp<step::BufferOp>()
                             .getKind()) == step::Pool::host;
        addCollective(entry,
                      streamNamed(!costs.cluster.hostIsDuplex ? "transfers"
                                  : isFromHost ? "transfers from the host"
                                               : "transfers to the host"),
                      takes);
        return true;
      })
      .Default([](Operation *other) {
        // Who adds a collective adds its time.
        if (llvm::is_contained(other->getResultTypes(),
                               step::TokenType::get(other->getContext())))
          llvm::reportFatalInternalError("no time of " +
                                         other->getName().getStringRef());
        return false;
      });
}

template <typename Start>
RowExchange ProgramReader::rowsOf(Start start, Value rows) {
  step::View of = step::View::of(rows), ids = step::View::of(start.getIds());
  return fsdp::rowExchange(symbols.lookup<fsdp::UnitOp>(start.getUnit()),
                           of.shape.back(), ids.elements(), ids.elementType,
                           of.elementType);
}

CollectiveTime ProgramReader::exchangeTime(double bytes, StringRef group) {
  auto op = symbols.lookup<fsdp::GroupOp>(group);
  return costs.allToAll(bytes, {static_cast<int64_t>(op.getStride()),
                                static_cast<int64_t>(op.getSize())});
}

/// The first exchange, what is put in order for it, and what is looked up, or
/// added up, with what comes: all of it is read and written once.
double ProgramReader::secondsBefore(Operation *entry) {
  auto seconds = [&](int64_t exchanged, int64_t moved, StringRef group) {
    return exchangeTime(static_cast<double>(exchanged), group).total() +
           2 * static_cast<double>(moved) / costs.cluster.memoryBandwidth;
  };
  if (auto start = dyn_cast<step::GatherRowsStartOp>(entry)) {
    RowExchange sizes = rowsOf(start, start.getRows());
    return seconds(sizes.idsBytes() + sizes.sliceBytes(),
                   sizes.sliceBytes() + 2 * sizes.rowsBytes(),
                   start.getGroup());
  }
  if (auto start = dyn_cast<step::ReduceRowsStartOp>(entry)) {
    RowExchange sizes = rowsOf(start, start.getGradient());
    return seconds(sizes.idsBytes() + sizes.rowsBytes(),
                   2 * sizes.rowsBytes() + 2 * sizes.sumsBytes(),
                   start.getGroup());
  }
  return 0;
}

void ProgramReader::addCollective(
    Operation *entry, StringRef kind, StringRef group,
    CollectiveTime (CostModel::*time)(double, RankGroup) const, double bytes) {
  auto op = symbols.lookup<fsdp::GroupOp>(group);
  addCollective(entry, streamOf(kind, group),
                (costs.*time)(bytes, {static_cast<int64_t>(op.getStride()),
                                      static_cast<int64_t>(op.getSize())}));
}

void ProgramReader::addCollective(Operation *entry, size_t stream,
                                  CollectiveTime takes) {
  result.collectives.push_back(
      {stream, takes.latency, takes.between, takes.transfer - takes.between,
       /*takesProcessors=*/!isa<step::TransferStartOp>(entry)});
  result.starts.push_back(entry);
}

size_t ProgramReader::streamOf(StringRef kind, StringRef group) {
  return streamNamed((kind + " over " + group).str());
}

size_t ProgramReader::streamNamed(const std::string &name) {
  auto [place, isNew] = streams.try_emplace(name, result.streams.size());
  if (isNew)
    result.streams.push_back(name);
  return place->second;
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
  auto ranks = entry->getAttrOfType<DenseI64ArrayAttr>("step.ranks");
  if (ranks && !llvm::is_contained(ranks.asArrayRef(), 0))
    return 0;
  Traffic traffic = trafficOf(entry);
  double bandwidth = costs.cluster.memoryBandwidth;
  if (auto flops = entry->getAttrOfType<IntegerAttr>("step.flops")) {
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
