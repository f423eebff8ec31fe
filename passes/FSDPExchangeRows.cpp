// fsdp-exchange-rows: of a table of embeddings the rows that are looked up
// travel, where they are fewer bytes than the table.
#include "passes/Passes.h"

#include "frontend/nn/NN.h"
#include "frontend/nn/support/ElementBytes.h"
#include "passes/analyses/CostModel.h"
#include "passes/fsdp/RowSizes.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FSDPEXCHANGEROWS
#include "passes/Passes.h.inc"

namespace {

/// A gather of a table for ops that look rows up in it.
struct Lookups {
  fsdp::AllGatherStartOp start;
  fsdp::AllGatherWaitOp wait;
  fsdp::ReleaseOp release;
  SmallVector<nn::EmbeddingOp> ops;
};

/// The reduction of the gradient of such a table.
struct Gradient {
  nn::EmbeddingGradOp made;
  fsdp::FlatGradientsOp flat;
  fsdp::ReduceScatterStartOp start;
};

/// What a unit of one table does in the step's functions.
struct Table {
  fsdp::UnitOp unit;
  SmallVector<Lookups> lookups;
  std::optional<Gradient> gradient;
  double rowBytes = 0, tableBytes = 0; // in a step
};

class RowExchanger {
public:
  explicit RowExchanger(ModuleOp module) : module(module) {}

  /// Nothing where rows cannot stand for the unit: it is something else than
  /// a table at the beginning of slices of whole rows that the ranks divide, or
  /// is read otherwise.
  std::optional<Table> tableOf(fsdp::UnitOp unit);
  void exchange(Table &table);

private:
  /// The lookups of a function; false where something else reads the unit.
  bool collect(func::FuncOp function, Table &table);
  std::optional<Gradient> gradientOf(func::FuncOp function, fsdp::UnitOp unit);
  void count(func::FuncOp function, Table &table);

  RankedTensorType typeOf(fsdp::UnitOp unit) {
    SmallVector<Type> types = unit.getParameterTypes(symbols);
    return types.size() == 1 ? dyn_cast<RankedTensorType>(types[0])
                             : RankedTensorType();
  }

  ModuleOp module;
  SymbolTableCollection symbols;
};

std::optional<Table> RowExchanger::tableOf(fsdp::UnitOp unit) {
  RankedTensorType type = typeOf(unit);
  auto shards = static_cast<int64_t>(unit.getShards());
  if (!type || type.getRank() != 2 || shards == 1 || unit.getOffsets()[0] != 0)
    return std::nullopt;
  int64_t width = type.getDimSize(1);
  if (width == 0 || width % shards != 0 ||
      static_cast<int64_t>(unit.getElements()) % (shards * width) != 0)
    return std::nullopt;
  Table table{unit, {}, {}};
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !collect(function, table))
      return std::nullopt;
  auto train = module.lookupSymbol<func::FuncOp>("train");
  if (table.lookups.empty() || !train)
    return std::nullopt;
  if (unit.isTrained()) {
    table.gradient = gradientOf(train, unit);
    if (!table.gradient || table.gradient->start.getGroupAttr() !=
                               table.lookups[0].start.getGroupAttr())
      return std::nullopt;
  }
  count(train, table);
  return table;
}

bool RowExchanger::collect(func::FuncOp function, Table &table) {
  for (auto start : function.getOps<fsdp::AllGatherStartOp>()) {
    if (start.getUnitAttr().getAttr() != table.unit.getSymNameAttr())
      continue;
    if (start.getFirst()) // it is to stay
      return false;
    Lookups &lookups = table.lookups.emplace_back();
    lookups.start = start;
    lookups.wait = cast<fsdp::AllGatherWaitOp>(*start.getToken().user_begin());
    for (OpOperand &use : lookups.wait.getParameters()[0].getUses()) {
      if (auto release = dyn_cast<fsdp::ReleaseOp>(use.getOwner()))
        lookups.release = release;
      else if (auto lookup = dyn_cast<nn::EmbeddingOp>(use.getOwner()))
        lookups.ops.push_back(lookup);
      else
        return false;
    }
  }
  return true;
}

