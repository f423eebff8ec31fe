// The PTX of attention's kernels, as entries launch them, beside plain loops in
// float64.
#include "runtime/cuda/attention/AttentionLaunches.h"
#include "test/emulated-cuda/AttentionProblem.h"
#include "test/emulated-cuda/RunAttention.h"

using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

/// Of compute capability 8.0.
constexpr int64_t mostSharedBytes = 163 << 10;

bool hasMatrixUnits(const auto &of) {
  return of.launches.back().file.find_first_of("0123456789") !=
         std::string_view::npos;
}

/// Returns whether matrix units computed it.
bool compare(const Case &of, plan::DType dtype) {
  SCOPED_TRACE(testing::Message()
               << plan::DType_Name(dtype) << " batch " << of.batch << ", "
               << of.queries << " x " << of.keys << ", heads " << of.heads
               << "/" << of.groups << ", dims " << of.dim << ", " << of.valueDim
               << ", window " << of.left << ", " << of.right() << ", softcap "
               << of.softcap << ", sinks " << of.sinks << ", dropped "
               << of.drops.rate);
  Problem problem(of, dtype);
  Room query(problem.query, 8), key(problem.key), value(problem.value, 16);
  Room gradient(problem.gradient), stored(problem.stored);
  Room storedSums(problem.storedSums);
  std::optional<Room> bias, mask, sinks, words;
  entry::Attention forward;
  forward.operands.query = query.tensor;
  forward.operands.key = key.tensor;
  forward.operands.value = value.tensor;
  if (!of.bias.empty())
    forward.operands.bias = bias.emplace(problem.bias).tensor;
  if (of.mask)
    forward.operands.keyMask = mask.emplace(problem.mask).tensor;
  if (of.sinks)
    forward.operands.sinks = sinks.emplace(problem.sinks).tensor;
  if (of.drops.rate != 0) {
    std::vector<int32_t> drawn = of.drops.words();
    forward.operands.words =
        words
            .emplace(Numbers(plan::INT32, {8},
                             std::vector<double>(drawn.begin(), drawn.end())))
            .tensor;
    forward.operands.samples = of.drops.samples;
    forward.operands.rowStride = of.drops.rowStride;
  }
  forward.operands.scale = problem.scale;
  forward.operands.softcap = of.softcap;
  forward.operands.left = of.left, forward.operands.right = of.right();
  Room output(dtype, problem.gradient.shape, 8);
  Room logSumExp(sumType(dtype), {of.batch, of.heads, of.queries});
  forward.output = output.tensor;
  forward.logSumExp = logSumExp.tensor;
  auto launches = launchesOf(forward, mostSharedBytes);
  run(launches);
  double tolerance = problem.tolerance(hasMatrixUnits(launches));
  expectNear(output, problem.output, tolerance, "output");
  expectNear(logSumExp, problem.logSumExp, problem.tolerance(false),
             "log_sum_exp");

  entry::AttentionGrad backward;
  backward.operands = forward.operands;
  backward.gradient = gradient.tensor;
  backward.output = stored.tensor;
  backward.logSumExp = storedSums.tensor;
  Room queryGradient(dtype, problem.query.shape, 24);
  Room keyGradient(dtype, problem.key.shape, 8);
  Room valueGradient(dtype, problem.value.shape);
  backward.queryGradient = queryGradient.tensor;
  backward.keyGradient = keyGradient.tensor;
  backward.valueGradient = valueGradient.tensor;
  Room workspace(plan::UINT8, {attentionGradWorkspace(forward.operands)});
  backward.workspace = workspace.tensor;
  auto gradients = launchesOf(backward, mostSharedBytes);
  run(gradients);
  tolerance = problem.tolerance(hasMatrixUnits(gradients));
  expectNear(queryGradient, problem.queryGradient, tolerance, "query_gradient");
  expectNear(keyGradient, problem.keyGradient, tolerance, "key_gradient");
  expectNear(valueGradient, problem.valueGradient, tolerance, "value_gradient");
  return hasMatrixUnits(launches);
}

TEST(AttentionKernels, ComputeAnyShapeWithoutMatrixUnits) {
  for (const Case &of : {
           Case{1, 1, 1, 1, 1, 1, 1},
           Case{2, 33, 70, 2, 1, 3, 5, true, true},
           Case{1, 5, 130, 4, 2, 20, 33, false, false, {1, 4, 1, 130}},
           Case{1, 70, 9, 2, 2, 7, 12, true}, // the first queries see nothing
           Case{2, 9, 15, 2, 2, 33, 4, false, true, {2, 1, 9, 15}, true},
           Case{1, 3, 4, 1, 1, 130, 140, true, false, {1, 1, 1, 1}},
           // Windows: causal ones, to both sides, and where some see nothing.
           Case{2, 70, 100, 2, 1, 8, 5, true, true, {}, false, 0, 20},
           Case{1, 100, 100, 1, 1, 8, 8, false, false, {}, false, 0, 3, 40},
           Case{1, 50, 20, 2, 2, 7, 12, false, false, {}, false, 0, 0, 2},
           Case{1, 20, 90, 1, 1, 4, 4, true, false, {1, 1, 20, 90}, true, 0, 9},
           Case{1, 60, 10, 1, 1, 4, 4, false, false, {}, false, 0, -1, 45},
           // Softcaps and sinks.
           Case{2, 9, 70, 2, 1, 8, 5, true, true}.with(1.5, false),
           Case{1, 5, 9, 2, 1, 32, 32, true, false, {1, 2, 5, 9}}.with(3, true),
           Case{1, 40, 10, 2, 1, 4, 4, true}.with(0, true),
           // Dropped: by samples of the batch, among the rows, alike, in a
           // window that begins within a group of keys, and all.
           Case{2, 33, 70, 2, 1, 3, 5, true, true}.dropped(0.25, 2),
           Case{1, 60, 33, 2, 2, 32, 32}.dropped(0.1, 3, 20),
           Case{2, 20, 40, 2, 1, 8, 4}.dropped(0.5, 0),
           Case{1, 70, 100, 1, 1, 8, 5, true, false, {}, false, 0, 20}
               .with(2, true)
               .dropped(0.25, 1),
           Case{1, 3, 9, 1, 1, 4, 4}.dropped(1, 1),
       })
    for (plan::DType dtype : floatTypes)
      EXPECT_FALSE(compare(of, dtype));
}

