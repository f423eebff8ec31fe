// The report of a sharded step: what programs read and what people read.
#include "passes/report/Report.h"
#include "passes/Passes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace shardc;

namespace {

constexpr const char *parameters = R"(
  nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
)";

CompileReport reportOf(const std::string &text) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect, fsdp::FSDPDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(parameters + text, &context);
  CompileReport report;
  EXPECT_TRUE(module);
  if (module)
    collectSharding(*module, report);
  return report;
}

CompileReport sharded() {
  return reportOf(R"(
    fsdp.mesh @mesh {dims = array<i64: 1, 3>, names = ["replicate", "shard"], shard_dims = array<i64: 0, 1>,
      optimizer_dims = array<i64: 0, 1>, strategy = "full"}
    fsdp.group @world {stride = 1 : i64, size = 3 : i64}
    fsdp.unit @a {parameters = [@w], offsets = array<i64: 0>, elements = 24, padding = 8, shards = 3, optimizer_shards = 3, reshard = 3,
      element_type = f32, master_type = f32, gradient_type = f32, reason = "block 1 of 2"}
    fsdp.unit @b {parameters = [@v], offsets = array<i64: 0>, elements = 24, padding = 8, shards = 3, optimizer_shards = 3, reshard = 3,
      element_type = f32, master_type = f32, gradient_type = f32, reason = "block 2 of 2"}
    func.func @train(%dw: tensor<4x4xf32>, %loss: tensor<f64>) {
      %0 = fsdp.all_gather_start @a forward over @world
      %w = fsdp.all_gather_wait %0 : tensor<4x4xf32>
      fsdp.release @a(%w) : tensor<4x4xf32>
      %f = fsdp.flat_gradients @b(%dw) : (tensor<4x4xf32>) -> tensor<24xf32>
      %1 = fsdp.reduce_scatter_start @b %f over @world : tensor<24xf32>
      %g = fsdp.reduce_scatter_wait %1 : tensor<8xf32>
      %2 = fsdp.all_reduce_start optimizer(%loss, %loss) over @world {norms = array<i1: false, true>} : tensor<f64>, tensor<f64>
      %sums:2 = fsdp.all_reduce_wait %2 : tensor<f64>, tensor<f64>
      return
    }
    func.func @eval() {
      %0 = fsdp.all_gather_start @a forward over @world
      %w = fsdp.all_gather_wait %0 : tensor<4x4xf32>
      fsdp.release @a(%w) : tensor<4x4xf32>
      return
    }
  )");
}

