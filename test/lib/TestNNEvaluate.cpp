// test-nn-evaluate: replaces what each function returns by constants, its
// results for the inputs that its arguments' attributes give.
#include "TestInputs.h"
#include "TestPasses.h"

#include "NNInterpreter.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace shardc;

namespace {

struct TestNNEvaluate
    : PassWrapper<TestNNEvaluate, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestNNEvaluate)

  StringRef getArgument() const override { return "test-nn-evaluate"; }
  StringRef getDescription() const override {
    return "evaluates functions by the ops' reference evaluation";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto results = test::evaluateFunction(function, test::makeInputs(function));
    if (!results)
      return signalPassFailure();
    Operation *ret = function.front().getTerminator();
    OpBuilder builder(ret);
    for (auto [index, result] : llvm::enumerate(*results)) {
      // How much storage the evaluation wrote is part of what is tested.
      auto constant = nn::ConstantOp::create(builder, function.getLoc(),
                                             result.toAttribute());
      constant->setAttr("test.stored",
                        builder.getI64IntegerAttr(result.compact().elements()));
      ret->setOperand(index, constant);
    }
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }
};

} // namespace

void shardc::test::registerNNEvaluatePass() {
  PassRegistration<TestNNEvaluate>();
}
