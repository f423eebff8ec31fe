// nn-place-draws: where ops that draw get their numbers from.
#include "passes/Passes.h"
#include "passes/TrainFunctions.h"
#include "passes/analyses/SampleStrides.h"

#include <map>

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNPLACEDRAWS
#include "passes/Passes.h.inc"

namespace {

struct Site {
  int64_t place = 0; ///< among those that are left
  int64_t stride = 0;
  nn::DropoutOp first; ///< forward's, of which the others have the numbers
  Value words;
};

std::string nameOf(Operation *op) {
  std::string name;
  op->getLoc()->walk([&](Location location) {
    if (auto named = dyn_cast<NameLoc>(location); named && name.empty())
      name = named.getName().str();
    return name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return name;
}

int64_t strideOf(nn::DropoutOp op, const SampleStrides &samples) {
  if (!op.getSamplesFirst())
    return samples.strideOf(op.getInput());
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t count = samples.samples();
  return count > 0 && type.getRank() > 0 && type.getDimSize(0) == count
             ? type.getNumElements() / count
             : 0;
}

struct NNPlaceDraws : impl::NNPlaceDrawsBase<NNPlaceDraws> {
  using NNPlaceDrawsBase::NNPlaceDrawsBase;

  void runOnOperation() override {
    FailureOr<TrainFunctions> functions = trainFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    auto [train, eval] = *functions;
    for (auto op :
         llvm::make_early_inc_range(eval.front().getOps<nn::DropoutOp>())) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    }
    SmallVector<nn::DropoutOp> ops(train.front().getOps<nn::DropoutOp>());
    if (!ops.empty())
      place(train, ops);
  }

private:
  void place(func::FuncOp train, ArrayRef<nn::DropoutOp> ops) {
    SampleStrides samples(train);
    std::map<int64_t, Site> sites;
    for (nn::DropoutOp op : ops)
      if (Site &site = sites[*op.getSite()]; !site.first)
        site = {0, strideOf(op, samples), op, {}};
    Builder builder(&getContext());
    SmallVector<Attribute> described;
    for (auto &[number, site] : sites) {
      site.place = described.size();
      described.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("name",
                                builder.getStringAttr(nameOf(site.first))),
           builder.getNamedAttr("rate", site.first.getRateAttr())}));
    }
    getOperation()->setAttr("nn.sites", builder.getArrayAttr(described));
    Value draws =
        addRunInput(train, "draws", wordsType(builder, described.size()));
    auto atStart = OpBuilder::atBlockBegin(&train.front());
    constexpr int64_t count = nn::DropoutOp::wordCount;
    for (auto &[number, site] : sites)
      site.words = nn::SliceOp::create(
          atStart, site.first.getLoc(), wordsType(builder, 1), draws,
          ArrayRef<int64_t>{site.place * count},
          ArrayRef<int64_t>{(site.place + 1) * count}, ArrayRef<int64_t>{1});
    for (nn::DropoutOp op : ops) {
      const Site &site = sites[*op.getSite()];
      op.getWordsMutable().assign(site.words);
      // A kernel is one function for all sites.
      op.removeRateAttr();
      op.removeSiteAttr();
      op.removeSamplesFirstAttr();
      op.setSamples(site.stride ? samples.samples() : 0);
      op.setSampleStride(site.stride);
    }
  }

  static RankedTensorType wordsType(Builder &builder, int64_t sites) {
    return RankedTensorType::get({sites * nn::DropoutOp::wordCount},
                                 builder.getI32Type());
  }
};

} // namespace
} // namespace shardc