std::optional<Gradient> RowExchanger::gradientOf(func::FuncOp function,
                                                 fsdp::UnitOp unit) {
  for (auto flat : function.getOps<fsdp::FlatGradientsOp>()) {
    if (flat.getUnitAttr().getAttr() != unit.getSymNameAttr())
      continue;
    auto made = flat.getGradients()[0].getDefiningOp<nn::EmbeddingGradOp>();
    if (!made || made.getBase() || !made->hasOneUse() || !flat->hasOneUse())
      return std::nullopt;
    auto start = dyn_cast<fsdp::ReduceScatterStartOp>(*flat->user_begin());
    auto type = cast<RankedTensorType>(made.getGradient().getType());
    // What is rounded before it is added over ranks goes as it is.
    if (!start || !start.getAccumulated() ||
        fsdp::getSumType(type.getElementType()) != unit.getGradientType())
      return std::nullopt;
    return Gradient{made, flat, start};
  }
  return std::nullopt;
}

void RowExchanger::count(func::FuncOp function, Table &table) {
  int64_t width = typeOf(table.unit).getDimSize(1);
  auto sizesOf = [&](Value ids, Type elementType) {
    auto type = cast<RankedTensorType>(ids.getType());
    return fsdp::rowExchange(table.unit, width, type.getNumElements(),
                             type.getElementType(), elementType);
  };
  auto bytesOf = [&](Type type) {
    return static_cast<double>(table.unit.getElements()) *
           static_cast<double>(nn::elementBytes(type));
  };
  for (Lookups &lookups : table.lookups) {
    if (lookups.start->getParentOp() != function)
      continue;
    table.tableBytes += bytesOf(table.unit.getElementType());
    for (nn::EmbeddingOp op : lookups.ops)
      table.rowBytes += static_cast<double>(
          sizesOf(op.getIds(), table.unit.getElementType()).gatherBytes());
  }
  if (!table.gradient)
    return;
  nn::EmbeddingGradOp made = table.gradient->made;
  auto type = cast<RankedTensorType>(made.getGradient().getType());
  table.tableBytes += bytesOf(table.unit.getGradientType());
  table.rowBytes += static_cast<double>(
      sizesOf(made.getIds(), type.getElementType()).reduceBytes());
}

void RowExchanger::exchange(Table &table) {
  std::string reason = table.unit.getReason().str();
  table.unit.setReason((Twine(reason) + (reason.empty() ? "" : "; ") +
                        "its rows travel: " + bytesText(table.rowBytes) +
                        " in place of " + bytesText(table.tableBytes))
                           .str());
  OpBuilder builder(module.getContext());
  auto token = fsdp::TokenType::get(module.getContext());
  for (Lookups &lookups : table.lookups) {
    for (nn::EmbeddingOp op : lookups.ops) {
      builder.setInsertionPoint(op);
      auto start = fsdp::GatherRowsStartOp::create(
          builder, op.getLoc(), token, table.unit.getSymName(), op.getIds(),
          lookups.start.getGroup());
      auto wait = fsdp::GatherRowsWaitOp::create(
          builder, op.getLoc(), op.getResult().getType(), start.getToken());
      op.getResult().replaceAllUsesWith(wait.getRows());
      op.erase();
    }
    if (lookups.release)
      lookups.release.erase();
    lookups.wait.erase();
    lookups.start.erase();
  }
  if (!table.gradient)
    return;
  auto &[made, flat, reduction] = *table.gradient;
  builder.setInsertionPoint(reduction);
  auto start = fsdp::ReduceRowsStartOp::create(
      builder, made.getLoc(), token, table.unit.getSymName(),
      made.getGradient(), made.getIds(), reduction.getGroup(),
      /*accumulated=*/true);
  reduction.getToken().replaceAllUsesWith(start.getToken());
  reduction.erase();
  flat.erase();
  made.erase();
}

struct FSDPExchangeRows : impl::FSDPExchangeRowsBase<FSDPExchangeRows> {
  using FSDPExchangeRowsBase::FSDPExchangeRowsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (embedding != "auto" && embedding != "table" && embedding != "rows") {
      module.emitError("embedding ")
          << embedding << ": there are auto, table and rows";
      return signalPassFailure();
    }
    if (embedding == "table")
      return markAllAnalysesPreserved();
    RowExchanger exchanger(module);
    bool any = false;
    for (auto unit : module.getOps<fsdp::UnitOp>())
      if (std::optional<Table> table = exchanger.tableOf(unit))
        if (embedding == "rows" ||
            RowExchange::isLess(table->rowBytes, table->tableBytes)) {
          exchanger.exchange(*table);
          any = true;
        }
    if (!any && embedding == "rows")
      module.emitWarning("no rows travel: there is no unit of one table that "
                         "only lookups read, in slices of whole rows on as "
                         "many ranks as divide a row, whose gradient is "
                         "reduced in every micro-batch as it is added");
  }
};

} // namespace
} // namespace shardc
