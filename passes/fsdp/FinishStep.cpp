// What a step does when its gradients are reduced: of fsdp-shard.
#include "passes/fsdp/FinishStep.h"

#include "passes/fsdp/MatrixFormulas.h"
#include "passes/fsdp/MatrixSteps.h"
#include "runtime/device/Optimizers.h"

using namespace mlir;

namespace shardc::fsdp {
namespace {

class StepFinisher {
public:
  StepFinisher(func::FuncOp function, MeshOp mesh, Groups groups,
               ArrayRef<Reduction> reductions, UpdateRule rule)
      : function(function), mesh(mesh), groups(std::move(groups)),
        reductions(reductions), rule(rule), builder(function.getContext()) {}
  void run();

private:
  void updateUnits(Value norm);
  /// What is returned behind the loss, under its names.
  void giveOutputs(Operation *terminator);
  void allReduce(Value &total, Value &norm, GroupOp group, bool withNorm,
                 Location loc);
  /// Where the optimizer's slices are finer than those of the parameters.
  void gatherUpdates();

  func::FuncOp function;
  MeshOp mesh;
  Groups groups;
  ArrayRef<Reduction> reductions;
  UpdateRule rule;
  OpBuilder builder;
};

void StepFinisher::run() {
  Operation *terminator = function.getBody().front().getTerminator();
  Value loss = terminator->getOperand(0);
  Location loc = terminator->getLoc();
  builder.setInsertionPoint(terminator);
  auto doubles = RankedTensorType::get({}, builder.getF64Type());
  bool training = !reductions.empty();
  // More digits cost nothing here, and one collective has one element type.
  Value total = loss;
  if (total.getType() != doubles)
    total = nn::CastOp::create(builder, loc, doubles, total);
  // What every rank and micro-batch adds is summed exactly: in whatever order,
  // the loss is the same on every mesh. Every micro-batch runs this; what
  // follows, the last.
  auto exact = getExactSumType(builder.getContext());
  total = ExactSumOp::create(builder, loc, exact, total);
  if (training)
    total = AccumulateOp::create(builder, loc, exact, total,
                                 exact.getElementType());
  Value norm;
  if (training) {
    SmallVector<Value> flats;
    for (const Reduction &reduction : reductions)
      flats.push_back(reduction.flat);
    norm = GradientNormOp::create(builder, loc, exact, flats);
  }
  for (auto [group, normIsPartial] : groups.ofDims)
    if (group)
      allReduce(total, norm, group, normIsPartial && training, loc);
  total = RoundSumOp::create(builder, loc, doubles, total,
                             /*norm=*/false);
  if (training)
    norm = RoundSumOp::create(builder, loc, doubles, norm, /*norm=*/true);
  MetricOp::create(builder, loc, "loss", total);
  if (!training && terminator->getNumOperands() > 1)
    giveOutputs(terminator);
  if (training)
    MetricOp::create(builder, loc, "gradient_norm", norm);
  updateUnits(norm);
  gatherUpdates();

  func::ReturnOp::create(builder, loc);
  terminator->erase();
  (void)function.eraseResults(llvm::BitVector(function.getNumResults(), true));
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
  for (const Reduction &reduction : reductions) {
    UnitOp unit = reduction.unit;
    OptimizerStepOp::create(builder, unit.getLoc(), unit.getSymName(),
                            reduction.flat, norm, rule.optimizer,
                            /*direction=*/Value());
  }
}

void StepFinisher::giveOutputs(Operation *terminator) {
  SmallVector<Attribute> names;
  for (unsigned i = 1; i < function.getNumResults(); ++i)
    names.push_back(function.getResultAttrOfType<StringAttr>(i, "nn.name"));
  OutputsOp::create(builder, terminator->getLoc(), builder.getArrayAttr(names),
                    terminator->getOperands().drop_front());
}

void StepFinisher::allReduce(Value &total, Value &norm, GroupOp group,
                             bool withNorm, Location loc) {
  SmallVector<Value> values = {total};
  SmallVector<bool> norms = {false};
  if (withNorm) {
    values.push_back(norm);
    norms.push_back(true);
  }
  auto start = AllReduceStartOp::create(
      builder, loc, TokenType::get(builder.getContext()), values,
      reductions.empty() ? PhaseKind::forward : PhaseKind::optimizer,
      group.getSymName(), norms);
  auto wait = AllReduceWaitOp::create(
      builder, loc, TypeRange(ValueRange(values)), start.getToken());
  total = wait.getSums()[0];
  if (withNorm)
    norm = wait.getSums()[1];
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
