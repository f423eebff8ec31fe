// What cuDNN is asked for is attention: its graphs, computed step by step, and
// the PTX of the kernels around them, beside plain loops in float64.
#include "runtime/cuda/attention/AttentionLaunches.h"
#include "runtime/cuda/attention/CudnnChoice.h"
#include "test/emulated-cuda/AttentionProblem.h"
#include "test/emulated-cuda/ComputeGraph.h"
#include "test/emulated-cuda/RunAttention.h"
#include "test/emulated-cuda/RunKernel.h"

#include <optional>

using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

/// A case's tensors, and the entries that they are of.
struct Entries {
  Problem problem;
  Room query, key, value, gradient, stored, storedSums, output, logSumExp;
  Room queryGradient, keyGradient, valueGradient;
  std::optional<Room> bias, mask;
  entry::Attention forward;
  entry::AttentionGrad backward;

  Entries(const Case &of, plan::DType dtype)
      : problem(of, dtype), query(problem.query, 8), key(problem.key),
        value(problem.value, 16), gradient(problem.gradient),
        stored(problem.stored), storedSums(problem.storedSums),
        output(dtype, problem.gradient.shape, 8),
        logSumExp(plan::FLOAT32, {of.batch, of.heads, of.queries}),
        queryGradient(dtype, problem.query.shape, 24),
        keyGradient(dtype, problem.key.shape, 8),
        valueGradient(dtype, problem.value.shape) {
    entry::AttentionOperands &operands = forward.operands;
    operands.query = query.tensor;
    operands.key = key.tensor;
    operands.value = value.tensor;
    if (!of.bias.empty())
      operands.bias = bias.emplace(problem.bias).tensor;
    if (of.mask)
      operands.keyMask = mask.emplace(problem.mask).tensor;
    operands.scale = problem.scale;
    operands.left = of.left, operands.right = of.right();
    forward.output = output.tensor;
    forward.logSumExp = logSumExp.tensor;
    backward.operands = operands;
    backward.gradient = gradient.tensor;
    backward.output = stored.tensor;
    backward.logSumExp = storedSums.tensor;
    backward.queryGradient = queryGradient.tensor;
    backward.keyGradient = keyGradient.tensor;
    backward.valueGradient = valueGradient.tensor;
  }
};

/// What the steps enqueue.
void run(const CudnnSteps &steps, plan::DType dtype) {
  ASSERT_GE(steps.workspaceBytes, 0);
  if (steps.bias)
    runKernel("AttentionBias",
              dtype == plan::BFLOAT16 ? "attention_bias_bf16"
                                      : "attention_bias_f16",
              attentionThreads, *steps.bias);
  if (steps.rows)
    test::run(*steps.rows);
  if (steps.scaled)
    runKernel("AttentionBias",
              dtype == plan::BFLOAT16 ? "attention_scaled_bf16"
                                      : "attention_scaled_f16",
              attentionThreads, *steps.scaled);
  compute(steps.graph);
  if (steps.unseen)
    runKernel("AttentionBias", "attention_unseen", attentionThreads,
              *steps.unseen);
}

void run(const std::vector<CudnnSteps> &parts, plan::DType dtype) {
  for (const CudnnSteps &part : parts)
    run(part, dtype);
}

void expectGradients(Entries &all) {
  // Grouped heads have their gradients rounded, each by itself.
  double tolerance = all.problem.tolerance(true) + 0x1p-9;
  expectNear(all.queryGradient, all.problem.queryGradient, tolerance,
             "query_gradient");
  expectNear(all.keyGradient, all.problem.keyGradient, tolerance,
             "key_gradient");
  expectNear(all.valueGradient, all.problem.valueGradient, tolerance,
             "value_gradient");
}

void compareForward(const Case &of, plan::DType dtype, bool keepsSums = true) {
  SCOPED_TRACE(testing::Message()
               << plan::DType_Name(dtype) << " " << of.queries << " x "
               << of.keys << ", heads " << of.heads << "/" << of.groups);
  Entries all(of, dtype);
  std::string why;
  ASSERT_TRUE(suitsCudnn(all.forward, why)) << why;
  Room workspace(plan::UINT8, {1 << 20});
  all.forward.workspace = workspace.tensor;
  if (!keepsSums)
    all.forward.logSumExp = {};
  run(cudnnSteps(all.forward), dtype);
  expectNear(all.output, all.problem.output, all.problem.tolerance(true),
             "output");
  if (keepsSums)
    expectNear(all.logSumExp, all.problem.logSumExp,
               all.problem.tolerance(false), "log_sum_exp");
}

TEST(CudnnGraphs, ComputeAttention) {
  for (plan::DType dtype : {plan::BFLOAT16, plan::FLOAT16}) {
    compareForward({1, 1, 1, 1, 1, 8, 8}, dtype);
    compareForward({2, 9, 15, 4, 2, 16, 24}, dtype);
    compareForward({1, 20, 20, 2, 1, 24, 8, true}, dtype);
  }
}

TEST(CudnnGraphs, AddBiasesAndMasksAndKnowRowsThatSeeNothing) {
  for (const Case &of : {
           Case{2, 12, 12, 2, 2, 16, 8, true, true},
           Case{2, 9, 15, 2, 1, 8, 8, false, true, {2, 1, 9, 15}, true},
           Case{1, 12, 12, 4, 2, 8, 16, true, false, {1, 4, 1, 12}},
           Case{2, 3, 14, 2, 2, 8, 8, false, true, {1, 1, 1, 1}},
           Case{1, 20, 20, 2, 1, 24, 8, true, false, {}, false, 0, 4},
           Case{2, 12, 12, 2, 2, 16, 8, true, true, {}, false, 0, 0},
       })
    for (bool keepsSums : {true, false})
      compareForward(of, plan::BFLOAT16, keepsSums);
}

