// The plan in words.
#include "runtime/train/Report.h"

#include "runtime/launch/ThreadWorld.h"
#include "runtime/train/Collectives.h"
#include "runtime/train/MemoryPlan.h"
#include "test/runtime/device/TraitsOf.h"
#include "test/runtime/engine/LinearPlan.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

static plan::Mesh mesh(const char *strategy, std::vector<int64_t> shardDims,
                       std::vector<int64_t> optimizerDims) {
  plan::Mesh mesh;
  for (int64_t dim : {2, 4})
    mesh.add_dims(dim);
  for (const char *name : {"replicate", "shard"})
    mesh.add_names(name);
  mesh.set_strategy(strategy);
  mesh.set_ranks(8);
  mesh.mutable_shard_dims()->Assign(shardDims.begin(), shardDims.end());
  mesh.mutable_optimizer_dims()->Assign(optimizerDims.begin(),
                                        optimizerDims.end());
  return mesh;
}

TEST(Report, SaysWhatAStrategyMeans) {
  EXPECT_EQ(strategyText(mesh("full", {0, 1}, {0, 1})),
            "full (ZeRO-3): parameters, gradients and optimizer state in 8 "
            "slices over all ranks");
  EXPECT_EQ(strategyText(mesh("grad_op", {0, 1}, {0, 1})),
            "grad_op (ZeRO-2): parameters, gradients and optimizer state in 8 "
            "slices over all ranks, gathered once for forward and backward");
  EXPECT_EQ(strategyText(mesh("hybrid", {1}, {1})),
            "hybrid: parameters, gradients and optimizer state in 4 slices "
            "over shard");
  EXPECT_EQ(strategyText(mesh("hybrid_opt", {1}, {1, 0})),
            "hybrid_opt: parameters in 4 slices over shard, gradients and "
            "optimizer state in 8 slices over all ranks");
  EXPECT_EQ(strategyText(mesh("opt", {}, {0, 1})),
            "opt (ZeRO-1): parameters whole on every rank, gradients and "
            "optimizer state in 8 slices over all ranks");
  EXPECT_EQ(strategyText(mesh("none", {}, {})),
            "none (data parallel): parameters, gradients and optimizer state "
            "whole on every rank");
}

TEST(Report, CountsPoolsOnlyWhereTheyAreAllocated) {
  plan::Plan plan = LinearPlan(2, 2).plan;
  int64_t all = 0, accumulation = 0;
  for (const plan::Pool &pool : plan.pools()) {
    if (pool.name() == "gather")
      continue; // the ranks read each other's slices
    all += pool.bytes();
    accumulation += pool.name() == "accumulation" ? pool.bytes() : 0;
  }
  EXPECT_GT(accumulation, 0);
  EXPECT_EQ(MemoryPlan::of(plan, 1, 2).own, all - accumulation);
  EXPECT_EQ(MemoryPlan::of(plan, 2, 2).own, all);
  std::string text = reportText(plan, traitsOf(plan), 1, 2);
  EXPECT_NE(text.find("  gather                          192 B planned, 0 B "
                      "allocated: the ranks are threads and read each other's "
                      "slices\n"),
            std::string::npos)
      << text;
}

TEST(Report, CountsAFileApart) {
  plan::Plan plan = LinearPlan(2, 2).plan;
  int64_t before = MemoryPlan::of(plan, 1, 2).own;
  plan::Pool *host = plan.add_pools();
  host->set_name("host");
  host->set_bytes(3 << 20);
  MemoryPlan memory = MemoryPlan::of(plan, 1, 2);
  EXPECT_EQ(memory.own, before);
  EXPECT_EQ(memory.host, 3 << 20);
  std::string text = reportText(plan, traitsOf(plan), 1, 2);
  EXPECT_NE(text.find("  host                            3.00 MiB in a file of "
                      "--offload-dir, beside all pools\n"),
            std::string::npos)
      << text;
}

