// nn-raise: runs the raising patterns of frontend/raise in two rounds. The
// patterns live there, one family per file.
#include "frontend/raise/Raise.h"
#include "passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <set>

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNRAISE
#include "passes/Passes.h.inc"

namespace {

/// What patterns say that all but matched, each once.
class NearMisses : public RewriterBase::Listener {
public:
  void
  notifyMatchFailure(Location location,
                     llvm::function_ref<void(Diagnostic &)> reason) override {
    Diagnostic text(location, DiagnosticSeverity::Remark);
    reason(text);
    if (known.insert({location.getAsOpaquePointer(), text.str()}).second)
      remark::missed(location,
                     remark::RemarkOpts::name("near-miss").category("nn-raise"))
          << text.str();
  }

private:
  std::set<std::pair<const void *, std::string>> known;
};

struct NNRaise : impl::NNRaiseBase<NNRaise> {
  using NNRaiseBase::NNRaiseBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    raise::MaskCache masks;
    RewritePatternSet local(context), attention(context);
    raise::populateIndexingPatterns(local);
    raise::populateActivationPatterns(local);
    raise::populateNormalizationPatterns(local);
    raise::populateRopePatterns(local);
    raise::populateLinearPatterns(local);
    raise::populateViewPatterns(local);
    raise::populateLossPatterns(local);

    // Transposes move down from one attention until they meet the next, which
    // then sees its operands where they were made.
    raise::populateAttentionPatterns(attention, masks);
    raise::populateAttentionHeadPatterns(attention);
    raise::populateMotionPatterns(attention);
    raise::populateLinearPatterns(attention);
    raise::populateIndexingPatterns(attention);
    raise::populateViewPatterns(attention);

    FrozenRewritePatternSet rounds[] = {std::move(local), std::move(attention)};
    GreedyRewriteConfig inOrder;
    inOrder.setUseTopDownTraversal();
    // There is one block: no region to simplify.
    inOrder.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Equal values must be one value: rope multiplies the same x twice.
      unify(function);
      raise::classifyAttentionMasks(function, masks);
      for (const FrozenRewritePatternSet &round : rounds) {
        if (failed(applyPatternsGreedily(function, round, inOrder))) {
          emitError(function.getLoc(), "expects raising to come to an end");
          return signalPassFailure();
        }
        unify(function);
      }
      if (failed(raise::writeOutConstants(function)))
        return signalPassFailure();
    }
    if (context->getRemarkEngine()) {
      RewritePatternSet misses(context);
      raise::populateMissPatterns(misses);
      explain({rounds[1], rounds[0], std::move(misses)}, inOrder);
    }
    raise::describeRotaryTables(getOperation());
  }

private:
  /// Runs the patterns once more, on copies, where nothing is left to match:
  /// what was all but matched says why.
  void explain(ArrayRef<FrozenRewritePatternSet> rounds,
               GreedyRewriteConfig config) {
    NearMisses misses;
    config.setListener(&misses);
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      // Patterns look parameters up: the copy is a function of the module.
      func::FuncOp copy = function.clone();
      copy.setName((function.getName() + ".explained").str());
      getOperation().push_back(copy);
      for (const FrozenRewritePatternSet &round : rounds)
        (void)applyPatternsGreedily(copy, round, config);
      copy.erase();
    }
  }

  void unify(func::FuncOp function) {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }
};

} // namespace
} // namespace shardc