/// Where a bias hides every key by a number, that number is not log_sum_exp's any
/// more, but the output is.
TEST(CudnnGraphs, AverageWhereABiasHidesAllByANumber) {
  Entries all(
      {1, 3, 40, 2, 1, 8, 8, false, false, {1, 1, 3, 40}, true, -3.3e38},
      plan::BFLOAT16);
  Room workspace(plan::UINT8, {1 << 20});
  all.forward.workspace = workspace.tensor;
  // All of a row's keys have one number there, or -inf.
  run(cudnnSteps(all.forward), plan::BFLOAT16);
  for (double each : all.logSumExp.numbers())
    EXPECT_LT(each, -9e35);
  expectNear(all.output, all.problem.output, all.problem.tolerance(true),
             "output");
}

TEST(CudnnGraphs, ComputeTheGradient) {
  for (const Case &of : {
           Case{1, 128, 128, 2, 1, 8, 8, true},
           Case{2, 128, 256, 2, 2, 8, 16},
           Case{2, 128, 128, 2, 1, 8, 8, true, true},
           Case{1, 128, 128, 2, 2, 8, 8, false, false, {1, 2, 1, 128}},
           Case{1, 128, 128, 2, 1, 8, 8, true, false, {}, false, 0, 30},
           // All keys of a row have -10000, or float32's lowest, or -inf.
           Case{1,
                128,
                128,
                1,
                1,
                8,
                8,
                true,
                false,
                {1, 1, 128, 128},
                true,
                -1e4},
           Case{1,
                128,
                128,
                1,
                1,
                8,
                8,
                false,
                true,
                {1, 1, 128, 128},
                true,
                -3.3e38},
       })
    for (QuerySums sums :
         {QuerySums::Atomic, QuerySums::Ordered, QuerySums::Scores}) {
      Entries all(of, plan::BFLOAT16);
      std::string why;
      ASSERT_TRUE(suitsCudnn(all.backward, why)) << why;
      Room workspace(plan::UINT8, {1 << 20});
      all.backward.workspace = workspace.tensor;
      run(cudnnSteps(all.backward, sums), plan::BFLOAT16);
      expectGradients(all);
    }
}

/// Less and less room: fewer samples at a time, then fewer heads of one.
TEST(CudnnGraphs, ComputeTheGradientInParts) {
  for (const Case &of :
       {Case{2, 128, 128, 4, 2, 8, 8, true},
        Case{2, 128, 128, 2, 2, 8, 16, false, true, {2, 1, 1, 128}}}) {
    Entries all(of, plan::BFLOAT16);
    Room workspace(plan::UINT8, {1 << 20});
    all.backward.workspace = workspace.tensor;
    std::vector<size_t> counts;
    for (int64_t &bytes = all.backward.workspace.shape[0]; bytes > 0;
         bytes -= 8 << 10) {
      std::vector<CudnnSteps> parts =
          cudnnSteps(all.backward, QuerySums::Scores);
      if (!counts.empty() && parts.size() <= counts.back())
        continue;
      counts.push_back(parts.size());
      run(parts, plan::BFLOAT16);
      expectGradients(all);
    }
    EXPECT_EQ(counts, (std::vector<size_t>{1, 2, 4}));
  }
}

TEST(CudnnGraphs, LeaveOutWhatTheyDoNotSay) {
  auto whyNot = [](const Case &of, plan::DType dtype, bool gradient) {
    Entries all(of, dtype);
    std::string why;
    EXPECT_FALSE(gradient ? suitsCudnn(all.backward, why)
                          : suitsCudnn(all.forward, why));
    return why;
  };
  EXPECT_EQ(whyNot({1, 4, 4, 1, 1, 8, 8}, plan::FLOAT32, false),
            "cuDNN has engines for elements of 16 bits, and these are float32");
  EXPECT_EQ(whyNot({1, 4, 6, 1, 1, 8, 8, true}, plan::BFLOAT16, false),
            "cuDNN's causal mask wants as many keys as queries, and there are "
            "6 and 4");
  for (int64_t right : {-1, 1})
    EXPECT_EQ(
        whyNot({1, 4, 4, 1, 1, 8, 8, false, false, {}, false, 0, 2, right},
               plan::BFLOAT16, false),
        "cuDNN is asked for windows that are causal, and this one is not");
  EXPECT_EQ(whyNot({1, 4, 4, 1, 1, 12, 8}, plan::BFLOAT16, false),
            "cuDNN's head dims are multiples of 8 up to 256, and one is 12");
  EXPECT_EQ(whyNot({1, 128, 64, 1, 1, 8, 8}, plan::BFLOAT16, true),
            "cuDNN's gradient is taken for multiples of 128 queries and keys, "
            "and there are 128 and 64");
  Entries all({1, 4, 4, 1, 1, 8, 8}, plan::BFLOAT16);
  all.forward.operands.key.data += 2;
  std::string why;
  EXPECT_FALSE(suitsCudnn(all.forward, why));
  EXPECT_NE(why.find("multiples of 16 bytes"), std::string::npos) << why;
}

} // namespace
} // namespace shardc::test
