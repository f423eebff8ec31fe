// What a step does when its gradients are reduced: of fsdp-shard.
#include "passes/shard/FinishStep.h"

#include "passes/shard/MatrixFormulas.h"
#include "passes/shard/MatrixSteps.h"
#include "runtime/device/Optimizers.h"

using namespace mlir;

namespace shardc::fsdp {
namespace {

class StepFinisher {
public:
  StepFinisher(func::FuncOp function, MeshOp mesh, Groups groups,
               ArrayRef<Reduction> reductions, UpdateRule rule)
      : function(function), mesh(mesh), groups(std::move(groups)),
        reductions(reductions), rule(rule), builder(function.getContext()),
        loss(function.getBody().front().getTerminator()->getOperand(0)),
        loc(function.getBody().front().getTerminator()->getLoc()) {}
  void run();

private:
  /// The loss as an exact sum, which micro-batches add to.
  Value sumLoss();
  /// Exact sums over all ranks, the one of the norm over those that have
  /// slices; with `total`, `norm`, or both.
  void sumOverRanks(Value &total, Value &norm);
  void giveLoss(Value total);
  /// Returns the norm as the optimizer takes it.
  Value giveNorm(Value norm);
  /// Each unit where its gradient is there and nothing reads it any more.
  void updateInBackward();
  void updateUnits(Value norm);
  void update(const Reduction &reduction, Value norm);
  /// What is returned behind the loss, under its names.
  void giveOutputs(Operation *terminator);
  void allReduce(Value &total, Value &norm, GroupOp group, bool withNorm);
  RankedTensorType exact() { return getExactSumType(builder.getContext()); }
  RankedTensorType doubles() {
    return RankedTensorType::get({}, builder.getF64Type());
  }
  /// Where the optimizer's slices are finer than those of the parameters.
  void gatherUpdates();