/// One type for most classes of dims: what they differ in is three instructions.
TEST(AttentionKernels, MultiplyByMatrixUnits) {
  using Shape = std::pair<plan::DType, Case>;
  for (const auto &[dtype, of] : {
           Shape{plan::BFLOAT16, {1, 1, 1, 1, 1, 64, 64}},
           Shape{plan::BFLOAT16, {1, 130, 130, 1, 1, 64, 64, true}},
           Shape{plan::BFLOAT16, {2, 33, 70, 4, 2, 24, 40, true, true}},
           Shape{plan::FLOAT16, {1, 75, 140, 4, 2, 64, 64, true}},
           // The first queries see nothing.
           Shape{plan::BFLOAT16, {1, 70, 9, 2, 1, 80, 80, true}},
           Shape{plan::BFLOAT16,
                 {2, 9, 15, 1, 1, 96, 64, false, true, {2, 1, 9, 15}, true}},
           Shape{plan::FLOAT16,
                 {1, 20, 100, 4, 1, 128, 128, false, false, {1, 4, 1, 100}}},
           Shape{plan::FLOAT16, {1, 140, 130, 2, 2, 104, 128, true}},
           Shape{plan::BFLOAT16,
                 {1, 40, 40, 1, 1, 192, 136, true, false, {1, 1, 1, 1}}},
           Shape{plan::BFLOAT16, {1, 35, 70, 2, 1, 256, 256, true}},
           // Windows.
           Shape{plan::BFLOAT16,
                 {1, 150, 200, 2, 1, 64, 64, true, true, {}, false, 0, 33}},
           Shape{
               plan::FLOAT16,
               {1, 200, 200, 1, 1, 64, 64, false, false, {}, false, 0, 40, 70}},
           Shape{plan::BFLOAT16,
                 {1,
                  140,
                  140,
                  1,
                  1,
                  128,
                  128,
                  true,
                  false,
                  {1, 1, 1, 140},
                  true,
                  0,
                  0}},
           Shape{
               plan::BFLOAT16,
               {1, 140, 40, 1, 1, 192, 136, false, false, {}, false, 0, 7, 3}},
           Shape{plan::FLOAT16,
                 {2, 70, 130, 1, 1, 96, 80, false, true, {}, false, 0, -1, 20}},
           // Softcaps and sinks; where the first queries see nothing.
           Shape{plan::BFLOAT16,
                 Case{1, 40, 70, 2, 1, 64, 64, true, true}.with(2, true)},
           Shape{plan::FLOAT16,
                 Case{1, 30, 40, 1, 1, 128, 128}.with(1.5, false)},
           Shape{plan::BFLOAT16,
                 Case{1, 70, 20, 2, 2, 64, 64, true}.with(0, true)},
           Shape{plan::FLOAT16,
                 Case{1, 20, 30, 2, 2, 64, 64, false, false, {1, 2, 1, 30}}
                     .with(0, true)},
           // Dropped.
           Shape{plan::BFLOAT16,
                 Case{2, 75, 140, 4, 2, 64, 64, true, true}.dropped(0.25, 2)},
           Shape{plan::FLOAT16,
                 Case{1, 90, 130, 1, 1, 64, 48, false, false, {}, false, 0, 37}
                     .with(0, true)
                     .dropped(0.5, 0)},
           Shape{plan::FLOAT16,
                 Case{1, 40, 100, 2, 1, 128, 128, true}.with(2, false).dropped(
                     0.25, 1)},
           Shape{plan::BFLOAT16,
                 Case{4, 35, 70, 1, 1, 192, 136, true}.dropped(0.1, 2)},
       })
    EXPECT_TRUE(compare(of, dtype));
}

/// Masks that hide every key by a number: -10000, and float32's lowest.
TEST(AttentionKernels, SumsAgainWhereTheLogarithmHasLostTheSum) {
  for (double depth : {-10000.0, -3.3e38})
    for (plan::DType dtype : {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16})
      for (int64_t left : {-1, 12})
        EXPECT_FALSE(compare({1,
                              3,
                              40,
                              2,
                              1,
                              4,
                              6,
                              true,
                              false,
                              {1, 1, 3, 40},
                              true,
                              depth,
                              left},
                             dtype));
}

TEST(AttentionKernels, RefuseATooSmallWorkspace) {
  Room query(Numbers(plan::FLOAT32, {1, 100, 2, 4}));
  entry::AttentionGrad entry;
  entry.operands.query = entry.operands.key = entry.operands.value =
      query.tensor;
  Room workspace(plan::UINT8, {3 * 1024 - 1});
  EXPECT_EQ(attentionGradWorkspace(entry.operands), 3 * 1024);
  entry.workspace = workspace.tensor;
  EXPECT_THROW(launchesOf(entry, mostSharedBytes), std::runtime_error);
}

} // namespace
} // namespace shardc::test
