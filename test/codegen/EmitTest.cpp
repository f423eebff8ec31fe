// A planned step as plan.proto, and the trainer file around it.
#include "codegen/Passes.h"
#include "codegen/emit/WriteTrainer.h"
#include "codegen/lower/LibraryCalls.h"
#include "frontend/nn/NN.h"
#include "runtime/Container.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

namespace shardc {
namespace {

constexpr const char *model = R"(
module attributes {nn.loss = {kind = "cross_entropy", labels = "labels", ignore_index = -100 : i64, shift = 1 : i64,
                              classes = 6 : i64, elements = 0 : i64}, fsdp.accumulate = "sharded"} {
  fsdp.mesh @mesh {dims = array<i64: 2, 3>, names = ["replicate", "shard"], shard_dims = array<i64: 1>,
    optimizer_dims = array<i64: 1>, strategy = "hybrid"}
  fsdp.group @world {stride = 1 : i64, size = 6 : i64}
  fsdp.group @replicate {stride = 3 : i64, size = 2 : i64}
  fsdp.group @shard {stride = 1 : i64, size = 3 : i64}
  nn.parameter @w : tensor<6x4xf32> {initializer = "val_1", file = "model.data", offset = 8 : i64, length = 96 : i64,
    stored_type = f32, transposed, trainable, init = "normal:0,1", nn.parameter_role = "weight"}
  nn.parameter @scale : tensor<4xf32> {initializer = "s", file = "", offset = 3 : i64, length = 16 : i64, stored_type = f32}
  fsdp.unit @root {parameters = [@w], offsets = array<i64: 0>, elements = 24 : i64, padding = 0 : i64, shards = 3 : i64,
    optimizer_shards = 3 : i64, reshard = 3 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
  module @kernels { func.func private @k(tensor<2x3x4xf32>, tensor<4xf32>, tensor<2xi1>) -> tensor<2x3x4xf32> }
  func.func @train(%x: tensor<2x3x4xf32> {nn.name = "x", nn.role = "input"},
                   %labels: tensor<2x3xi64> {nn.name = "labels", nn.role = "labels"},
                   %scale: tensor<f32> {nn.role = "loss_scale"}) {
    %s = nn.get_parameter @scale : tensor<4xf32>
    %m = nn.constant dense<[true, false]> : tensor<2xi1>
    %h = step.call @kernels::@k(%x, %s, %m) : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<2xi1>) -> tensor<2x3x4xf32> loc("a/k")
    %t = fsdp.all_gather_start @root forward over @shard
    %w = fsdp.all_gather_wait %t : tensor<6x4xf32>
    %loss, %dw = "nn.linear_cross_entropy_grad"(%h, %w, %labels, %scale) <{ignore_index = -100 : i64, shift = 1 : i64,
      operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>,
      transpose_weight, resultSegmentSizes = array<i32: 1, 0, 1, 0>}>
      : (tensor<2x3x4xf32>, tensor<6x4xf32>, tensor<2x3xi64>, tensor<f32>) -> (tensor<f32>, tensor<6x4xf32>) loc(fused["b", "c"])
    %f = fsdp.flat_gradients @root(%dw) : (tensor<6x4xf32>) -> tensor<24xf32>
    %r = fsdp.reduce_scatter_start @root %f over @shard : tensor<24xf32>
    %g = fsdp.reduce_scatter_wait %r : tensor<8xf32>
    %a = fsdp.accumulate %g in f32 : tensor<8xf32>
    %c = fsdp.all_reduce_gradients_start @root %a over @replicate last : tensor<8xf32>
    %ga = fsdp.all_reduce_gradients_wait %c : tensor<8xf32>
    %n = fsdp.gradient_norm %ga : (tensor<8xf32>) -> tensor<68xi64>
    %at = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
    %sum = fsdp.all_reduce_wait %at : tensor<68xi64>
    %f_sum = fsdp.round_sum %sum norm : tensor<68xi64> -> tensor<f64>
    fsdp.optimizer_step @root(%ga, %f_sum) "adamw" : tensor<8xf32>, tensor<f64>
    fsdp.metric "loss" %loss : tensor<f32>
    return
  }
})";

class Emit : public testing::Test {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, fsdp::FSDPDialect, step::StepDialect,
                    mlir::func::FuncDialect>();
    registerLibraryCalls(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(model, &context);
    ASSERT_TRUE(module);
    mlir::PassManager passes(&context);
    passes.addPass(createStepLower());
    passes.addPass(createStepPlanMemory());
    passes.addPass(createStepVerify());
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }

