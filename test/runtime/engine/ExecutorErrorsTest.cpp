// What is said of plans that do not hold together.
#include "runtime/base/Error.h"
#include "runtime/engine/Executor.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/SoftmaxPlan.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <functional>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::softmax;

namespace {

plan::Launch *launchOf(plan::Plan &plan) {
  for (plan::Entry &entry : *plan.mutable_train()->mutable_entries())
    if (entry.has_launch())
      return entry.mutable_launch();
  return nullptr;
}

/// What creating ranks of a broken plan says, and running them.
std::string failureOf(const std::function<void(SoftmaxPlan<float> &)> &breakIt,
                      int ranks = 2) {
  SoftmaxPlan<float> builder(ranks, true);
  breakIt(builder);
  KernelLibrary library = KernelLibrary::of({columnSums<float>});
  try {
    runRanksAsThreads(ranks, [&](Communicator &communicator) {
      auto rank = makeHostRank(builder.plan, library, communicator, {});
      rank->runTrain({});
    });
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Executor, APlanThatDoesNotHoldTogetherIsRefusedByName) {
  EXPECT_EQ(failureOf([](auto &) {}), "");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_buffers(b.logits)->set_offset(1280);
            }),
            "buffer logits at 1280 of 48 bytes does not lie in its pool of 768 "
            "bytes at a multiple of 64");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_train()
                  ->mutable_entries(2)
                  ->mutable_gemm()
                  ->mutable_a()
                  ->set_shape(1, 2);
            }),
            "plan entry linear (train, forward): expects a product of float32 "
            "[3, 2] and float32 [4, 3] (transposed: 0, 1), got float32 [3, 4]");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_train()
                  ->mutable_entries(2)
                  ->mutable_gemm()
                  ->mutable_a()
                  ->set_shape(0, 300);
            }),
            "plan entry linear (train, forward): a float32 [300, 3] at byte 0 "
            "does not lie in buffer x of 36 bytes");
  EXPECT_EQ(
      failureOf([](auto &b) {
        b.plan.mutable_train()->mutable_entries(1)->mutable_wait()->set_token(
            9);
      }),
      "plan entry gather (train, forward): nothing starts collective 9");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_buffers(b.workspace)->set_bytes(8);
              b.plan.mutable_train()
                  ->mutable_entries(3)
                  ->mutable_cross_entropy()
                  ->mutable_workspace()
                  ->set_shape(0, 8);
            }),
            "plan entry loss (train, forward): expects workspace of at least "
            "24 contiguous bytes, got 8");
  // Products of 16 bits: types that go together, and memory to convert in.
  auto half = [](auto &b, bool all) {
    plan::Gemm *gemm =
        b.plan.mutable_train()->mutable_entries(2)->mutable_gemm();
    gemm->mutable_a()->set_dtype(plan::BFLOAT16);
    if (!all)
      return;
    gemm->mutable_b()->set_dtype(plan::BFLOAT16);
    gemm->mutable_c()->set_dtype(plan::BFLOAT16);
    gemm->clear_bias();
  };
  EXPECT_EQ(failureOf([&](auto &b) { half(b, false); }),
            "plan entry linear (train, forward): expects b to be bfloat16, got "
            "float32 [4, 3]");
  EXPECT_EQ(failureOf([&](auto &b) { half(b, true); }),
            "plan entry linear (train, forward): expects workspace of at least "
            "28928 contiguous bytes, got 0");
  EXPECT_EQ(failureOf([](auto &b) { b.plan.mutable_mesh()->set_ranks(4); }),
            "the plan is for 4 ranks, the run has 2");
  // A kernel reads and writes at the addresses that it gets, whatever is there.
  EXPECT_EQ(
      failureOf(
          [](auto &b) { launchOf(b.plan)->mutable_inputs()->RemoveLast(); }),
      "plan entry bias_grad (train, backward): kernel column_sums takes 3 "
      "arguments, got 1 inputs and 1 outputs");
  EXPECT_EQ(failureOf([](auto &b) {
              launchOf(b.plan)->mutable_inputs(0)->set_shape(0, 2);
            }),
            "plan entry bias_grad (train, backward): argument 0 of kernel "
            "column_sums has 48 bytes, got 32");
  EXPECT_EQ(failureOf([](auto &b) {
              auto *kernel = b.plan.mutable_kernels(0);
              (*kernel->mutable_strides())[0].add_strides(2);
            }),
            "plan entry bias_grad (train, backward): argument 0 of kernel "
            "column_sums has the strides [2], got [4, 1]");
  EXPECT_EQ(failureOf([](auto &b) { b.plan.add_kernels(); }),
            "the plan has 2 kernels, the kernel library 1");
}

} // namespace
