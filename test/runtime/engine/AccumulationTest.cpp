// Micro-batches, norms of the loss and of gradients, and parameter groups: runs
// against the same training written out plainly, in one go.
#include "test/runtime/train/TrainingTest.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {
class Accumulation : public TrainingTest {
protected:
  Accumulation() { options.steps = 9; }

  /// Trains on ranks x microBatches parts of `batch` samples, and compares
  /// every step with `reference`, whose gradients are divided by `divisor`.
  void expectAsInOneGo(int64_t ranks, int64_t microBatches, int64_t batch,
                       LinearReference reference = {}, double divisor = 1,
                       double p = 2) {
    plan::Plan plan = LinearPlan(ranks, batch).plan;
    options.microBatches = microBatches;
    ASSERT_EQ(train(plan), 0);
    reference.parameters = initialValues(plan);
    std::vector<nlohmann::json> lines = metrics();
    ASSERT_EQ(lines.size(), 10u);
    int64_t parts = ranks * microBatches;
    for (int64_t step = 0; step < 9; ++step) {
      std::vector<std::vector<int64_t>> samples =
          options.lossNorm == LossNorm::Rank ? partsOf(step, parts, batch)
                                             : partsOf(step, 1, parts * batch);
      double loss = reference.lossAndGradient(data, samples);
      for (double &value : reference.gradient)
        value /= divisor;
      EXPECT_NEAR(lines[step]["loss"].get<double>(), loss, 1e-12);
      EXPECT_NEAR(lines[step]["grad_norm"].get<double>(), reference.norm(p),
                  1e-12);
      if (step == 0)
        expectNear(values(plan, "g.safetensors"), reference.gradient, 1e-12);
      reference.update(0.05, options.clip ? options.clip : INFINITY, p);
    }
    expectNear(values(plan, "p.safetensors"), reference.parameters, 1e-11);
    EXPECT_EQ(lines[9]["micro_batches"], microBatches);
    for (const nlohmann::json &rank : lines[9]["memory"])
      for (const auto &[name, pool] : rank["pools"].items()) {
        EXPECT_EQ(pool["allocated_bytes"], name == "gather" && ranks > 1
                                               ? nlohmann::json(0)
                                               : pool["planned_bytes"])
            << name;
        if (name == "accumulation")
          EXPECT_EQ(pool["planned_bytes"] == 0, microBatches == 1);
      }
  }
};
} // namespace

// Samples without a valid label make the parts' numbers unequal.
TEST_F(Accumulation, IsOneLargeBatchOnEveryMesh) {
  for (int64_t ranks : {1, 2, 4})
    for (int64_t microBatches : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << microBatches << " on " << ranks);
      expectAsInOneGo(ranks, microBatches, 2);
    }
}

// With one sample in a part, some parts have no valid label at all.
TEST_F(Accumulation, AveragesTheMeansOfRanksWhereAsked) {
  options.lossNorm = LossNorm::Rank;
  expectAsInOneGo(1, 1, 8);
  expectAsInOneGo(2, 3, 2);
  expectAsInOneGo(4, 2, 1);
}

TEST_F(Accumulation, ClipsByEveryNorm) {
  options.clip = 0.1;
  expectAsInOneGo(2, 2, 2);
  options.clipNorm = Norm::One;
  expectAsInOneGo(2, 2, 2, {}, 1, 1);
  options.clipNorm = Norm::Inf;
  expectAsInOneGo(2, 2, 2, {}, 1, INFINITY);
  expectAsInOneGo(1, 1, 8, {}, 1, INFINITY);
}

TEST_F(Accumulation, DividesGradientsBeforeTheyAreClipped) {
  options.gradientDivisor = 3;
  expectAsInOneGo(2, 2, 2, {}, 3);
  options.clip = 0.1;
  expectAsInOneGo(2, 2, 2, {}, 3);
}

TEST_F(Accumulation, GroupsHaveTheirOwnNumbers) {
  options.weightDecay = 0.2;
  options.groups = {{"b.as$", 0.5, {}}, {"^", 2, 0.3}};
  LinearReference reference;
  for (size_t i = 0; i < 16; ++i) {
    reference.rateScale[i] = i < 12 ? 2 : 0.5;
    reference.weightDecay[i] = i < 12 ? 0.3 : 0.2;
  }
  expectAsInOneGo(2, 2, 2, reference);

  options.groups.clear();
  options.noDecay = {"norm", "bias"};
  reference.rateScale.assign(16, 1);
  for (size_t i = 0; i < 16; ++i)
    reference.weightDecay[i] = i < 12 ? 0.2 : 0;
  expectAsInOneGo(2, 2, 2, reference);
}

// Each epoch is as many whole steps as the samples fill.
TEST_F(Accumulation, MakesEpochsShorter) {
  options.steps.reset();
  options.epochs = 2;
  for (auto [microBatches, steps] : {std::pair{1, 15}, {2, 8}, {7, 3}}) {
    options.microBatches = microBatches;
    plan::Plan plan = LinearPlan(2, 2).plan;
    EXPECT_EQ(train(plan), 0);
    EXPECT_EQ(metrics().back()["steps"], steps) << microBatches;
  }
}

TEST_F(Accumulation, CountsTheCollectivesThatRan) {
  for (int64_t microBatches : {1, 3}) {
    options.microBatches = microBatches;
    plan::Plan plan = LinearPlan(2, 2).plan;
    int entry = 0;
    for (const char *phase : {"forward", "backward"}) {
      while (!plan.train().entries(entry).has_all_gather_start() &&
             !plan.train().entries(entry).has_reduce_scatter_start())
        ++entry;
      plan.mutable_train()->mutable_entries(entry++)->set_phase(phase);
    }
    EXPECT_EQ(train(plan), 0);
    EXPECT_EQ(metrics().back()["collectives"],
              (nlohmann::json{{"all_gather forward", microBatches},
                              {"reduce_scatter backward", microBatches},
                              {"all_reduce optimizer", 1}}));
  }
}
