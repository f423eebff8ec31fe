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
  nn::Drawing first; ///< forward's, whose numbers the others have
};

/// The last name: where a dropout became part of another op, it is its own.
std::string nameOf(Operation *op) {
  std::string name;
  op->getLoc()->walk([&](Location location) {
    if (auto named = dyn_cast<NameLoc>(location))
      name = named.getName().str();
    return WalkResult::advance();
  });
  return name;
}

int64_t strideOf(nn::Drawing op, const SampleStrides &samples) {
  if (!op.samplesComeFirst())
    return op.sampledLike() ? op.drawnStride(samples.strideOf(op.sampledLike()),
                                             samples.samples())
                            : 0;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t count = samples.samples();
  return count > 0 && type.getRank() > 0 && type.getDimSize(0) == count
             ? type.getNumElements() / count
             : 0;
}

SmallVector<nn::Drawing> drawingsOf(func::FuncOp function) {
  return llvm::filter_to_vector(function.front().getOps<nn::Drawing>(),
                                [](nn::Drawing op) { return op.isDrawing(); });
}

struct NNPlaceDraws : impl::NNPlaceDrawsBase<NNPlaceDraws> {
  using NNPlaceDrawsBase::NNPlaceDrawsBase;

  void runOnOperation() override {
    FailureOr<TrainFunctions> functions = trainFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    auto [train, eval] = *functions;
    for (nn::Drawing op : drawingsOf(eval))
      if (op.droppedShare())
        op.keepAll();
    // An output alone may draw what training does not.
    std::map<int64_t, Site> sites;
    find(train, sites);
    find(eval, sites);
    if (sites.empty())
      return;
    describe(sites);
    place(train, sites);
    place(eval, sites);
  }

private:
  static void find(func::FuncOp function, std::map<int64_t, Site> &sites) {
    SampleStrides samples(function);
    for (nn::Drawing op : drawingsOf(function))
      if (Site &site = sites[op.drawnSite()]; !site.first)
        site = {0, strideOf(op, samples), op};
  }

  void describe(std::map<int64_t, Site> &sites) {
    Builder builder(&getContext());
    SmallVector<Attribute> described;
    for (auto &[number, site] : sites) {
      site.place = described.size();
      SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(
          "name", builder.getStringAttr(nameOf(site.first)))};
      if (FloatAttr rate = site.first.droppedShare())
        attributes.push_back(builder.getNamedAttr("rate", rate));
      described.push_back(builder.getDictionaryAttr(attributes));
    }
    getOperation()->setAttr(nn::sitesAttr, builder.getArrayAttr(described));
  }

  static void place(func::FuncOp function,
                    const std::map<int64_t, Site> &sites) {
    SmallVector<nn::Drawing> ops = drawingsOf(function);
    if (ops.empty())
      return;
    Builder builder(function.getContext());
    const int64_t samples = SampleStrides(function).samples();
    Value draws =
        addRunInput(function, "draws", wordsType(builder, sites.size()));
    auto atStart = OpBuilder::atBlockBegin(&function.front());
    constexpr int64_t count = nn::DropoutOp::wordCount;
    std::map<int64_t, Value> words;
    for (nn::Drawing op : ops) {
      const Site &site = sites.at(op.drawnSite());
      Value &own = words[site.place];
      if (!own)
        own = nn::SliceOp::create(
            atStart, site.first->getLoc(), wordsType(builder, 1), draws,
            ArrayRef<int64_t>{site.place * count},
            ArrayRef<int64_t>{(site.place + 1) * count}, ArrayRef<int64_t>{1});
      op.place(own, samples, site.stride);
    }
  }

  static RankedTensorType wordsType(Builder &builder, int64_t sites) {
    return RankedTensorType::get({sites * nn::DropoutOp::wordCount},
                                 builder.getI32Type());
  }
};

} // namespace
} // namespace shardc
