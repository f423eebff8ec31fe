// An scf.for with accumulators, and the patterns that turn loops into branches.
#include "codegen/kernels/AccumulatorLoop.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace shardc::kernels {

LogicalResult
forLoop(OpBuilder &builder, Location loc, Value from, Value to, Value step,
        Accumulators &accumulators,
        llvm::function_ref<LogicalResult(Operation *, Value, Accumulators &)>
            body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, step, accumulators);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Accumulators carried(loop.getRegionIterArgs().begin(),
                       loop.getRegionIterArgs().end());
  if (failed(body(loop, loop.getInductionVar(), carried)))
    return failure();
  if (!accumulators.empty())
    scf::YieldOp::create(builder, loc, carried);
  accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

LogicalResult lowerLoops(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*root->getContext());
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalDialect<scf::SCFDialect>();
  return applyPartialConversion(root, target, std::move(patterns));
}

} // namespace shardc::kernels
