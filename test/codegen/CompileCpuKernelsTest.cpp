// The kernel compiler as a library: what it promises of its result beside the
// numbers, which test-step-kernels checks.
#include "codegen/cpu/CompileCpuKernels.h"
#include "test/lib/LoadedKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace shardc;

namespace {

constexpr const char *twoKernels = R"mlir(
#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func @exponential(%x: tensor<3x20xf32>) -> tensor<3x20xf32> {
  %empty = tensor.empty() : tensor<3x20xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<3x20xf32>) outs(%empty : tensor<3x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<3x20xf32>
  return %y : tensor<3x20xf32>
}
func.func @row_sum(%x: tensor<3x20xf32>) -> tensor<3x1xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x1xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x1xf32>) -> tensor<3x1xf32>
  %y = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<3x20xf32>) outs(%start : tensor<3x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<3x1xf32>
  return %y : tensor<3x1xf32>
}
)mlir";

struct CompileCpuKernels : testing::Test {
  CompileCpuKernels() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                        mlir::tensor::TensorDialect>();
  }
  llvm::Expected<cpu::CompiledObject> compile(const char *text,
                                              std::string cpu = "native") {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    cpu::CpuOptions options;
    options.cpu = std::move(cpu);
    return cpu::compileCpuKernels(*module, options);
  }
  mlir::MLIRContext context;
};

TEST_F(CompileCpuKernels, GivesEqualBytesForEqualInput) {
  auto first = compile(twoKernels), second = compile(twoKernels);
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
  EXPECT_EQ(first->sharedObject, second->sharedObject);
}

TEST_F(CompileCpuKernels, NamesSymbolsAndExtents) {
  auto compiled = compile(twoKernels);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  ASSERT_EQ(compiled->kernels.size(), 2u);
  EXPECT_EQ(compiled->kernels[0].symbol, "exponential");
  EXPECT_EQ(compiled->kernels[0].extent, 1);
  EXPECT_EQ(compiled->kernels[1].symbol, "row_sum");
  EXPECT_EQ(compiled->kernels[1].extent, 3);
  auto loaded = test::LoadedKernels::load(compiled->sharedObject);
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  EXPECT_EQ(loaded->find("no_such_kernel"), nullptr);
  float x[60], sums[3] = {-1, -1, -1};
  for (int i = 0; i < 60; ++i)
    x[i] = i;
  void *arguments[] = {x, sums};
  loaded->find("row_sum")(arguments, 1, 2);
  EXPECT_EQ(sums[0], -1);
  EXPECT_EQ(sums[1], 590);
  EXPECT_EQ(sums[2], -1);
}

TEST_F(CompileCpuKernels, CallsVectorFunctionsOfTheChosenWidth) {
  for (auto [cpu, function] : {std::pair("x86-64", "_ZGVbN4v_expf"),
                               std::pair("x86-64-v3", "_ZGVdN8v_expf"),
                               std::pair("x86-64-v4", "_ZGVeN16v_expf")}) {
    auto compiled = compile(twoKernels, cpu);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    auto buffer = llvm::MemoryBufferRef(compiled->sharedObject, "kernels");
    auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    std::vector<std::string> undefined;
    auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file->get());
    for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators())
      if (llvm::cantFail(symbol.getFlags()) &
          llvm::object::SymbolRef::SF_Undefined)
        undefined.push_back(llvm::cantFail(symbol.getName()).str());
    EXPECT_EQ(undefined, std::vector<std::string>{function});
  }
}

TEST_F(CompileCpuKernels, RefusesAnUnknownCpu) {
  auto compiled = compile(twoKernels, "pentium-9");
  ASSERT_FALSE(bool(compiled));
  EXPECT_EQ(llvm::toString(compiled.takeError()),
            "unknown CPU 'pentium-9'; expects native, x86-64-v3, x86-64-v4, "
            "znver4, ...");
}

TEST_F(CompileCpuKernels, NamesAKernelThatItCannotBuild) {
  auto compiled = compile(R"mlir(
    func.func @passes_through(%x: tensor<3xf32>, %y: tensor<4xf32>) -> (tensor<3xf32>, tensor<4xf32>) {
      return %x, %y : tensor<3xf32>, tensor<4xf32>
    })mlir");
  ASSERT_FALSE(bool(compiled));
  std::string message = llvm::toString(compiled.takeError());
  EXPECT_NE(message.find("kernel passes_through"), std::string::npos)
      << message;
}

} // namespace