  func::FuncOp function;
  MeshOp mesh;
  Groups groups;
  ArrayRef<Reduction> reductions;
  UpdateRule rule;
  OpBuilder builder;
  Value loss;
  Location loc;
};

void StepFinisher::run() {
  Operation *terminator = function.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  if (reductions.empty()) {
    Value total = sumLoss(), norm;
    sumOverRanks(total, norm);
    giveLoss(total);
    if (terminator->getNumOperands() > 1)
      giveOutputs(terminator);
  } else if (rule.inBackward) {
    updateInBackward();
  } else {
    Value total = sumLoss();
    SmallVector<Value> flats;
    for (const Reduction &reduction : reductions)
      flats.push_back(reduction.flat);
    Value norm = GradientNormOp::create(builder, loc, exact(), flats, Value());
    sumOverRanks(total, norm);
    giveLoss(total);
    norm = giveNorm(norm);
    updateUnits(norm);
  }
  gatherUpdates();

  func::ReturnOp::create(builder, loc);
  terminator->erase();
  (void)function.eraseResults(llvm::BitVector(function.getNumResults(), true));
}

Value StepFinisher::sumLoss() {
  // More digits cost nothing here, and one collective has one element type.
  Value total = loss;
  if (total.getType() != doubles())
    total = nn::CastOp::create(builder, loc, doubles(), total);
  // What every rank and micro-batch adds is summed exactly: in whatever order,
  // the loss is the same on every mesh. Every micro-batch runs this; what
  // follows, the last.
  total = ExactSumOp::create(builder, loc, exact(), total);
  if (!reductions.empty())
    total = AccumulateOp::create(builder, loc, exact(), total,
                                 exact().getElementType());
  return total;
}

void StepFinisher::sumOverRanks(Value &total, Value &norm) {
  for (auto [group, normIsPartial] : groups.ofDims)
    if (group && (total || normIsPartial))
      allReduce(total, norm, group, normIsPartial && norm);
}

void StepFinisher::giveLoss(Value total) {
  total = RoundSumOp::create(builder, loc, doubles(), total, /*norm=*/false);
  MetricOp::create(builder, loc, "loss", total);
}

Value StepFinisher::giveNorm(Value norm) {
  norm = RoundSumOp::create(builder, loc, doubles(), norm, /*norm=*/true);
  MetricOp::create(builder, loc, "gradient_norm", norm);
  return norm;
}

void StepFinisher::updateInBackward() {
  SmallVector<std::pair<Operation *, const Reduction *>> updates;
  for (const Reduction &reduction : reductions) {
    Operation *after = reduction.flat.getDefiningOp();
    if (reduction.lastUse && after->isBeforeInBlock(reduction.lastUse))
      after = reduction.lastUse;
    updates.push_back({after, &reduction});
  }
  llvm::stable_sort(updates, [](const auto &a, const auto &b) {
    return a.first != b.first && a.first->isBeforeInBlock(b.first);
  });
  // The loss first: where it is not finite on some rank, none updates.
  builder.setInsertionPointAfter(updates.front().first);
  Value total = sumLoss(), norm, none;
  sumOverRanks(total, none);
  giveLoss(total);
  Operation *before = updates.front().first;
  for (auto [after, reduction] : updates) {
    if (after != before)
      builder.setInsertionPointAfter(after);
    before = after;
    norm = GradientNormOp::create(builder, reduction->flat.getLoc(), exact(),
                                  reduction->flat, norm);
    update(*reduction, /*norm=*/Value());
  }
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  sumOverRanks(none, norm);
  giveNorm(norm);
}

void StepFinisher::updateUnits(Value norm) {
  if (findOptimizer(rule.optimizer)->takesMatrices())
    return MatrixSteps(builder, function->getParentOfType<ModuleOp>(),
                       reductions, norm, mesh.getRanks(), rule.optimizer,
                       [&](OpBuilder &at, Location loc, Value matrix) {
                         return newtonSchulz(at, loc, matrix,
                                             rule.newtonSchulzSteps);
                       })
        .insert();
  for (const Reduction &reduction : reductions)
    update(reduction, norm);
}

void StepFinisher::update(const Reduction &reduction, Value norm) {
  UnitOp unit = reduction.unit;
  OptimizerStepOp::create(builder, unit.getLoc(), unit.getSymName(),
                          reduction.flat, norm, rule.optimizer,
                          /*direction=*/Value());
}

void StepFinisher::giveOutputs(Operation *terminator) {
  SmallVector<Attribute> names;
  for (unsigned i = 1; i < function.getNumResults(); ++i)
    names.push_back(function.getResultAttrOfType<StringAttr>(i, nn::nameAttr));
  OutputsOp::create(builder, terminator->getLoc(), builder.getArrayAttr(names),
                    terminator->getOperands().drop_front());
}

void StepFinisher::allReduce(Value &total, Value &norm, GroupOp group,
                             bool withNorm) {
  SmallVector<Value *> sums;
  SmallVector<bool> norms;
  if (total) {
    sums.push_back(&total);
    norms.push_back(false);
  }
  if (withNorm) {
    sums.push_back(&norm);
    norms.push_back(true);
  }
  SmallVector<Value> values;
  for (Value *sum : sums)
    values.push_back(*sum);
  auto start = AllReduceStartOp::create(
      builder, loc, TokenType::get(builder.getContext()), values,
      reductions.empty() ? PhaseKind::forward : PhaseKind::optimizer,
      group.getSymName(), norms);
  auto wait = AllReduceWaitOp::create(
      builder, loc, TypeRange(ValueRange(values)), start.getToken());
  for (auto [sum, result] : llvm::zip(sums, wait.getSums()))
    *sum = result;
}

void StepFinisher::gatherUpdates() {
  if (!groups.updates)
    return;
  SmallVector<Value> started;
  for (const Reduction &reduction : reductions) {
    UnitOp unit = reduction.unit;
    started.push_back(AllGatherUpdatesStartOp::create(
        builder, unit.getLoc(), TokenType::get(builder.getContext()),
        unit.getSymName(), groups.updates.getSymName()));
  }
  for (Value update : started)
    AllGatherUpdatesWaitOp::create(builder, update.getLoc(), update);
}

} // namespace

void finishStep(func::FuncOp function, MeshOp mesh, Groups groups,
                ArrayRef<Reduction> reductions, UpdateRule rule) {
  StepFinisher(function, mesh, std::move(groups), reductions, rule).run();
}

} // namespace shardc::fsdp
