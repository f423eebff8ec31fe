// What --check-finite finds, and that it changes nothing.
#include "runtime/inspect/FiniteCheck.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/CpuDevice.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace shardc::runtime {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A rank's checked processor, with one program.
class Bench {
public:
  explicit Bench(Communicator &world,
                 std::shared_ptr<std::atomic<bool>> when = nullptr)
      : when(when),
        device(inspectedDevices(cpu::cpuDevices(plan(), kernels(), {}),
                                finiteCheck(when))(world)),
        program(device->newProgram()) {}

  Tensor put(const std::vector<int64_t> &shape,
             const std::vector<float> &values) {
    Tensor tensor{nullptr, plan::FLOAT32, shape, rowMajorStrides(shape)};
    int64_t bytes = tensor.elements() * 4;
    tensor.data = device->allocate("tensor", bytes);
    if (!values.empty())
      device->upload(tensor.data, values.data(), bytes);
    return tensor;
  }
  Tensor room(const std::vector<int64_t> &shape) { return put(shape, {}); }
  void add(entry::Any what, const char *place, Turn turn = Turn::Each) {
    program->add({std::move(what), 0, place, turn});
  }
  /// What a run throws; empty: nothing.
  std::string run(const StepNumbers &numbers = {}) {
    try {
      program->run(0, program->size(), numbers, measured);
      device->settle();
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  static const plan::Plan &plan() {
    static const plan::Plan plan = [] {
      plan::Plan plan;
      plan.mutable_target()->mutable_cpu()->set_workers(1);
      return plan;
    }();
    return plan;
  }
  static const KernelLibrary &kernels() {
    static const KernelLibrary none = KernelLibrary::of({});
    return none;
  }

  std::shared_ptr<std::atomic<bool>> when;
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceProgram> program;
  Measurements measured = Measurements();
};

void onRanks(int ranks,
             const std::function<void(Bench &, Communicator &)> &body,
             const std::shared_ptr<std::atomic<bool>> &when = nullptr) {
  runRanksAsThreads(ranks, [&](Communicator &world) {
    Bench bench(world, when);
    body(bench, world);
  });
}

/// Of what is asked before a program is bound.
class OtherDevice final : public Device {
public:
  std::byte *allocate(const std::string &, int64_t) override { return nullptr; }
  std::byte *allocateCommunicated(const std::string &, int64_t) override {
    return nullptr;
  }
  std::byte *allocateShared(Communicator &, const std::string &,
                            int64_t) override {
    return nullptr;
  }
  std::byte *allocateHost(const std::string &, int64_t) override {
    return nullptr;
  }
  void touch(std::byte *, int64_t) override {}
  void upload(std::byte *, const void *, int64_t) override {}
  void download(void *, const std::byte *, int64_t) override {}
  std::unique_ptr<DeviceProgram> newProgram() override { return nullptr; }
  void settle() override {}
  bool timesEntriesForFree() const override { return false; }
  bool runsBesideHost() const override { return true; }
  void onHost(int64_t, int64_t,
              const std::function<void(int64_t, int64_t)> &) override {}
};

TEST(FiniteCheck, SaysOfItsClockAndItsHostWhatTheDeviceSays) {
  runRanksAsThreads(1, [](Communicator &world) {
    auto checked = [&](DeviceFactory inner) {
      return inspectedDevices(std::move(inner), finiteCheck())(world);
    };
    auto processor =
        checked(cpu::cpuDevices(Bench::plan(), Bench::kernels(), {}));
    EXPECT_TRUE(processor->timesEntriesForFree());
    EXPECT_FALSE(processor->runsBesideHost());
    auto other =
        checked([](Communicator &) { return std::make_unique<OtherDevice>(); });
    EXPECT_FALSE(other->timesEntriesForFree());
    EXPECT_TRUE(other->runsBesideHost());
  });
}

TEST(FiniteCheck, NamesEntryOperandAndElement) {
  onRanks(1, [](Bench &bench, Communicator &) {
    Tensor x = bench.room({2, 3}), y = bench.room({2, 3});
    bench.add(entry::Fill{x, 1}, "entry a");
    bench.add(entry::Copy{x, y}, "entry b");
    EXPECT_EQ(bench.run(), "");
    bench.add(entry::Fill{y, infinity}, "entry c");
    bench.add(entry::Copy{y, x}, "entry d");
    StepNumbers numbers;
    numbers.step = 7, numbers.microBatch = 1, numbers.microBatches = 2;
    EXPECT_EQ(bench.run(numbers),
              "entry c: makes the first number that is not finite, in step 7, "
              "micro-batch 2/2: destination float32 [2, 3] has inf at element "
              "0");
  });
}

TEST(FiniteCheck, SaysWhatWasReadThatWay) {
  onRanks(1, [](Bench &bench, Communicator &) {
    Tensor x = bench.put({3}, {1, NAN, 3}), y = bench.room({3});
    bench.add(entry::Copy{x, y}, "entry");
    EXPECT_EQ(bench.run(),
              "entry: makes the first number that is not finite, in step 1, "
              "micro-batch 1/1: destination float32 [3] has nan at element 1; "
              "of what it read, source float32 [3] has nan at element 1");
  });
}

TEST(FiniteCheck, LooksAtElementsAndNotBetweenThem) {
  onRanks(1, [](Bench &bench, Communicator &) {
    // The last element of each row is no part of the view.
    Tensor whole = bench.put({2, 3}, {1, 2, NAN, 3, 4, NAN});
    Tensor part{whole.data, plan::FLOAT32, {2, 2}, {3, 1}};
    Tensor turned{whole.data, plan::FLOAT32, {2, 2}, {1, 3}};
    Tensor source = bench.put({2, 2}, {1, 2, 3, 4});
    bench.add(entry::Copy{source, part}, "rows");
    bench.add(entry::Copy{source, turned}, "columns");
    EXPECT_EQ(bench.run(), "");
    bench.device->upload(source.data + 8, whole.data + 8, 4);
    EXPECT_NE(bench.run().find("rows: "), std::string::npos);
    EXPECT_NE(bench.run().find(" has nan at element 2"), std::string::npos);
  });
}

TEST(FiniteCheck, LetsMasksAndWhatDoesNotRunPass) {
  onRanks(1, [](Bench &bench, Communicator &) {
    Tensor x = bench.room({4});
    bench.add(entry::Fill{x, -infinity}, "mask");
    bench.add(entry::Fill{x, NAN}, "at the end", Turn::Last);
    StepNumbers numbers;
    numbers.microBatches = 2;
    EXPECT_EQ(bench.run(numbers), "");
    numbers.microBatch = 1;
    EXPECT_EQ(bench.run(numbers).find("at the end: "), 0u);
  });
}

TEST(FiniteCheck, LooksAtACollectiveWhenItIsWaitedFor) {
  std::vector<std::string> errors(2);
  runRanksAsThreads(2, [&](Communicator &world) {
    Bench bench(world);
    Tensor flat = bench.put({4}, {1, 2, 3, world.rank() ? NAN : 2}),
           shard = bench.room({2});
    bench.add(entry::StartReduceScatter{1, &world, flat, shard, {}}, "reduce");
    bench.add(entry::Wait{1, true}, "wait");
    errors[world.rank()] = bench.run();
    world.barrier();
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(errors[1],
            "reduce: makes the first number that is not finite, in step 1, "
            "micro-batch 1/1: shard float32 [2] has nan at element 1; of what "
            "it read, flat float32 [4] has nan at element 3");
}

TEST(FiniteCheck, NamesWhoReadsWhatWasGathered) {
  std::vector<std::string> errors(2);
  runRanksAsThreads(2, [&](Communicator &world) {
    Bench bench(world);
    Tensor shard = bench.put({2}, {1, world.rank() ? NAN : 2}),
           gathered = bench.room({4}), copy = bench.room({4});
    bench.add(entry::StartAllGather{1, &world, shard, gathered}, "gather");
    bench.add(entry::Wait{1, true}, "wait");
    bench.add(entry::Copy{gathered, copy}, "copy");
    errors[world.rank()] = bench.run();
    world.barrier();
  });
  for (const std::string &error : errors)
    EXPECT_EQ(error,
              "copy: makes the first number that is not finite, in step 1, "
              "micro-batch 1/1: destination float32 [4] has nan at element 3; "
              "of what it read, source float32 [4] has nan at element 3");
}

TEST(FiniteCheck, LooksFromWhenItIsToldTo) {
  auto when = std::make_shared<std::atomic<bool>>(false);
  onRanks(
      1,
      [](Bench &bench, Communicator &) {
        Tensor x = bench.room({2});
        bench.add(entry::Fill{x, NAN}, "entry");
        EXPECT_EQ(bench.run(), "");
        *bench.when = true;
        EXPECT_EQ(bench.run().find("entry: makes"), 0u);
      },
      when);
}

} // namespace
} // namespace shardc::runtime
