// Directions, matrices on their way to owners and back, formulas and steps.
#include "passes/shard/MatrixSteps.h"

#include "frontend/nn/NN.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

SmallVector<std::pair<int64_t, MatrixShape>>
MatrixSteps::matricesOf(UnitOp unit) {
  SmallVector<std::pair<int64_t, MatrixShape>> matrices;
  for (auto [name, offset] :
       llvm::zip(unit.getParameters().getAsRange<FlatSymbolRefAttr>(),
                 unit.getOffsets())) {
    auto parameter = symbols.lookup<nn::ParameterOp>(name.getValue());
    if (parameter->hasAttr(nn::optimizerAttr))
      continue;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(parameter.getType()).getShape();
    matrices.push_back({offset, {shape[0], shape[1]}});
  }
  return matrices;
}

std::vector<MatrixSteps::Batch> MatrixSteps::batches() {
  std::vector<Batch> all;
  SmallVector<SmallVector<MatrixShape>> shapes; // by batch
  for (const Reduction &reduction : reductions) {
    auto matrices = matricesOf(reduction.unit);
    if (matrices.empty())
      continue;
    if (all.empty() || int64_t(all.back().members.size()) == ranks) {
      all.emplace_back();
      shapes.emplace_back();
    }
    Batch &batch = all.back();
    for (auto [offset, shape] : matrices) {
      batch.unitOf.push_back(batch.members.size());
      batch.offsets.push_back(offset);
      shapes.back().push_back(shape);
    }
    batch.members.push_back(&reduction);
  }
  for (auto [batch, ofBatch] : llvm::zip(all, shapes))
    batch.deal = owners.deal(ofBatch);
  return all;
}

void MatrixSteps::insert() {
  for (const Reduction &reduction : reductions)
    if (matricesOf(reduction.unit).empty())
      step(reduction, {});
  std::vector<Batch> all = batches();
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == 0)
      begin(all[0]);
    if (i + 1 < all.size())
      begin(all[i + 1]);
    compute(all[i]);
    if (i > 0)
      end(all[i - 1]);
  }
  if (!all.empty())
    end(all.back());
}

static ArrayAttr unitNames(OpBuilder &builder,
                           ArrayRef<const Reduction *> members) {
  SmallVector<Attribute> names;
  for (const Reduction *member : members)
    names.push_back(FlatSymbolRefAttr::get(builder.getContext(),
                                           UnitOp(member->unit).getSymName()));
  return builder.getArrayAttr(names);
}

void MatrixSteps::begin(Batch &batch) {
  for (const Reduction *member : batch.members) {
    UnitOp unit = member->unit;
    batch.directions.push_back(MatrixDirectionOp::create(
        builder, unit.getLoc(), getDirectionType(unit), unit.getSymName(),
        member->flat, norm, optimizer));
  }
  auto start = GatherMatricesStartOp::create(
      builder, batch.directions[0].getLoc(),
      TokenType::get(builder.getContext()), batch.directions,
      unitNames(builder, batch.members), batch.unitOf, batch.offsets,
      batch.deal.owners, batch.deal.slots);
  batch.gathered = start.getToken();
}

void MatrixSteps::compute(Batch &batch) {
  Location loc = batch.gathered.getLoc();
  Type element = getElementTypeOrSelf(batch.directions[0].getType());
  SmallVector<Type> types;
  for (MatrixShape shape : batch.deal.slotShapes)
    types.push_back(
        RankedTensorType::get({shape.rows, shape.columns}, element));
  auto wait = GatherMatricesWaitOp::create(builder, loc, types, batch.gathered);
  SmallVector<Value> made;
  for (Value matrix : wait.getMatrices())
    made.push_back(formula(builder, loc, matrix));
  auto start = ScatterMatricesStartOp::create(
      builder, loc, batch.gathered.getType(), made, batch.directions,
      unitNames(builder, batch.members), batch.unitOf, batch.offsets,
      batch.deal.owners, batch.deal.slots);
  batch.scattered = start.getToken();
}

void MatrixSteps::end(Batch &batch) {
  auto wait = ScatterMatricesWaitOp::create(
      builder, batch.scattered.getLoc(),
      TypeRange(ValueRange(batch.directions)), batch.scattered);
  for (auto [member, direction] :
       llvm::zip(batch.members, wait.getDirections()))
    step(*member, direction);
}

void MatrixSteps::step(const Reduction &reduction, Value direction) {
  UnitOp unit = reduction.unit;
  OptimizerStepOp::create(builder, unit.getLoc(), unit.getSymName(),
                          reduction.flat, norm, optimizer, direction);
}