// A reduce-scatter for the last micro-batch only, a gather for each.
TEST(Report, CountsTheCollectivesOfAllMicroBatches) {
  plan::Plan plan = LinearPlan(2, 2).plan;
  for (plan::Entry &entry : *plan.mutable_train()->mutable_entries()) {
    if (entry.has_reduce_scatter_start())
      entry.set_last(true);
    if (entry.phase().empty())
      entry.set_phase("backward");
  }
  std::vector<Collective> collectives = collectivesOfStep(plan, 3);
  ASSERT_EQ(collectives.size(), 3u);
  // 16 elements, padded to 18, of 8 bytes.
  EXPECT_EQ(collectives[0].kind, "all_gather");
  EXPECT_EQ(collectives[0].number, 3);
  EXPECT_EQ(collectives[0].bytes, 3 * 18 * 8);
  EXPECT_EQ(collectives[1].kind, "reduce_scatter");
  EXPECT_EQ(collectives[1].number, 1);
  EXPECT_EQ(collectives[1].bytes, 18 * 8);
  EXPECT_EQ(collectives[2].kind, "all_reduce");
  EXPECT_EQ(collectives[2].phase, "optimizer");
  EXPECT_EQ(collectives[2].number, 1);
  // The loss, and the norm's exact sum.
  EXPECT_EQ(collectives[2].bytes, 8 + 68 * 8);
  std::string text = reportText(plan, traitsOf(plan), 3, 2);
  EXPECT_NE(text.find("collectives of a step of 3 micro-batches:\n"
                      "  backward all-gather             3, 432 B\n"
                      "  backward reduce-scatter         1, 144 B\n"
                      "  optimizer all-reduce            1, 552 B\n"),
            std::string::npos)
      << text;
}

TEST(Report, TheBannerSaysWhatTheFlagsResolveTo) {
  Options options;
  options.microBatches = 2;
  options.steps = 5;
  options.threads = 1;
  options.lossScale.dynamic = true;
  options.noDecay = {"bias"};
  options.seed = 7;
  plan::Plan plan = LinearPlan(2, 2).plan;
  plan.set_init("random");
  plan.mutable_precision()->set_parameters(plan::FLOAT16);
  plan.mutable_precision()->set_gradients(plan::FLOAT32);
  plan.mutable_precision()->set_master(plan::FLOAT32);
  plan.set_accumulate("sharded");
  std::string text =
      bannerText(plan, RunSettings::resolve(options, plan, traitsOf(plan), 100,
                                            ThreadWorld(2)));
  size_t memory = text.find("; memory per rank "),
         end = text.find('\n', memory);
  ASSERT_NE(memory, std::string::npos) << text;
  EXPECT_EQ(text.erase(memory, end - memory),
            "model.onnx: 16 trained parameters, float16 (gradients float32, "
            "master weights and optimizer state float32)\n"
            "mesh 2 (2 ranks), 1 thread per rank\n"
            "strategy full (ZeRO-3): parameters, gradients and optimizer state "
            "in 2 slices over all ranks\n"
            "5 steps of 8 samples (2 on each of 2 ranks, in 2 micro-batches; "
            "accumulated sharded), adamw\n"
            "initial values drawn, seed 7\n"
            "loss: cross entropy, the mean over all valid labels of a step\n"
            "loss scale dynamic from 65536, at least 1; doubled after 2000 "
            "finite steps, halved after 1 step with gradients that are not\n"
            "parameter groups:\n"
            "  others           lr x 1, weight decay 0.01: 1 parameter, 12 "
            "elements\n"
            "  no decay (bias)  lr x 1, weight decay 0: 1 parameter, 4 "
            "elements");
}

// Nothing is shared that lies in two GPUs' memory.
TEST(Report, RanksOnGpusHaveAllOfTheirMemory) {
  Options options;
  options.threads = 3;
  plan::Plan plan = LinearPlan(2, 2).plan;
  plan.mutable_target()->set_name("cuda:sm_90");
  plan.mutable_target()->mutable_cuda();
  MemoryPlan memory = MemoryPlan::of(plan, 2, traitsOf(plan).sharing(2));
  EXPECT_EQ(memory.own, memory.planned);
  std::string text =
      bannerText(plan, RunSettings::resolve(options, plan, traitsOf(plan), 100,
                                            ThreadWorld(2)));
  EXPECT_NE(text.find("\nmesh 2 (2 ranks), a GPU (cuda:sm_90) and 3 threads "
                      "per rank\n"),
            std::string::npos)
      << text;
}

TEST(Report, TheBannerSaysWhatSavesHoldBesides) {
  Options options;
  options.steps = 5;
  plan::Plan plan = LinearPlan(2, 2).plan;
  auto banner = [&] {
    return bannerText(plan, RunSettings::resolve(options, plan, traitsOf(plan),
                                                 100, ThreadWorld(2)));
  };
  EXPECT_EQ(banner().find("checkpoint"), std::string::npos);
  options.checkpointDir = "c";
  EXPECT_EQ(banner().find("checkpoint"), std::string::npos)
      << "at the end nothing changes any more";
  options.checkpointEvery.steps = 2;
  // A half of 18 elements of 8 bytes, and two states.
  EXPECT_NE(banner().find(", and 216 B for copies of what checkpoints take"),
            std::string::npos)
      << banner();
  options.checkpointSync = true;
  EXPECT_EQ(banner().find("checkpoint"), std::string::npos);
}
