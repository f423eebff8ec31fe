// Reads a report from the sharded step.
#include "passes/report/Report.h"

#include "frontend/nn/support/ElementBytes.h"
#include "passes/fsdp/FSDP.h"
#include "runtime/base/SplitMaster.h"
#include "runtime/device/Optimizers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace shardc;

static std::string dtypeName(Type type) {
  if (type.isBF16())
    return "bfloat16";
  return ("float" + Twine(type.getIntOrFloatBitWidth())).str();
}

/// Reads the collectives of @train, in order.
static void collectCollectives(func::FuncOp train, SymbolTable &symbols,
                               CompileReport &report) {
  train.walk([&](fsdp::CollectiveStart start) {
    fsdp::Communication what = start.getCommunication(symbols);
    if (what.group.empty() && report.ranks == 1) // nothing travels
      return;
    auto group = symbols.lookup<fsdp::GroupOp>(what.group);
    report.collectives.push_back(
        {what.kind.str(), stringifyPhaseKind(what.phase).str(), what.unit.str(),
         dtypeName(what.elementType), what.bytes,
         group ? what.group.str() : "world",
         group ? static_cast<int64_t>(group.getSize()) : report.ranks,
         what.last || what.phase == fsdp::PhaseKind::optimizer, what.first});
  });
}

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
  entry.bytes = nn::bytesOf(unit.getFlatType());
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
  int64_t master = nn::bytesOf(
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
          nn::bytesOf(RankedTensorType::get({later}, unit.getMasterType()));
  entry.gradientBytes = nn::bytesOf(unit.getFlatGradientType(slices));
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
  if (auto loss = module->getAttrOfType<DictionaryAttr>(nn::lossAttr)) {
    auto text = [&](StringRef name) {
      auto value = loss.getAs<StringAttr>(name);
      return value ? value.str() : std::string();
    };
    report.loss = {text("kind"), text("reduction"), text("labels"),
                   loss.contains("class_weights")};
  }
  if (auto mode = module->getAttrOfType<StringAttr>(fsdp::accumulateAttr))
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
  collectCollectives(train, symbols, report);
}

std::string CompileReport::meshText() const {
  return llvm::join(llvm::map_range(mesh,
                                    [](const CompileReport::Dim &dim) {
                                      return std::to_string(dim.size);
                                    }),
                    "x");
}
