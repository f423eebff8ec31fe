// The folder of compiled kernels: what is found is what was stored under the
// same key, or nothing; and keys tell apart what compiles to different code.
#include "codegen/kernels/KernelCache.h"
#include "codegen/cpu/CompileCpuKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace shardc;
using kernels::KernelCache;

namespace {

constexpr const char *doubled = R"mlir(
func.func @doubled(%x: tensor<20xf32>) -> tensor<20xf32> {
  %empty = tensor.empty() : tensor<20xf32>
  %y = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%x : tensor<20xf32>) outs(%empty : tensor<20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<20xf32>
  return %y : tensor<20xf32>
}
)mlir";

struct KernelCacheTest : testing::Test {
  KernelCacheTest() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::linalg::LinalgDialect,
                        mlir::tensor::TensorDialect>();
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("kernels", folder));
    cache = llvm::cantFail(KernelCache::open(folder));
  }
  ~KernelCacheTest() override { llvm::sys::fs::remove_directories(folder); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  }
  std::string keyOf(const std::string &text, llvm::StringRef target = "cpu") {
    return cache.keyOf(*parse(text)->getOps<mlir::func::FuncOp>().begin(),
                       target);
  }
  std::string fileOf(const std::string &key) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "llvmcache-" + key);
    return path.str().str();
  }
  void write(const std::string &path, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
    EXPECT_FALSE(error);
  }

  mlir::MLIRContext context;
  llvm::SmallString<128> folder;
  KernelCache cache;
};

TEST_F(KernelCacheTest, FindsWhatWasStored) {
  std::string key = cache.keyOf("text", "cpu"), bytes("a\0b", 3);
  EXPECT_FALSE(cache.find(key));
  ASSERT_FALSE(bool(cache.store(key, bytes)));
  EXPECT_EQ(cache.find(key), bytes);
  EXPECT_FALSE(cache.find(cache.keyOf("text", "cuda")));
  EXPECT_FALSE(cache.find(cache.keyOf("texts", "cpu")));
  // Another process finds it too, and what is stored again replaces it.
  KernelCache again = llvm::cantFail(KernelCache::open(folder));
  EXPECT_EQ(again.find(key), bytes);
  ASSERT_FALSE(bool(again.store(key, "")));
  EXPECT_EQ(cache.find(key), "");
}

TEST_F(KernelCacheTest, FindsNothingThatIsDamaged) {
  std::string key = cache.keyOf("text", "cpu");
  ASSERT_FALSE(bool(cache.store(key, "abc")));
  std::string whole =
      (*llvm::MemoryBuffer::getFile(fileOf(key)))->getBuffer().str();
  for (size_t length = 0; length < whole.size(); ++length) {
    write(fileOf(key), whole.substr(0, length));
    EXPECT_FALSE(cache.find(key)) << length;
  }
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string flipped = whole;
    flipped[byte] ^= 1;
    write(fileOf(key), flipped);
    EXPECT_FALSE(cache.find(key)) << byte;
  }
  write(fileOf(key), whole);
  EXPECT_EQ(cache.find(key), "abc");
}

TEST_F(KernelCacheTest, KeysFollowTheKernelAlone) {
  std::string key = keyOf(doubled);
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(key, keyOf(doubled));
  EXPECT_EQ(key, keyOf(std::string("// Elsewhere in a file.\n\n") + doubled));
  EXPECT_NE(key, keyOf(doubled, "cpu:znver4"));
  std::string text = doubled;
  EXPECT_NE(key, keyOf(text.replace(text.find("addf"), 4, "mulf")));
  // No length of one part makes up for another's.
  EXPECT_NE(cache.keyOf("bc", "a"), cache.keyOf("c", "ab"));
}

TEST_F(KernelCacheTest, KeepsNothingWhoseValuesAreElsewhere) {
  EXPECT_EQ(keyOf(R"mlir(
    func.func @constant() -> tensor<1xf32> {
      %c = arith.constant dense_resource<values> : tensor<1xf32>
      return %c : tensor<1xf32>
    }
    {-# dialect_resources: {builtin: {values: "0x040000000000803F"}} #-}
  )mlir"),
            "");
  EXPECT_FALSE(cache.find(""));
  EXPECT_FALSE(bool(cache.store("", "abc")));
  EXPECT_FALSE(cache.find(""));
}

TEST_F(KernelCacheTest, KeepsNothingUnlessItIsOpen) {
  KernelCache closed;
  EXPECT_FALSE(closed.isOpen());
  EXPECT_EQ(closed.keyOf("text", "cpu"), "");
}

TEST_F(KernelCacheTest, OpensFoldersAlone) {
  write(fileOf("file"), "");
  for (std::string path : {fileOf("file"), std::string("/proc/none")}) {
    auto opened = KernelCache::open(path);
    ASSERT_FALSE(bool(opened));
    EXPECT_NE(llvm::toString(opened.takeError()).find(path), std::string::npos);
  }
}

TEST_F(KernelCacheTest, CompilesWhereNothingCanBeKept) {
  auto module = parse(doubled);
  auto plain = llvm::cantFail(cpu::compileCpuKernels(*module, {}));
  EXPECT_EQ(plain.warning, "");
  cpu::CpuOptions options;
  options.cache = cache;
  llvm::sys::fs::remove_directories(folder);
  auto compiled = llvm::cantFail(cpu::compileCpuKernels(*module, options));
  EXPECT_EQ(compiled.sharedObject, plain.sharedObject);
  EXPECT_TRUE(
      llvm::StringRef(compiled.warning)
          .starts_with(("cannot keep kernels in '" + folder + "': ").str()))
      << compiled.warning;
}

TEST_F(KernelCacheTest, GivesTheSameObjectAgain) {
  auto module = parse(doubled);
  cpu::CpuOptions options;
  options.cache = cache;
  auto first = llvm::cantFail(cpu::compileCpuKernels(*module, options));
  auto second = llvm::cantFail(cpu::compileCpuKernels(*module, options));
  EXPECT_EQ(first.warning, "");
  EXPECT_EQ(second.sharedObject, first.sharedObject);
  ASSERT_EQ(second.kernels.size(), 1u);
  EXPECT_EQ(second.kernels[0].symbol, "doubled");
  EXPECT_EQ(second.kernels[0].extent, first.kernels[0].extent);
}

} // namespace
