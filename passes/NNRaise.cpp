// nn-raise: runs the raising patterns of frontend/raise in three rounds. The
// patterns live there, one family per file.
#include "frontend/raise/Raise.h"
#include "passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNRAISE
#include "passes/Passes.h.inc"

namespace {

struct NNRaise : impl::NNRaiseBase<NNRaise> {
  using NNRaiseBase::NNRaiseBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    raise::MaskCache masks;
    RewritePatternSet local(context), attention(context), motion(context);
    raise::populateIndexingPatterns(local);
    raise::populateActivationPatterns(local);
    raise::populateNormalizationPatterns(local);
    raise::populateRopePatterns(local);
    raise::populateLinearPatterns(local);
    raise::populateViewPatterns(local);

    raise::populateAttentionPatterns(attention, masks);
    raise::populateViewPatterns(attention);

    // A slice that moves can make a product linear, a bias foldable.
    raise::populateMotionPatterns(motion);
    raise::populateLinearPatterns(motion);
    raise::populateIndexingPatterns(motion);
    raise::populateViewPatterns(motion);

    FrozenRewritePatternSet rounds[] = {std::move(local), std::move(attention),
                                        std::move(motion)};
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Equal values must be one value: rope multiplies the same x twice.
      unify(function);
      for (const FrozenRewritePatternSet &round : rounds) {
        if (failed(applyPatternsGreedily(function, round))) {
          function.emitError("expects raising to come to an end");
          return signalPassFailure();
        }
        unify(function);
      }
    }
    raise::describeRotaryTables(getOperation());
  }

private:
  void unify(func::FuncOp function) {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }
};

} // namespace
} // namespace shardc
