// Reads a report from the sharded step.
#include "passes/report/Report.h"

#include "frontend/nn/support/ElementBytes.h"
#include "passes/fsdp/FSDP.h"
#include "runtime/base/SplitMaster.h"
#include "runtime/device/Optimizers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace shardc;

static std::string dtypeName(Type type) {
  if (type.isBF16())
    return "bfloat16";
  return ("float" + Twine(type.getIntOrFloatBitWidth())).str();
}

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * nn::elementBytes(tensor.getElementType());
}

namespace {
/// Reads the collectives of @train, in order.
class CollectiveCollector {
public:
  CollectiveCollector(SymbolTable &symbols, CompileReport &report)
      : symbols(symbols), report(report) {}

  void collect(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](fsdp::AllGatherStartOp start) {
          auto unit = symbols.lookup<fsdp::UnitOp>(start.getUnit());
          add("all_gather", start.getPhase(), start.getUnit(),
              unit.getFlatType(), start.getGroup());
          report.collectives.back().first = start.getFirst();
        })
        .Case([&](fsdp::AllGatherUpdatesStartOp start) {
          auto unit = symbols.lookup<fsdp::UnitOp>(start.getUnit());
          int64_t shards = unit.getShards();
          add("all_gather", fsdp::PhaseKind::optimizer, start.getUnit(),
              unit.getFlatType(shards), start.getGroup());
        })
        .Case([&](fsdp::ReduceScatterStartOp start) {
          add("reduce_scatter", fsdp::PhaseKind::backward, start.getUnit(),
              start.getFlat().getType(), start.getGroup(), start.getLast());
        })
        .Case([&](fsdp::AllReduceGradientsStartOp start) {
          add("all_reduce", fsdp::PhaseKind::backward, start.getUnit(),
              start.getFlat().getType(), start.getGroup(), start.getLast());
        })
        .Case([&](fsdp::GatherRowsStartOp start) {
          auto wait = *start.getToken().user_begin();
          add("gather_rows", fsdp::PhaseKind::forward, start.getUnit(),
              wait->getResult(0).getType(), start.getGroup());
        })
        .Case([&](fsdp::ReduceRowsStartOp start) {
          add("reduce_rows", fsdp::PhaseKind::backward, start.getUnit(),
              start.getGradient().getType(), start.getGroup());
        })
        .Case([&](fsdp::GatherMatricesStartOp start) {
          addMatrices("gather_matrices", start.getSlices());
        })
        .Case([&](fsdp::ScatterMatricesStartOp start) {
          addMatrices("scatter_matrices", start.getSlices());
        })
        .Case([&](fsdp::AllReduceStartOp start) {
          add("all_reduce", start.getPhase(), "",
              start.getValues().getTypes()[0], start.getGroup());
          report.collectives.back().bytes = 0;
          for (Type type : start.getValues().getTypes())
            report.collectives.back().bytes += bytesOf(type);
        });
  }

private:
  void add(StringRef kind, fsdp::PhaseKind phase, StringRef unit, Type type,
           StringRef group, bool last = false) {
    auto groupOp = symbols.lookup<fsdp::GroupOp>(group);
    report.collectives.push_back(
        {kind.str(), stringifyPhaseKind(phase).str(), unit.str(),
         dtypeName(getElementTypeOrSelf(type)), bytesOf(type), group.str(),
         groupOp ? int64_t(groupOp.getSize()) : 1,
         last || phase == fsdp::PhaseKind::optimizer});
  }

  /// All ranks' parts of the slices; nothing travels on a mesh of one rank.
  void addMatrices(StringRef kind, ValueRange slices) {
    if (report.ranks == 1)
      return;
    int64_t bytes = 0;
    for (Value slice : slices)
      bytes += bytesOf(slice.getType()) * report.optimizerShards;
    report.collectives.push_back(
        {kind.str(), "optimizer", "",
         dtypeName(getElementTypeOrSelf(slices[0].getType())), bytes, "world",
         report.ranks, /*last=*/true});
  }

  SymbolTable &symbols;
  CompileReport &report;
};
} // namespace

