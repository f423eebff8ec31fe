// nn-expand-batch-norms: norms by the batch's statistics become other ops, in
// evaluations by the running ones.
#include "passes/Passes.h"
#include "passes/TrainFunctions.h"
#include "passes/fsdp/FSDP.h"
#include "passes/options/Mesh.h"

#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include <map>
#include <tuple>

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNEXPANDBATCHNORMS
#include "passes/Passes.h.inc"

namespace {

using nn::Formula;

/// A norm's input or its gradient as rows of channels, in the type of the
/// arithmetic, written before an op.
class Rows {
public:
  /// `ranks`: whose rows are summed, 1 for the own ones alone.
  Rows(Operation *op, Value like, int64_t ranks)
      : builder(op), f(builder, op->getLoc()), ranks(ranks),
        shape(nn::shapeOf(like)), channels(shape.back()),
        count(nn::product(ArrayRef(shape).drop_back())),
        element(nn::computeTypeOf(nn::elementTypeOf(like))) {}

  Value of(Value value) {
    return f.cast(f.reshape(value, {count, channels}), element);
  }
  /// What is given per channel, in the type of the arithmetic.
  Value vector(Value value) {
    return f.cast(f.reshape(value, {1, channels}), element);
  }
  Value each(Value vector, Value rows) { return f.broadcast(vector, rows); }
  Value sum(Value rows) { return f.reduceSum(rows, {0}); }
  /// Sums over all samples that count, divided by how many these are.
  Value mean(Value rows) { return meanOfSum(sum(rows)); }
  Value meanOfSum(Value sum) {
    Value mean = f.scale(sum, 1 / double(count));
    if (ranks == 1)
      return mean;
    Value all =
        fsdp::RankSumOp::create(builder, mean.getLoc(), mean.getType(), mean);
    return f.scale(all, 1 / double(ranks));
  }
  /// Back to what the op's result has to be.
  Value as(Value value, Value result) {
    return f.reshape(f.cast(value, nn::elementTypeOf(result)),
                     nn::shapeOf(result));
  }
  Value rstd(Value variance, const APFloat &epsilon) {
    Value shifted =
        f.add(variance, f.constant(variance, epsilon.convertToDouble()));
    return f.div(f.constant(shifted, 1), f.sqrt(shifted));
  }
  Formula &formula() { return f; }

private:
  OpBuilder builder;
  Formula f;
  int64_t ranks;
  SmallVector<int64_t> shape;
  int64_t channels, count;
  Type element;
};

void replace(Operation *op, ArrayRef<Value> values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    result.replaceAllUsesWith(value);
  op->erase();
}

void expandNorm(nn::BatchNormOp op, bool isByBatch, int64_t ranks) {
  Rows rows(op, op.getInput(), ranks);
  Formula &f = rows.formula();
  Value x = rows.of(op.getInput());
  Value mean = isByBatch ? rows.mean(x) : rows.vector(op.getRunningMean());
  Value centred = f.sub(x, rows.each(mean, x));
  Value variance = isByBatch ? rows.mean(f.mul(centred, centred))
                             : rows.vector(op.getRunningVar());
  Value factor =
      f.mul(rows.vector(op.getGamma()), rows.rstd(variance, op.getEpsilon()));
  Value y = f.add(f.mul(centred, rows.each(factor, x)),
                  rows.each(rows.vector(op.getBeta()), x));
  replace(op, {rows.as(y, op.getResult()), rows.as(mean, op.getMean()),
               rows.as(variance, op.getVariance())});
}

void expandGradient(nn::BatchNormGradOp op, int64_t ranks) {
  Rows rows(op, op.getInput(), ranks);
  Formula &f = rows.formula();
  Value x = rows.of(op.getInput()), dy = rows.of(op.getGradient());
  Value rstd = rows.rstd(rows.vector(op.getVariance()), op.getEpsilon());
  Value xhat = f.mul(f.sub(x, rows.each(rows.vector(op.getMean()), x)),
                     rows.each(rstd, x));
  Value dbeta = rows.sum(dy), dgamma = rows.sum(f.mul(dy, xhat));
  Value common = f.add(rows.each(rows.meanOfSum(dbeta), x),
                       f.mul(xhat, rows.each(rows.meanOfSum(dgamma), x)));
  Value factor = f.mul(rows.vector(op.getGamma()), rstd);
  Value dx = f.mul(f.sub(dy, common), rows.each(factor, x));
  replace(op,
          {rows.as(dx, op.getResult()), rows.as(dgamma, op.getGammaGradient()),
           rows.as(dbeta, op.getBetaGradient())});
}

/// The parameter that a running statistic is read from.
StringAttr statisticOf(Value running) {
  Operation *op = running.getDefiningOp();
  while (op && !isa<nn::GetParameterOp>(op))
    op =
        op->getNumOperands() == 1 ? op->getOperand(0).getDefiningOp() : nullptr;
  return op ? cast<nn::GetParameterOp>(op).getParameterAttr().getAttr()
            : StringAttr();
}

/// What decides how much a micro-batch adds to a statistic.
struct Share {
  double momentum;
  int64_t call, calls;
  auto tied() const { return std::tie(momentum, call, calls); }
  bool operator<(const Share &other) const { return tied() < other.tied(); }
};

struct NNExpandBatchNorms : impl::NNExpandBatchNormsBase<NNExpandBatchNorms> {
  using NNExpandBatchNormsBase::NNExpandBatchNormsBase;

