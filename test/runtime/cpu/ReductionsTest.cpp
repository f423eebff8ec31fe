// Programs in which norms are added up as gradients come out of a reduction.
#include "runtime/cpu/Reductions.h"
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/optimizer/GradientNorm.h"
#include "test/runtime/TestTensor.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <array>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

/// Two ranks reduce gradients of so many rows each, and compute their norm.
class Reduced : public testing::Test {
protected:
  using Words = std::array<int64_t, ExactSum::words>;

  struct OnRank {
    explicit OnRank(Communicator &world, int64_t width = 257)
        : width(width), kernels(KernelLibrary::of({})),
          device(plan, kernels, world, twoWorkers()),
          program(device.newProgram()), flat({2 * count()}), shard({count()}),
          running({count()}), sum({ExactSum::words}) {
      for (int64_t i = 0; i < 2 * count(); ++i)
        flat[i] = float((i * 7919 + world.rank() * 104729) % 1009) / 1000;
      start = {1, &world, flat.view, shard.view, {}, {}};
    }

    static CpuOptions twoWorkers() {
      CpuOptions options;
      options.workers = 2;
      return options;
    }
    int64_t count() const { return rows * width; }
    void add(entry::Any what, Turn turn = Turn::Each) {
      program->add({std::move(what), 0, "entry", turn, ""});
    }
    void addNorm() {
      add(entry::GradientNorm{{shard.view}, {{{0, rows, width}}}, {}, sum.view},
          Turn::Last);
    }
    void run(int64_t begin, int64_t end, const StepNumbers &numbers = {}) {
      Measurements measured;
      program->run(begin, end, numbers, measured);
    }
    /// The norm that is computed of the shard as it is.
    Words computed() {
      ThreadPool pool(1, false);
      Words words;
      GradientNorm({shard.view}, {{{0, rows, width}}})
          .compute(Norm::Two, pool, {}, words);
      return words;
    }
    Words result() const {
      Words words;
      std::ranges::copy(sum.storage, words.begin());
      return words;
    }

    static constexpr int64_t rows = 3000;
    int64_t width;
    plan::Plan plan;
    KernelLibrary kernels;
    CpuDevice device;
    std::unique_ptr<DeviceProgram> program;
    TestTensor<float> flat, shard, running;
    TestTensor<int64_t> sum;
    entry::StartReduceScatter start;
  };
};

// The norm does not see what is written behind its back: it has been added up.
TEST_F(Reduced, NormIsAddedUpAsTheGradientComes) {
  runRanksAsThreads(2, [](Communicator &world) {
    OnRank rank(world, 256); // whole rows in every piece
    rank.add(rank.start);
    rank.add(entry::Wait{1, true});
    rank.addNorm();
    for (int step = 0; step < 2; ++step) {
      rank.run(0, 2);
      Words expected = rank.computed();
      rank.shard[70000] += 1;
      EXPECT_NE(rank.computed(), expected);
      rank.run(2, 3);
      EXPECT_EQ(rank.result(), expected);
    }
  });
}

TEST_F(Reduced, RowsThatPiecesCutAreReadAgain) {
  runRanksAsThreads(2, [](Communicator &world) {
    OnRank rank(world);
    rank.add(rank.start);
    rank.add(entry::Wait{1, true});
    rank.addNorm();
    rank.run(0, 3);
    EXPECT_EQ(rank.result(), rank.computed());
  });
}

TEST_F(Reduced, NormOfARunningSumIsThatOfItsEnd) {
  runRanksAsThreads(2, [](Communicator &world) {
    OnRank rank(world);
    rank.start.accumulator = rank.running.view;
    rank.add(rank.start);
    rank.add(entry::Wait{1, true});
    rank.addNorm();
    StepNumbers numbers;
    numbers.microBatches = 3;
    for (numbers.microBatch = 0; numbers.microBatch < 3; ++numbers.microBatch)
      rank.run(0, 3, numbers);
    EXPECT_EQ(rank.result(), rank.computed());
    EXPECT_GT(rank.shard[0], 2 * (rank.flat[0]));
  });
}

// What changes a gradient is not forgotten.
TEST_F(Reduced, NormIsThatOfAGradientThatChanged) {
  runRanksAsThreads(2, [](Communicator &world) {
    OnRank rank(world);
    Tensor part = rank.shard.view;
    part.shape = {3};
    part.data += 5 * sizeof(float);
    rank.add(rank.start);
    rank.add(entry::Wait{1, true});
    rank.add(entry::Fill{part, 0});
    rank.addNorm();
    rank.run(0, 4);
    EXPECT_EQ(rank.result(), rank.computed());
  });
}

} // namespace
