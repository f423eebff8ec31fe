// nn-sum-over-ranks: sums over a batch's samples that are used otherwise than
// by adding them up are those of all ranks.
#include "passes/Passes.h"
#include "passes/options/Mesh.h"

#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNSUMOVERRANKS
#include "passes/Passes.h.inc"

namespace {

struct NNSumOverRanks : impl::NNSumOverRanksBase<NNSumOverRanks> {
  using NNSumOverRanksBase::NNSumOverRanksBase;

  void runOnOperation() override;

private:
  static void warn(ArrayRef<Operation *> ops, StringRef text) {
    if (ops.empty())
      return;
    InFlightDiagnostic warning = ops.front()->emitWarning();
    warning << text;
    if (ops.size() > 1)
      warning << " (and " << ops.size() - 1 << " more such nodes)";
  }

  static double factorOf(DictionaryAttr marks) {
    return cast<FloatAttr>(marks.get("factor")).getValueAsDouble();
  }
  static bool isInteger(Value value) {
    return isa<IntegerType>(nn::elementTypeOf(value));
  }
  /// Integers that are divided are so behind their conversion.
  static bool isDividedLater(Operation *op, DictionaryAttr marks) {
    return isInteger(op->getResult(0)) && factorOf(marks) != 1;
  }
  /// Whether it is known what one process has, and is no integer that would be
  /// divided.
  static bool canSum(Operation *op, DictionaryAttr marks) {
    return factorOf(marks) != 0 &&
           (!isDividedLater(op, marks) ||
            llvm::all_of(op->getUsers(), [](Operation *user) {
              return isa<nn::CastOp>(user) && !isInteger(user->getResult(0));
            }));
  }

  static void sum(Operation *op, DictionaryAttr marks, int64_t ranks) {
    if (auto note = remark::passed(
            op->getLoc(),
            remark::RemarkOpts::name("sum").category("nn-sum-over-ranks")))
      note << "a sum over a batch's samples is that of all ranks";
    SmallVector<Operation *> summed{op};
    if (isDividedLater(op, marks))
      summed.assign(op->user_begin(), op->user_end());
    for (Operation *each : summed)
      replace(each, factorOf(marks), ranks,
              marks.contains("meets_samples") || isInteger(op->getResult(0)));
  }

  static void replace(Operation *op, double factor, int64_t ranks,
                      bool isSummedBack) {
    Value own = op->getResult(0);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    nn::Formula f(builder, op->getLoc());
    const Type element = nn::elementTypeOf(own);
    // Integers up to 2^53 are exact in float64.
    Value x =
        f.cast(own, isa<IntegerType>(element) ? builder.getF64Type()
                                              : nn::computeTypeOf(element));
    Value all = sumOf(x, factor, ranks, isSummedBack, f, builder);
    Operation *last = all.getDefiningOp();
    Value result = f.cast(all, element);
    own.replaceUsesWithIf(result, [&](OpOperand &operand) {
      return last->isBeforeInBlock(operand.getOwner()) &&
             operand.getOwner() != result.getDefiningOp();
    });
  }

  /// The sum of x over ranks, times the factor. What is computed from it without
  /// values of samples is computed by all ranks alike: the gradient that
  /// reaches it is known to be the same on each, and is not summed again.
  static Value sumOf(Value x, double factor, int64_t ranks, bool isSummedBack,
                     nn::Formula &f, OpBuilder &builder) {
    auto scaled = [&](Value value, double by) {
      return by == 1 ? value : f.scale(value, by);
    };
    auto sumOver = [&](Value value) {
      Value all = fsdp::RankSumOp::create(builder, value.getLoc(),
                                          value.getType(), value);
      return scaled(all, factor);
    };
    if (isSummedBack)
      return sumOver(x);
    Value alone = nn::StopGradientOp::create(builder, x.getLoc(), x.getType(),
                                             x, Value());
    return nn::StraightThroughOp::create(builder, x.getLoc(), x.getType(),
                                         sumOver(alone),
                                         scaled(x, factor * double(ranks)));
  }
};

} // namespace

void NNSumOverRanks::runOnOperation() {
  auto function = getOperation().lookupSymbol<func::FuncOp>("model");
  llvm::Expected<MeshShape> shape = parseMesh(mesh);
  if (!function || !shape) {
    emitError(getOperation().getLoc())
        << (shape ? "expects a function @model"
                  : llvm::toString(shape.takeError()));
    return signalPassFailure();
  }
  if (!llvm::is_contained({"global", "rank"}, sums) ||
      !llvm::is_contained({"sync", "rank"}, statistics)) {
    emitError(getOperation().getLoc())
        << "expects sums to be global or rank and statistics to be rank or "
           "sync, got "
        << sums << " and " << statistics;
    return signalPassFailure();
  }
  const int64_t ranks = shape->ranks();
  if (ranks == 1)
    return;
  SmallVector<Operation *> own, statisticsOfRanks, lost, mixing;
  auto take = [](Operation *op, StringRef mark) {
    return op->removeDiscardableAttr(mark);
  };
  if (take(function, nn::lostSumAttr))
    lost.push_back(function);
  if (take(function, nn::mixesSamplesAttr))
    mixing.push_back(function);
  SmallVector<std::pair<Operation *, DictionaryAttr>> wanted;
  for (Operation &op : function.front()) {
    if (take(&op, nn::mixesSamplesAttr))
      mixing.push_back(&op);
    auto marks = dyn_cast_or_null<DictionaryAttr>(take(&op, nn::sampleSumAttr));
    if (!marks)
      continue;
    const bool isStatistic = marks.contains("statistic");
    if (isStatistic ? statistics == "sync" : sums == "global")
      wanted.push_back({&op, marks});
    else
      (isStatistic ? statisticsOfRanks : own).push_back(&op);
  }
  // Half of a quotient is worse than none.
  const bool isKnown =
      lost.empty() && llvm::all_of(wanted, [](const auto &each) {
        return canSum(each.first, each.second);
      });
  for (auto [op, marks] : wanted)
    if (isKnown)
      sum(op, marks, ranks);
    else
      lost.push_back(op);
  warn(own, "the loss divides by sums over a batch's samples, or uses them "
            "otherwise than by adding them up: with --batch-sums rank they are "
            "those of a rank's own samples");
  warn(statisticsOfRanks,
       "the model uses sums over a batch's samples as batch norms use their "
       "statistics: they are those of a rank's own samples; --batch-norm "
       "sync takes those of all ranks");
  warn(lost, "the loss uses sums over a batch's samples otherwise than by "
             "adding them up, in ways that were not followed to all samples: "
             "they are those of a rank's own samples; with a symbolic batch "
             "of two or more on each rank they may be followed");
  warn(mixing,
       "samples of a batch are computed with each other, as where each is "
       "compared with the others: every rank has its own batch for that, and "
       "one process with all samples another loss");
}

} // namespace shardc