  void runOnOperation() override {
    FailureOr<TrainFunctions> functions = trainFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    auto [train, eval] = *functions;
    llvm::Expected<MeshShape> shape = parseMesh(mesh);
    if (!shape) {
      emitError(getOperation().getLoc()) << llvm::toString(shape.takeError());
      return signalPassFailure();
    }
    if (statistics != "rank" && statistics != "sync") {
      emitError(getOperation().getLoc())
          << "statistics " << statistics << ": there are rank and sync";
      return signalPassFailure();
    }
    const bool isSync = statistics == "sync";
    if (isSync && train.front().getOps<nn::BatchNormOp>().empty() &&
        train.front().getOps<fsdp::RankSumOp>().empty()) {
      emitError(getOperation().getLoc())
          << "--batch-norm sync has no effect: no norm is by the statistics of "
             "the batch";
      return signalPassFailure();
    }
    ranks = isSync ? shape->ranks() : 1;
    for (auto norm : train.front().getOps<nn::BatchNormOp>())
      if (int64_t rows = nn::product(nn::shapeOf(norm.getInput()).drop_back());
          rows * ranks < 2) {
        norm.emitError("a batch norm in train mode expects more than one value "
                       "per channel, got ")
            << rows << (isSync ? " on one rank" : " on a rank");
        return signalPassFailure();
      }
    giveShares(train);
    for (func::FuncOp function : {train, eval})
      for (auto op : llvm::make_early_inc_range(
               function.front().getOps<nn::BatchNormOp>()))
        expandNorm(op, /*isByBatch=*/function == train, ranks);
    for (auto op : llvm::make_early_inc_range(
             train.front().getOps<nn::BatchNormGradOp>()))
      expandGradient(op, ranks);
  }

private:
  /// Replaces nn.running_gradient: each takes its weight from an argument.
  void giveShares(func::FuncOp train) {
    SmallVector<nn::RunningGradientOp> ops(
        train.front().getOps<nn::RunningGradientOp>());
    if (ops.empty())
      return;
    llvm::DenseMap<int64_t, std::pair<int64_t, StringAttr>> callOf; // by site
    llvm::DenseMap<StringAttr, int64_t> calls;
    for (auto norm : train.front().getOps<nn::BatchNormOp>()) {
      StringAttr name = statisticOf(norm.getRunningMean());
      callOf[norm.getSite()] = {calls[name]++, name};
    }
    std::map<Share, int64_t> places;
    SmallVector<Attribute> described;
    SmallVector<int64_t> placeOf;
    Builder builder(&getContext());
    for (nn::RunningGradientOp op : ops) {
      auto [call, name] = callOf.lookup(op.getSite());
      Share share{op.getMomentum().convertToDouble(), call, calls[name]};
      auto [place, isNew] = places.try_emplace(share, described.size());
      placeOf.push_back(place->second);
      if (isNew)
        described.push_back(builder.getDictionaryAttr(
            {builder.getNamedAttr("momentum", op.getMomentumAttr()),
             builder.getNamedAttr("call",
                                  builder.getI64IntegerAttr(share.call)),
             builder.getNamedAttr("calls",
                                  builder.getI64IntegerAttr(share.calls))}));
    }
    getOperation()->setAttr(nn::runningAttr, builder.getArrayAttr(described));
    Value weights = addRunInput(
        train, "running",
        RankedTensorType::get(
            {int64_t(described.size())},
            nn::computeTypeOf(nn::elementTypeOf(ops.front().getStatistic()))));
    for (auto [op, place] : llvm::zip_equal(ops, placeOf))
      expandRunning(op, weights, place, ranks);
  }

  static void expandRunning(nn::RunningGradientOp op, Value weights,
                            int64_t place, int64_t ranks) {
    OpBuilder builder(op);
    Formula f(builder, op.getLoc());
    Type element = nn::elementTypeOf(weights);
    Value running = f.cast(op.getRunning(), element);
    Value statistic = f.cast(op.getStatistic(), element);
    if (auto rows = double(op.getRows() * ranks); rows > 0)
      statistic = f.scale(statistic, rows / (rows - 1));
    Value weight = nn::SliceOp::create(
        builder, op.getLoc(), nn::tensorType(weights).clone({1}), weights,
        ArrayRef<int64_t>{place}, ArrayRef<int64_t>{place + 1},
        ArrayRef<int64_t>{1});
    Value lost = f.mul(f.broadcast(weight, running), f.sub(running, statistic));
    replace(op, {f.cast(lost, nn::elementTypeOf(op.getResult()))});
  }

  int64_t ranks = 1; // that a norm's statistics are of
};

} // namespace
} // namespace shardc
