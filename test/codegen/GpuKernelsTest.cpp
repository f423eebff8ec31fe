// GPU kernels without a GPU: how precise exp is, what the emulator notices, and
// what is read from ptxas.
#include "codegen/gpu/CompileGpuKernels.h"
#include "test/lib/EmulatedKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace shardc;

namespace {

struct GpuKernels : testing::Test {
  GpuKernels() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::gpu::GPUDialect, mlir::linalg::LinalgDialect,
                        mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  }
  mlir::MLIRContext context;
};

constexpr const char *exponential = R"mlir(
#same = affine_map<(d0) -> (d0)>
func.func @exponential(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %empty = tensor.empty() : tensor<65536xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%x : tensor<65536xf32>) outs(%empty : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<65536xf32>
  return %y : tensor<65536xf32>
}
)mlir";

// ex2.approx is off by 2 units in the last place at most, the host's function
// in its place by less than one: what is around them may add 2.
TEST_F(GpuKernels, ExponentialIsWithinThreeUnitsOnTheHost) {
  auto kernels = mlir::parseSourceString<mlir::ModuleOp>(exponential, &context);
  auto parent = mlir::parseSourceString<mlir::ModuleOp>("", &context);
  auto module = gpu::emitGpuKernels(
      *kernels, *parent, "kernels",
      [](llvm::StringRef, llvm::StringRef why) { FAIL() << why.str(); });
  auto emulated = test::EmulatedKernels::compile(module, "native");
  ASSERT_TRUE(bool(emulated)) << llvm::toString(emulated.takeError());
  alignas(16) static float x[65536], y[65536];
  for (int i = 0; i < 65536; ++i)
    x[i] = -100.0f + 190.0f * i / 65535;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  x[0] = -infinity;
  x[1] = infinity;
  x[2] = std::numeric_limits<float>::quiet_NaN();
  x[3] = -0.0f;
  x[4] = -1000;
  void *arguments[] = {x, y};
  for (int64_t block = 0; block < emulated->grid("exponential"); ++block) {
    llvm::Error error =
        emulated->runBlock("exponential", arguments, block, block % 2);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], 0);
  for (int i = 5; i < 65536; ++i) {
    double exact = std::exp(double(x[i]));
    if (exact > std::numeric_limits<float>::max()) {
      EXPECT_EQ(y[i], infinity) << x[i];
      continue;
    }
    float unit = std::nextafter(float(exact), infinity) - float(exact);
    EXPECT_LE(std::abs(y[i] - exact), 3.0 * unit) << x[i];
  }
}

TEST_F(GpuKernels, EmulatorNoticesThreadsThatDoNotMeet) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
gpu.module @kernels {
  gpu.func @half_of_a_warp() kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %id = gpu.thread_id x
    %number = arith.index_cast %id : index to i32
    %half = arith.constant 16 : i32
    %first = arith.cmpi ult, %number, %half : i32
    scf.if %first {
      gpu.barrier
    }
    gpu.return
  }
}
)mlir",
                                                        &context);
  ASSERT_TRUE(bool(module));
  auto emulated = test::EmulatedKernels::compile(
      *module->getOps<mlir::gpu::GPUModuleOp>().begin(), "native");
  ASSERT_TRUE(bool(emulated)) << llvm::toString(emulated.takeError());
  EXPECT_EQ(
      llvm::toString(emulated->runBlock("half_of_a_warp", nullptr, 0, false)),
      "thread 16 does not wait where thread 0 does");
}

TEST_F(GpuKernels, NamesAFunctionThatIsMissing) {
  auto kernels = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
#same = affine_map<(d0) -> (d0)>
func.func @errors(%x: tensor<64xf32>) -> tensor<64xf32> {
  %empty = tensor.empty() : tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%x : tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.cbrt %a : f32
    linalg.yield %e : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}
)mlir",
                                                         &context);
  auto target = gpu::GpuModel::resolve("sm_90");
  ASSERT_TRUE(bool(target));
  auto compiled = gpu::compileGpuKernels(*kernels, *target, {});
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  ASSERT_EQ(compiled->kernels.size(), 1u);
  EXPECT_EQ(compiled->kernels[0].refusal,
            "calls __nv_cbrtf, which codegen/gpu/Functions.cu lacks");
  EXPECT_EQ(compiled->kernels[0].ptx, "");
}

TEST(Ptxas, ReadsRegistersSpillsAndSharedMemory) {
  auto usage = gpu::parsePtxas(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Function properties for k\n"
      "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 1056 bytes smem\n");
  ASSERT_TRUE(usage.has_value());
  EXPECT_EQ(usage->registers, 40);
  EXPECT_EQ(usage->stackBytes, 8);
  EXPECT_EQ(usage->spillBytes, 28);
  EXPECT_EQ(usage->sharedBytes, 1056);
  EXPECT_FALSE(gpu::parsePtxas("ptxas fatal : no input").has_value());
}

TEST(GpuModel, RefusesWhatItDoesNotKnow) {
  for (const char *name : {"sm_80", "sm_90", "sm_100"})
    EXPECT_TRUE(bool(gpu::GpuModel::resolve(name))) << name;
  auto unknown = gpu::GpuModel::resolve("sm_12");
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "unknown GPU 'sm_12'; expects sm_80, sm_90 or sm_100");
}

} // namespace
