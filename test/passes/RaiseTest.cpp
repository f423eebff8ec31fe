// nn-raise preserves what a function computes: the functions of its lit tests
// and the reference models are evaluated on the host, in float64, before and
// after it, on random inputs.
#include "frontend/onnx/Import.h"
#include "passes/Passes.h"
#include "test/lib/NNInterpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace mlir;
using namespace shardc;

namespace {

class RaiseTest : public testing::Test {
protected:
  RaiseTest() { context.loadDialect<nn::NNDialect, func::FuncDialect>(); }

  static nn::HostTensor randomTensor(RankedTensorType type, StringRef name) {
    std::mt19937_64 generator(llvm::xxh3_64bits(name));
    if (isa<FloatType>(type.getElementType())) {
      nn::HostTensor::Floats values(type.getNumElements());
      std::uniform_real_distribution<double> uniform(-0.5, 0.5);
      for (double &value : values)
        value = uniform(generator);
      return nn::HostTensor::floats(type, values);
    }
    // Masks show all but the last keys of the last sample; ids are small.
    nn::HostTensor::Ints values(type.getNumElements());
    bool mask = name.contains("mask") || type.getElementType().isInteger(1);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = mask ? i + 2 < values.size() : generator() % 3;
    return nn::HostTensor::ints(type, values);
  }

  static SmallVector<nn::HostTensor> evaluate(func::FuncOp function) {
    SmallVector<nn::HostTensor> inputs;
    for (BlockArgument argument : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        "nn.name");
      inputs.push_back(
          randomTensor(cast<RankedTensorType>(argument.getType()),
                       name ? name.strref() : StringRef("argument")));
    }
    auto results =
        test::evaluateFunction(function, inputs, [](nn::GetParameterOp get) {
          return randomTensor(cast<RankedTensorType>(get.getType()),
                              get.getParameter());
        });
    EXPECT_TRUE(results.has_value());
    return results ? *results : SmallVector<nn::HostTensor>();
  }

  void run(ModuleOp module, StringRef pipeline) {
    PassManager manager(&context);
    static const bool registered = (registerShardcPasses(), true);
    ASSERT_TRUE(registered);
    ASSERT_TRUE(succeeded(parsePassPipeline(pipeline, manager)));
    ASSERT_TRUE(succeeded(manager.run(module)));
  }

  // Largest difference of the results, relative to the largest result. What is
  // not a number before is not one afterwards, and nothing else becomes one.
  static double distance(ArrayRef<nn::HostTensor> expected,
                         ArrayRef<nn::HostTensor> actual) {
    double worst = 0;
    for (auto [a, b] : llvm::zip_equal(expected, actual)) {
      EXPECT_EQ(a.type(), b.type());
      double largest = 1e-30, difference = 0;
      for (int64_t i = 0; i < a.elements(); ++i) {
        double x = a.isFloat() ? a.floatAt(i) : double(a.intAt(i));
        double y = b.isFloat() ? b.floatAt(i) : double(b.intAt(i));
        EXPECT_EQ(std::isnan(x), std::isnan(y));
        if (std::isnan(x))
          continue;
        largest = std::max(largest, std::fabs(x));
        difference = std::max(difference, std::fabs(x - y));
      }
      worst = std::max(worst, difference / largest);
    }
    return worst;
  }

  void expectSameValues(ModuleOp module, bool raisesAll) {
    run(module, "nn-precision{precision=float64}");
    OwningOpRef<ModuleOp> raised = module.clone();
    run(*raised, "nn-raise");
    for (auto function : module.getOps<func::FuncOp>()) {
      // What is not drawn yet has no value.
      if (!function.front().getOps<nn::DropoutOp>().empty())
        continue;
      auto after = raised->lookupSymbol<func::FuncOp>(function.getSymName());
      // Exporters round constants to float32; raising undoes it.
      EXPECT_LT(distance(evaluate(function), evaluate(after)), 2e-6)
          << function.getSymName().str();
      if (raisesAll)
        after.walk([](Operation *op) {
          EXPECT_FALSE(
              (isa<nn::SoftmaxOp, nn::MatMulOp, nn::ErfOp, nn::TanhOp,
                   nn::PowOp, nn::RsqrtOp, nn::SigmoidOp, nn::TransposeOp>(op)))
              << "left behind: " << op->getName().getStringRef().str();
        });
    }
  }