  EmittedPlan emit(bool embedWeights = false) {
    EmitOptions options;
    options.model = "m.onnx";
    options.embedWeights = embedWeights;
    return llvm::cantFail(emitPlan(*module, options));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(Emit, SaysWhatTheModelIs) {
  plan::Plan plan = emit().plan;
  EXPECT_EQ(plan.model(), "m.onnx");
  ASSERT_EQ(plan.kernels_size(), 1);
  EXPECT_EQ(plan.kernels(0).symbol(), "k");
  EXPECT_EQ(plan.mesh().ranks(), 6);
  EXPECT_EQ(plan.mesh().shards(), 3);
  EXPECT_EQ(plan.mesh().optimizer_shards(), 3);
  EXPECT_EQ(plan.mesh().strategy(), "hybrid");
  ASSERT_EQ(plan.mesh().names_size(), 2);
  EXPECT_EQ(plan.mesh().names(0), "replicate");
  ASSERT_EQ(plan.mesh().optimizer_dims_size(), 1);
  EXPECT_EQ(plan.mesh().optimizer_dims(0), 1);
  // The world is group 0.
  ASSERT_EQ(plan.groups_size(), 3);
  EXPECT_EQ(plan.groups(0).size(), 6);
  EXPECT_EQ(plan.groups(1).name(), "replicate");
  EXPECT_EQ(plan.groups(1).stride(), 3);
  EXPECT_EQ(plan.groups(2).size(), 3);
  EXPECT_EQ(plan.accumulate(), "sharded");
  ASSERT_EQ(plan.parameters_size(), 2);
  const plan::Parameter &w = plan.parameters(0);
  EXPECT_EQ(w.name(), "w");
  EXPECT_EQ(w.source().file(), "model.data");
  EXPECT_EQ(w.source().offset(), 8);
  EXPECT_TRUE(w.source().transposed());
  EXPECT_EQ(w.init(), "normal:0,1");
  EXPECT_EQ(w.role(), "weight");
  // A parameter that no unit holds has a unit of its own, whole everywhere.
  EXPECT_EQ(plan.units(plan.parameters(1).unit()).name(), "resident.f32");
  EXPECT_EQ(plan.units(plan.parameters(1).unit()).shards(), 1);
  EXPECT_EQ(plan.units(plan.parameters(1).unit()).optimizer_shards(), 0);
  const plan::Unit &root = plan.units(0);
  EXPECT_EQ(plan.buffers(root.parameter_buffer()).bytes(), 32);
  EXPECT_EQ(root.optimizer_shards(), 3);
  EXPECT_EQ(root.master_dtype(), plan::FLOAT32);
  EXPECT_EQ(root.gradient_dtype(), plan::FLOAT32);
  EXPECT_EQ(root.state_buffers_size(), 2);
  // Sums over micro-batches have a pool of their own.
  ASSERT_EQ(plan.pools_size(), 4);
  EXPECT_EQ(plan.pools(3).name(), "accumulation");
  EXPECT_EQ(plan.pools(3).bytes(), 64);
  // The pool of a step has three kinds of buffers.
  ASSERT_EQ(plan.pools(1).kinds_size(), 3);
  EXPECT_EQ(plan.pools(1).kinds(0).name(), "activation");
  EXPECT_EQ(plan.optimizer().states(1), "exp_avg_sq");
  EXPECT_EQ(plan.loss().kind(), "cross_entropy");
  EXPECT_EQ(plan.loss().ignore_index(), -100);
  EXPECT_EQ(plan.buffers(plan.loss().scale_buffer()).name(),
            "input.loss_scale");
  ASSERT_EQ(plan.inputs_size(), 2);
  EXPECT_FALSE(plan.inputs(0).bounded());
  EXPECT_EQ(plan.inputs(1).max_value(), 5);
  ASSERT_EQ(plan.constants_size(), 1);
  EXPECT_EQ(plan.constants(0).data(), std::string("\1\0", 2));
}

TEST_F(Emit, EntriesReferToBuffersKernelsAndUnits) {
  plan::Plan plan = emit().plan;
  std::vector<std::string> names;
  for (const plan::Entry &entry : plan.train().entries())
    names.push_back(entry.phase() + " " + entry.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "forward k", "forward root/all_gather_start",
                "forward root/wait", "forward root/linear_cross_entropy",
                "backward root/reduce_scatter_start", "backward root/wait.1",
                "backward root/accumulate", "backward root/all_reduce_start",
                "backward root/wait.2", "optimizer root/gradient_norm",
                "optimizer root/all_reduce_start.1", "optimizer root/wait.3",
                "optimizer root/round_sum", "optimizer root/optimizer_step",
                "optimizer root/metric"}));
  const plan::Entry &loss = plan.train().entries(3);
  EXPECT_EQ(loss.nodes_size(), 2);
  const plan::LinearCrossEntropy &call = loss.linear_cross_entropy();
  EXPECT_FALSE(call.has_input_gradient());
  // The weight's gradient is written where the reduce-scatter reads it.
  const plan::ReduceScatterStart &scatter =
      plan.train().entries(4).reduce_scatter_start();
  EXPECT_EQ(call.weight_gradient().buffer(), scatter.flat().buffer());
  EXPECT_EQ(plan.train().entries(5).wait().token(), scatter.token());
  EXPECT_EQ(plan.groups(scatter.group()).name(), "shard");
  // Every micro-batch adds its shard; what crosses replicas is the sum, in
  // place, in the last micro-batch.
  const plan::Accumulate &sum = plan.train().entries(6).accumulate();
  EXPECT_EQ(sum.value().buffer(), scatter.shard().buffer());
  EXPECT_EQ(
      plan.pools(int(plan.buffers(sum.accumulator().buffer()).pool())).name(),
      "accumulation");
  EXPECT_FALSE(plan.train().entries(4).last());
  EXPECT_FALSE(plan.train().entries(6).last());
  const plan::AllReduceStart &across =
      plan.train().entries(7).all_reduce_start();
  EXPECT_TRUE(across.has_unit());
  EXPECT_EQ(plan.groups(across.group()).name(), "replicate");
  EXPECT_EQ(across.values(0).buffer(), scatter.shard().buffer());
  EXPECT_TRUE(plan.train().entries(7).last());
  EXPECT_TRUE(plan.train().entries(8).last());
  const plan::AllReduceStart &norm =
      plan.train().entries(10).all_reduce_start();
  EXPECT_FALSE(norm.has_unit());
  ASSERT_EQ(norm.norms_size(), 1);
  EXPECT_TRUE(norm.norms(0));
  const plan::GradientNorm &powers = plan.train().entries(9).gradient_norm();
  ASSERT_EQ(powers.units_size(), 1);
  EXPECT_EQ(plan.units(int(powers.units(0))).name(), "root");
  const plan::Launch &launch = plan.train().entries(0).launch();
  EXPECT_EQ(launch.inputs_size(), 3);
  EXPECT_EQ(launch.outputs_size(), 1);
  EXPECT_EQ(plan.train().entries(13).optimizer_step().kind(), "adamw");
  // What the kernel reads and writes from each address on.
  const auto &bytes = plan.kernels(0).argument_bytes();
  EXPECT_EQ(std::vector<int64_t>(bytes.begin(), bytes.end()),
            (std::vector<int64_t>{96, 16, 2, 96}));
}

TEST_F(Emit, TrainersAreByteEqualAndSectionsReadBack) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("shardc-emit", folder));
  auto inFolder = [&](llvm::StringRef name) {
    return (folder + "/" + name).str();
  };
  auto put = [&](llvm::StringRef name, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(inFolder(name), error) << bytes;
    ASSERT_FALSE(error);
  };
  auto get = [&](llvm::StringRef name) {
    return (*llvm::MemoryBuffer::getFile(inFolder(name)))->getBuffer().str();
  };
  put("runtime", std::string(5000, 'R'));
  put("model.onnx", "abc" + std::string(16, 'S'));
  put("model.data", std::string(8, '-') + std::string(96, 'W'));

  EmittedPlan plan = emit(/*embedWeights=*/true);
  std::string bytes = plan.serialize();
  EXPECT_EQ(bytes, emit(/*embedWeights=*/true).serialize());
  TrainerContents contents{inFolder("runtime"),
                           {{bytes, "KERNELS"}, {"PLAN 1", "KERNELS 1"}},
                           "",
                           plan.weights,
                           inFolder("model.onnx")};
  EXPECT_FALSE(writeTrainer(inFolder("a.trainer"), contents));
  EXPECT_FALSE(writeTrainer(inFolder("b.trainer"), contents));
  std::string trainer = get("a.trainer");
  EXPECT_EQ(trainer, get("b.trainer"));
  EXPECT_TRUE(llvm::sys::fs::can_execute(inFolder("a.trainer")));

  container::Footer footer;
  std::memcpy(&footer, trainer.data() + trainer.size() - sizeof(footer),
              sizeof(footer));
  EXPECT_EQ(std::memcmp(footer.magic, container::magic, 8), 0);
  ASSERT_EQ(footer.sections, 6u);
  std::vector<container::Section> sections(footer.sections);
  std::memcpy(sections.data(), trainer.data() + footer.tableOffset,
              sections.size() * sizeof(container::Section));
  for (const container::Section &section : sections) {
    EXPECT_EQ(section.offset % container::alignment, 0u);
    EXPECT_EQ(section.checksum,
              container::Checksum::of(trainer.data() + section.offset,
                                      section.length));
  }
  auto textOf = [&](int index) {
    return trainer.substr(sections[index].offset, sections[index].length);
  };
  EXPECT_EQ(textOf(1), bytes);
  EXPECT_EQ(textOf(2), "KERNELS");
  EXPECT_EQ(textOf(3), "PLAN 1");
  EXPECT_EQ(textOf(4), "KERNELS 1");
  for (int index : {3, 4})
    EXPECT_EQ(sections[index].target, 1u);
  EXPECT_EQ(sections[5].kind, container::sectionWeights);
  for (auto [parameter, letter] : {std::pair(0, 'W'), std::pair(1, 'S')}) {
    const plan::Source &source = plan.plan.parameters(parameter).source();
    EXPECT_TRUE(source.embedded());
    EXPECT_EQ(
        trainer.substr(sections[5].offset + source.offset(), source.length()),
        std::string(source.length(), letter));
  }

  // A failure leaves the old file and nothing else.
  contents.runtime = inFolder("missing");
  EXPECT_EQ(llvm::toString(writeTrainer(inFolder("a.trainer"), contents)),
            "cannot read the trainer's runtime '" + inFolder("missing") +
                "': No such file or directory");
  EXPECT_EQ(trainer, get("a.trainer"));
  std::error_code error;
  int files = 0;
  for (llvm::sys::fs::directory_iterator file(folder, error), none;
       file != none; file.increment(error))
    ++files;
  EXPECT_EQ(files, 5);
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
} // namespace shardc
