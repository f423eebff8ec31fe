// step-fuse-products: what the library's products compute beside the product
// needs no kernel.
#include "codegen/Passes.h"
#include "codegen/kernels/KernelFunction.h"
#include "frontend/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_STEPFUSEPRODUCTS
#include "codegen/Passes.h.inc"

namespace {

/// Whether the memory of `value` is filled whatever reads it: a kernel need not
/// make it where its one reader is part of the kernel.
bool isInMemory(Value value) {
  Operation *op = kernels::throughAbsorbed(value).getDefiningOp();
  return !op || !kernels::isGenerated(op) || !value.hasOneUse();
}

/// Lets `linear` add what `add` adds to its result, and returns whether it did.
bool addResidual(nn::AddOp add, nn::LinearOp linear, Value other) {
  Value product = linear.getResult();
  Operation *made = other.getDefiningOp();
  if (linear.getResidual() || !product.hasOneUse() || other == product ||
      other.getType() != product.getType() ||
      add.getType() != product.getType() ||
      (made && !made->isBeforeInBlock(linear)) || !isInMemory(other))
    return false;
  linear.getResidualMutable().assign(other);
  linear->setLoc(
      FusedLoc::get(add.getContext(), {linear.getLoc(), add.getLoc()}));
  add.replaceAllUsesWith(product);
  add.erase();
  return true;
}

void addResiduals(Block &block) {
  for (auto add : llvm::make_early_inc_range(block.getOps<nn::AddOp>())) {
    auto left = add.getLhs().getDefiningOp<nn::LinearOp>();
    auto right = add.getRhs().getDefiningOp<nn::LinearOp>();
    if (right && addResidual(add, right, add.getLhs()))
      continue;
    if (left)
      addResidual(add, left, add.getRhs());
  }
}

/// Whether the op sums over all dims but the last.
bool sumsRows(nn::ReduceSumOp sum) {
  int64_t rank = cast<RankedTensorType>(sum.getInput().getType()).getRank();
  SmallVector<int64_t> dims(sum.getDims());
  llvm::sort(dims);
  return llvm::equal(dims, llvm::seq<int64_t>(0, rank - 1));
}

/// The sum of the gradient's rows that the product can make as well, or null.
nn::ReduceSumOp biasGradientOf(nn::LinearWeightGradOp product) {
  Type element = getElementTypeOrSelf(product.getResult().getType());
  for (Operation *user : product.getGradient().getUsers()) {
    auto sum = dyn_cast<nn::ReduceSumOp>(user);
    if (sum && sumsRows(sum) &&
        getElementTypeOrSelf(sum.getType()) == element &&
        llvm::all_of(sum->getUsers(), [&](Operation *reader) {
          return product->isBeforeInBlock(reader);
        }))
      return sum;
  }
  return {};
}

void sumBiasGradients(Block &block) {
  for (auto product :
       llvm::make_early_inc_range(block.getOps<nn::LinearWeightGradOp>())) {
    nn::ReduceSumOp sum =
        product.getBiasGradient() ? nullptr : biasGradientOf(product);
    if (!sum)
      continue;
    OpBuilder builder(product);
    auto sums = RankedTensorType::get(
        {cast<RankedTensorType>(sum.getType()).getShape().back()},
        getElementTypeOrSelf(sum.getType()));
    auto both = nn::LinearWeightGradOp::create(
        builder, builder.getFusedLoc({product.getLoc(), sum.getLoc()}),
        product.getResult().getType(), sums, product.getInput(),
        product.getGradient(), product.getTransposeWeight());
    product.getResult().replaceAllUsesWith(both.getResult());
    Value shaped = nn::ReshapeOp::create(builder, sum.getLoc(), sum.getType(),
                                         both.getBiasGradient());
    sum.replaceAllUsesWith(shaped);
    sum.erase();
    product.erase();
  }
}

struct StepFuseProducts : impl::StepFuseProductsBase<StepFuseProducts> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      addResiduals(function.front());
      sumBiasGradients(function.front());
    }
  }
};

} // namespace
} // namespace shardc