static int64_t stateTensors(StringRef name) {
  const Optimizer *optimizer = findOptimizer(name);
  return optimizer ? optimizer->states().size() : 0;
}

static CompileReport::Unit describe(fsdp::UnitOp unit, StringRef optimizer,
                                    SymbolTable &symbols) {
  CompileReport::Unit entry;
  entry.name = unit.getSymName().str();
  for (auto name : unit.getParameters().getAsRange<FlatSymbolRefAttr>())
    entry.parameters.push_back(name.getValue().str());
  entry.elements = unit.getElements();
  entry.padding = unit.getPadding();
  entry.bytes = bytesOf(unit.getFlatType());
  entry.dtype = dtypeName(unit.getElementType());
  entry.gradientDtype = dtypeName(unit.getGradientType());
  entry.masterDtype = dtypeName(unit.getMasterType());
  entry.trained = unit.isTrained();
  entry.reshard = unit.getReshard();
  entry.stays = unit.getStays();
  entry.reason = unit.getReason().str();
  entry.parameterBytes = entry.bytes / static_cast<int64_t>(unit.getShards());
  if (!entry.trained)
    return entry;
  int64_t slices = unit.getOptimizerShards();
  int64_t master = bytesOf(
      RankedTensorType::get({entry.elements / slices}, unit.getMasterType()));
  entry.splitsMaster = unit.splitsMaster();
  if (entry.splitsMaster)
    entry.masterBytes = runtime::splitBytes(entry.elements / slices);
  else if (unit.getMasterType() != unit.getElementType())
    entry.masterBytes = master;
  int64_t states = stateTensors(optimizer);
  int64_t later =
      states > 1 ? fsdp::laterStateElements(unit, optimizer, symbols) : 0;
  entry.optimizerBytes =
      (states > 0 ? master : 0) +
      (states - 1) *
          bytesOf(RankedTensorType::get({later}, unit.getMasterType()));
  entry.gradientBytes = bytesOf(unit.getFlatGradientType(slices));
  return entry;
}

void shardc::collectSharding(ModuleOp module, CompileReport &report) {
  for (auto mesh : module.getOps<fsdp::MeshOp>()) {
    for (auto [name, size] : llvm::zip_equal(
             mesh.getNames().getAsRange<StringAttr>(), mesh.getDims()))
      report.mesh.push_back({name.str(), size});
    report.strategy = mesh.getStrategy().str();
    report.ranks = mesh.getRanks();
    report.shards = mesh.getShards();
    report.optimizerShards = mesh.getOptimizerShards();
    report.shardDims.assign(mesh.getShardDims().begin(),
                            mesh.getShardDims().end());
    report.optimizerDims.assign(mesh.getOptimizerDims().begin(),
                                mesh.getOptimizerDims().end());
  }
  if (auto loss = module->getAttrOfType<DictionaryAttr>("nn.loss")) {
    auto text = [&](StringRef name) {
      auto value = loss.getAs<StringAttr>(name);
      return value ? value.str() : std::string();
    };
    report.loss = {text("kind"), text("reduction"), text("labels")};
  }
  if (auto mode = module->getAttrOfType<StringAttr>("fsdp.accumulate"))
    report.accumulate = mode.str();
  SymbolTable symbols(module);
  auto train = symbols.lookup<func::FuncOp>("train");
  StringRef optimizer = "adamw";
  if (train)
    for (auto step : train.getOps<fsdp::OptimizerStepOp>()) {
      optimizer = step.getKind();
      report.update = step.getNorm() ? "step" : "backward";
    }
  for (auto unit : module.getOps<fsdp::UnitOp>())
    report.units.push_back(describe(unit, optimizer, symbols));
  if (!train)
    return;
  CollectiveCollector collector(symbols, report);
  train.walk([&](Operation *op) { collector.collect(op); });
}

std::string CompileReport::meshText() const {
  return llvm::join(llvm::map_range(mesh,
                                    [](const CompileReport::Dim &dim) {
                                      return std::to_string(dim.size);
                                    }),
                    "x");
}