  MLIRContext context;
};

TEST_F(RaiseTest, LitFunctionsComputeTheSame) {
  unsigned files = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(SHARDC_TEST_FOLDER, error), end;
       it != end && !error; it.increment(error)) {
    StringRef name = llvm::sys::path::filename(it->path());
    if (!name.starts_with("nn-raise") || !name.ends_with(".mlir"))
      continue;
    SCOPED_TRACE(name.str());
    auto module = parseSourceFile<ModuleOp>(it->path(), &context);
    ASSERT_TRUE(module);
    expectSameValues(*module, /*raisesAll=*/false);
    ++files;
  }
  EXPECT_GT(files, 0u);
}

struct Model {
  const char *name;
  std::vector<std::pair<const char *, int64_t>> dims;
};

class RaiseModelTest : public RaiseTest,
                       public testing::WithParamInterface<Model> {};

TEST_P(RaiseModelTest, ComputesTheSame) {
  onnx::ImportOptions options;
  options.path = (Twine(SHARDC_TEST_FOLDER "/../models/") + GetParam().name +
                  "/model.onnx")
                     .str();
  options.allowMissingWeights = true;
  for (auto [name, size] : GetParam().dims)
    options.dims[name] = size;
  onnx::ImportDiagnostics diagnostics;
  auto module = onnx::importOnnx(&context, options, diagnostics);
  ASSERT_TRUE(module);
  expectSameValues(*module, /*raisesAll=*/true);
}

// Sizes that degenerate (one sample, one position) as well as ordinary ones.
INSTANTIATE_TEST_SUITE_P(
    Models, RaiseModelTest,
    testing::Values(
        Model{"s0-mlp-transformer-tiny-dynamo", {{"batch", 3}}},
        Model{"s0-mlp-transformer-tiny-dynamo", {{"batch", 1}}},
        Model{"s0-mlp-transformer-tiny-dynamo-zero-bias", {{"batch", 2}}},
        Model{"s0-mlp-transformer-tiny-legacy", {{"batch", 2}}},
        Model{"s0-mlp-transformer-tiny-legacy-folded", {{"batch", 2}}},
        Model{"s1-llama31-tiny", {{"batch", 2}, {"sequence", 5}}},
        Model{"s1-llama31-tiny", {{"batch", 1}, {"sequence", 3}}},
        Model{"s2-llama-tiny-causal", {{"batch", 2}, {"sequence", 5}}},
        Model{"s2-llama-tiny-causal", {{"batch", 1}, {"sequence", 1}}},
        Model{"s2-llama-tiny-mask", {{"batch", 2}, {"sequence", 5}}},
        Model{"s2-llama-tiny-mask", {{"batch", 4}, {"sequence", 4}}},
        Model{"s2-llama-tiny-mask-fullrows", {{"batch", 2}, {"sequence", 4}}},
        Model{"s2-llama-tiny-mask-opset23", {{"batch", 2}, {"sequence", 5}}},
        Model{"s4-bloom-tiny-dynamo", {{"batch", 2}, {"sequence", 5}}},
        Model{"s4-bloom-tiny-dynamo", {{"batch", 1}, {"sequence", 4}}},
        Model{"s4-bloom-tiny-legacy", {{"batch", 2}, {"sequence", 5}}},
        Model{"gpt2-tiny", {{"batch", 2}, {"sequence", 5}}},
        Model{"gpt2-tiny", {{"batch", 1}, {"sequence", 1}}}),
    [](const testing::TestParamInfo<Model> &info) {
      std::string name = info.param.name;
      for (char &c : name)
        c = llvm::isAlnum(c) ? c : '_';
      for (auto [dim, size] : info.param.dims)
        name += "_" + std::string(dim) + std::to_string(size);
      return name;
    });

} // namespace
