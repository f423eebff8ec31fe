// Every nn op has one way into a plan.
#include "codegen/lower/LibraryCalls.h"
#include "frontend/nn/NN.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <set>

namespace shardc {
namespace {

struct Ways : testing::Test {
  Ways() {
    mlir::DialectRegistry registry;
    registerLibraryCalls(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<nn::NNDialect>();
  }
  mlir::MLIRContext context;
};

TEST_F(Ways, ThePromiseOfALibraryCallIsKept) {
  for (mlir::RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("nn")) {
    SCOPED_TRACE(op.getStringRef().str());
    EXPECT_EQ(op.hasTrait<nn::HasLibraryCall>(),
              op.hasInterface<nn::LibraryCall>());
  }
}

TEST(LibraryCalls, ArePromisesWithoutTheModels) {
  mlir::MLIRContext bare;
  auto *dialect = bare.getOrLoadDialect<nn::NNDialect>();
  bool linear = dialect->hasPromisedInterface<nn::LinearOp, nn::LibraryCall>();
  bool add = dialect->hasPromisedInterface<nn::AddOp, nn::LibraryCall>();
  EXPECT_TRUE(linear);
  EXPECT_FALSE(add);
}

TEST_F(Ways, EveryOpIsGeneratedOrCalledOrAView) {
  // nn-differentiate and nn-expand-batch-norms leave none of it behind.
  const std::set<std::string> goneBefore{"nn.batch_norm", "nn.batch_norm_grad",
                                         "nn.stop_gradient",
                                         "nn.straight_through"};
  std::set<std::string> nowhere;
  int calls = 0;
  for (mlir::RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("nn")) {
    SCOPED_TRACE(op.getStringRef().str());
    bool isGenerated = op.hasInterface<nn::KernelBody>();
    bool isCall = op.hasInterface<nn::LibraryCall>();
    // Parameters and constants are values that are there.
    if (!op.hasInterface<nn::ReferenceEval>()) {
      EXPECT_FALSE(isGenerated || isCall);
      continue;
    }
    calls += isCall;
    // Kernels take copies of views, for all else strides show them.
    if (op.hasTrait<nn::IsView>()) {
      EXPECT_TRUE(isGenerated && !isCall);
      continue;
    }
    // A move may have too many places for a kernel.
    if (isGenerated && isCall)
      EXPECT_TRUE(op.hasTrait<nn::IsMove>());
    if (!isGenerated && !isCall)
      nowhere.insert(op.getStringRef().str());
  }
  EXPECT_EQ(nowhere, goneBefore);
  EXPECT_GT(calls, 0);
}

} // namespace
} // namespace shardc
