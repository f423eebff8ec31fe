// Which units can leave, and transfers before their gathers.
#include "codegen/offload/ParameterStaging.h"

#include "passes/fsdp/FSDP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace shardc::offload {

/// Of a plan, by unit: whether its slices may lie in the pool host.
static llvm::MapVector<StringRef, bool> candidatesOf(step::PlanOp plan) {
  SymbolTable symbols(plan->getParentOfType<ModuleOp>());
  llvm::MapVector<StringRef, bool> candidates;
  llvm::StringMap<step::StorageOp> storageOf;
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
    storageOf[storage.getUnit()] = storage;
  for (auto program : plan.getBody().front().getOps<step::ProgramOp>()) {
    for (auto start :
         program.getBody().front().getOps<step::AllGatherStartOp>())
      candidates.insert({start.getUnit(), true});
    // Others bring a part of what the rank holds; matrices are updated whole.
    for (auto start :
         program.getBody().front().getOps<step::AllGatherUpdatesStartOp>())
      candidates[start.getUnit()] = false;
    for (auto step : program.getBody().front().getOps<step::OptimizerStepOp>())
      if (step.getDirection())
        candidates[step.getUnit()] = false;
  }
  for (auto &[name, mayLeave] : candidates) {
    auto unit = symbols.lookup<fsdp::UnitOp>(name);
    step::StorageOp storage = storageOf.lookup(name);
    mayLeave &= unit && storage && unit.getShards() > 1 &&
                !storage.getRemainder() &&
                (unit.getOptimizerShards() == 0 ||
                 unit.getOptimizerShards() == unit.getShards());
  }
  return candidates;
}

LogicalResult offloadParameters(step::PlanOp plan, int64_t mostBytes) {
  llvm::MapVector<StringRef, bool> candidates = candidatesOf(plan);
  if (llvm::none_of(candidates, [](auto &each) { return each.second; }))
    return plan->getParentOfType<ModuleOp>().emitError()
           << "--offload parameters: no rank has a slice of a unit that it "
              "updates alone and that is gathered where it is used; give a "
              "mesh "
              "of several ranks, --strategy full, --master float32, and an "
              "optimizer other than muon";
  llvm::StringMap<step::BufferOp> bufferOf;
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
    bufferOf[storage.getUnit()] =
        storage.getParameters().getDefiningOp<step::BufferOp>();
  for (auto &[name, mayLeave] : candidates) {
    step::BufferOp buffer = bufferOf.lookup(name);
    if (!mayLeave || static_cast<int64_t>(buffer.getBytes()) > mostBytes)
      continue;
    mostBytes -= static_cast<int64_t>(buffer.getBytes());
    buffer.setKind(step::Kind::state);
  }
  return success();
}

namespace {
/// A slice on its way: what its insertions hand to each other.
struct Coming {
  step::AllGatherStartOp gather;
  Value buffer, token, staged;
  MemRefType type;
};
} // namespace

void stageParameters(step::PlanOp plan, step::ProgramOp program,
                     const Cluster &cluster) {
  SymbolTable symbols(plan->getParentOfType<ModuleOp>());
  llvm::StringMap<Value> leftOf; // buffers, by unit
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>()) {
    if (isOnHost(storage.getParameters()))
      leftOf[storage.getUnit()] = storage.getParameters();
  }
  SmallVector<step::AllGatherStartOp> gathers;
  for (auto start : program.getBody().front().getOps<step::AllGatherStartOp>())
    if (!start.getKept() && leftOf.contains(start.getUnit()))
      gathers.push_back(start);
  if (gathers.empty())
    return;
  TimedEntries entries(program, cluster);
  HostLink link(cluster);
  entries.takeTransfers(link);
  Insertions insertions(entries);
  for (size_t index = gathers.size(); index-- > 0;) {
    step::AllGatherStartOp gather = gathers[index];
    auto unit = symbols.lookup<fsdp::UnitOp>(gather.getUnit());
    auto coming = std::make_shared<Coming>();
    coming->gather = gather;
    coming->buffer = leftOf.lookup(gather.getUnit());
    int64_t elements =
        static_cast<int64_t>(unit.getElements() / unit.getShards());
    coming->type = MemRefType::get({elements}, unit.getElementType());
    size_t place = entries.placeOf(gather);
    auto buffer = coming->buffer.getDefiningOp<step::BufferOp>();
    auto bytes = static_cast<int64_t>(buffer.getBytes());
    double time = entries.timeAt(place);
    // Where the link is never free, it follows the one before.
    size_t from = index > 0 ? entries.placeOf(gathers[index - 1]) : 0;
    double begin = entries.timeAt(from);
    if (auto span = link.last(HostLink::FromHost, 0, time, bytes)) {
      link.take(HostLink::FromHost, *span);
      begin = span->begin;
      from = std::min(place, entries.lastUntil(begin));
    }
    insertions.add(from, begin, [coming, bytes](OpBuilder &builder) {
      auto from = coming->buffer.getDefiningOp<step::BufferOp>();
      Value staged =
          step::BufferOp::create(builder, from.getLoc(), step::Kind::staging,
                                 bytes, ("staged." + from.getName()).str());
      auto view = [&](Value of) {
        return step::ViewOp::create(builder, from.getLoc(), coming->type, of,
                                    uint64_t(0));
      };
      coming->staged = view(staged);
      coming->token = startTransfer(builder, coming->gather,
                                    view(coming->buffer), coming->staged);
    });
    insertions.add(place, time, [coming](OpBuilder &builder) {
      waitFor(builder, coming->gather, coming->token);
      coming->gather.getKeptMutable().assign(coming->staged);
    });
  }
  insertions.apply(program);
}

} // namespace shardc::offload