std::string textOf(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

TEST(Report, listsUnitsAndTheTrainingStepsCollectives) {
  const llvm::json::Value json = toJson(sharded());
  const llvm::json::Object &object = *json.getAsObject();
  EXPECT_EQ(object.getString("mesh"), "1x3");
  EXPECT_EQ(object.getString("strategy"), "full");
  EXPECT_EQ(object.getInteger("ranks"), 3);
  EXPECT_EQ(
      textOf((*object.getArray("units"))[0]),
      R"({"bytes":96,"dtype":"float32","elements":24,"gradient_dtype":"float32","master_dtype":"float32",)"
      R"("name":"a","padding":8,"parameters":["w"],)"
      R"("per_rank":{"gradients":32,"master":0,"optimizer":64,"parameters":32},)"
      R"("reason":"block 1 of 2","reshard":3,"stays":false,"trained":true})");
  const llvm::json::Array &collectives = *object.getArray("collectives");
  ASSERT_EQ(collectives.size(), 3u);
  EXPECT_EQ(
      textOf(collectives[0]),
      R"({"bytes":96,"dtype":"float32","first":false,"group":"world","kind":"all_gather","last":false,"phase":"forward","ranks":3,"unit":"a"})");
  EXPECT_EQ(
      textOf(collectives[1]),
      R"({"bytes":96,"dtype":"float32","first":false,"group":"world","kind":"reduce_scatter","last":false,"phase":"backward","ranks":3,"unit":"b"})");
  EXPECT_EQ(
      textOf(collectives[2]),
      R"({"bytes":16,"dtype":"float64","first":false,"group":"world","kind":"all_reduce","last":true,"phase":"optimizer","ranks":3,"unit":null})");
  EXPECT_FALSE(object.get("memory"));
}

TEST(Report, takesWhatTheDriverKnows) {
  CompileReport report = sharded();
  report.memory = {{{"persistent", 300, {{"persistent", 300}}},
                    {"step", 96, {{"activation", 90}, {"gradient", 64}}}},
                   std::nullopt,
                   396,
                   390,
                   40};
  report.flopsPerStep = 1.5e9;
  report.kernels = 7;
  report.compileSeconds = 0.25;
  const llvm::json::Value json = toJson(report);
  EXPECT_EQ(
      textOf(*json.getAsObject()->get("memory")),
      R"({"accumulation_bytes":40,"kinds":{"activation":90,"gradient":64,"persistent":300},"live_bound_bytes":390,"peak_bytes":396,"pools":{"persistent":300,"step":96}})");
  EXPECT_EQ(json.getAsObject()->getNumber("flops_per_step"), 1.5e9);
  EXPECT_EQ(json.getAsObject()->getInteger("kernels"), 7);
  EXPECT_EQ(json.getAsObject()->getNumber("compile_seconds"), 0.25);
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, report);
  EXPECT_NE(text.find("memory per rank: 396 B (alive at once: at least 390 B)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("with --grad-accumulation"), std::string::npos) << text;
  EXPECT_NE(text.find("40 B more"), std::string::npos) << text;
  EXPECT_NE(text.find("1.50 GFLOP"), std::string::npos) << text;
}

TEST(Report, printsEqualUnitsInOneLine) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, sharded());
  EXPECT_EQ(text.find("mesh 1x3 (replicate=1, shard=3), strategy full: "
                      "parameters, gradients and optimizer state in 3 slices "
                      "over all ranks\n"),
            0u)
      << text;
  EXPECT_NE(text.find("a .. b (each of 2)"), std::string::npos) << text;
  EXPECT_NE(text.find("8 (33.333 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    block 1 of 2\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("block 2 of 2"), std::string::npos) << text;
}

TEST(Report, printsEveryReasonOfItsOwnKind) {
  CompileReport report = sharded();
  report.units[1].reason = "used after the last block";
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, report);
  EXPECT_EQ(text.find("each of"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    block 1 of 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    used after the last block\n"), std::string::npos)
      << text;
}

TEST(Report, keepsTheColumnsOfCollectivesApart) {
  CompileReport report = sharded();
  for (CompileReport::Collective &collective : report.collectives) {
    collective.kind = "scatter_matrices"; // the longest there is
    collective.phase = "optimizer";
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, report);
  EXPECT_NE(text.find("\n  scatter_matrices  optimizer   over world (3) "),
            std::string::npos)
      << text;
}

TEST(Report, saysWhatEachStrategyMeans) {
  CompileReport report;
  report.mesh = {{"replicate", 2}, {"shard", 8}};
  report.ranks = 16;
  auto meaning = [&](const char *strategy, std::vector<int64_t> parameters,
                     std::vector<int64_t> optimizer) {
    auto product = [&](const std::vector<int64_t> &dims) {
      int64_t count = 1;
      for (int64_t dim : dims)
        count *= report.mesh[dim].size;
      return count;
    };
    report.strategy = strategy;
    report.shardDims = parameters;
    report.optimizerDims = optimizer;
    report.shards = product(parameters);
    report.optimizerShards = product(optimizer);
    return meaningOf(report);
  };
  EXPECT_EQ(meaning("grad_op", {0, 1}, {0, 1}),
            "parameters, gradients and optimizer state in 16 slices over all "
            "ranks; parameters stay gathered until backward");
  EXPECT_EQ(meaning("hybrid", {1}, {1}),
            "parameters, gradients and optimizer state in 8 slices over "
            "dimension shard, replicated over replicate");
  EXPECT_EQ(meaning("hybrid_opt", {1}, {1, 0}),
            "parameters in 8 slices over dimension shard, replicated over "
            "replicate; reduced gradients and optimizer state in 16 slices "
            "over all ranks");
  EXPECT_EQ(meaning("opt", {}, {0, 1}),
            "every rank holds all parameters; reduced gradients and optimizer "
            "state in 16 slices over all ranks");
  EXPECT_EQ(meaning("none", {}, {}),
            "every one of 16 ranks holds all parameters, gradients and "
            "optimizer state");
}

TEST(Report, saysThatNothingIsSharded) {
  CompileReport report = reportOf(R"(
    fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "none"}
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @a {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
      element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
    func.func @train(%dw: tensor<4x4xf32>) {
      %f = fsdp.flat_gradients @a(%dw) : (tensor<4x4xf32>) -> tensor<16xf32>
      %0 = fsdp.all_reduce_gradients_start @a %f over @world : tensor<16xf32>
      %g = fsdp.all_reduce_gradients_wait %0 : tensor<16xf32>
      return
    }
  )");
  ASSERT_EQ(report.collectives.size(), 1u);
  EXPECT_EQ(report.collectives[0].kind, "all_reduce");
  EXPECT_EQ(report.collectives[0].unit, "a");
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, report);
  EXPECT_EQ(text.find("mesh 2, strategy none: every one of 2 ranks holds all"),
            0u)
      << text;
}

} // namespace
