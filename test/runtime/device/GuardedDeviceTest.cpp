// What an engine may not do, done: each fault is caught, by name.
#include "test/runtime/device/GuardedDevice.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

namespace shardc::runtime {
namespace {

/// A rank of one, and a program of entries called e0, e1, ...
struct Bench {
  explicit Bench(Communicator &group)
      : group(group), kernels(KernelLibrary::of({})),
        device(plan, kernels, group, 1), program(device.newProgram()) {}

  /// `elements` floats; those of "persistent" count as written.
  Tensor vector(int64_t elements, const std::string &pool = "activation") {
    Tensor tensor;
    tensor.dtype = plan::FLOAT32;
    tensor.shape = {elements};
    tensor.strides = {1};
    tensor.data = device.allocate(pool, elements * int64_t(sizeof(float)));
    return tensor;
  }
  void add(entry::Any what) {
    program->add(
        {std::move(what), 0, "entry e" + std::to_string(program->size())});
  }
  void run() {
    program->run(0, program->size(), {}, measurements);
    device.settle();
  }
  std::vector<float> read(const Tensor &tensor) {
    std::vector<float> values(tensor.elements());
    device.download(values.data(), tensor.data,
                    tensor.elements() * int64_t(sizeof(float)));
    return values;
  }

  Communicator &group;
  plan::Plan plan;
  KernelLibrary kernels;
  GuardedDevice device;
  std::unique_ptr<DeviceProgram> program;
  Measurements measurements;
};

std::string errorOf(const std::function<void(Bench &)> &fault) {
  std::string text;
  runRanksAsThreads(1, [&](Communicator &group) {
    Bench bench(group);
    try {
      fault(bench);
      bench.run();
    } catch (const Error &error) {
      text = error.what();
    }
  });
  return text;
}

TEST(GuardedDevice, RunsWhatIsInOrder) {
  runRanksAsThreads(1, [&](Communicator &group) {
    Bench bench(group);
    Tensor a = bench.vector(4), b = bench.vector(4), all = bench.vector(4);
    bench.add(entry::Fill{a, 3});
    bench.add(entry::StartAllGather{5, &group, a, all});
    bench.add(entry::Wait{5, false});
    bench.add(entry::Copy{all, b});
    bench.add(entry::Finish{{5}});
    bench.add(entry::Fill{a, 4});
    bench.run();
    EXPECT_EQ(bench.read(b), std::vector<float>(4, 3));
    EXPECT_EQ(bench.read(a), std::vector<float>(4, 4));
  });
}

TEST(GuardedDeviceDeathTest, TheHostTouchesMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto touch = [](bool writes) {
    errorOf([&](Bench &bench) {
      volatile float *element = bench.vector(4, "persistent").as<float>();
      if (writes)
        *element = 1;
      else
        exit(*element == 0 ? 1 : 2);
    });
  };
  const char *text = "the host touches the device's memory 'persistent'";
  EXPECT_EXIT(touch(true), testing::ExitedWithCode(70), text);
  EXPECT_EXIT(touch(false), testing::ExitedWithCode(70), text);
}

TEST(GuardedDevice, WhatWasNeverWrittenIsRead) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              bench.add(entry::Copy{bench.vector(4), bench.vector(4)});
            }),
            "entry e0: source reads byte 0 of 'activation', which was never "
            "written");
}

TEST(GuardedDevice, ACollectiveBeginsTooEarly) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor flat = bench.vector(4), shard = bench.vector(4);
              bench.add(
                  entry::StartReduceScatter{1, &bench.group, flat, shard});
              bench.add(entry::Fill{flat, 1});
              bench.add(entry::Wait{1, true});
            }),
            "entry e0: flat reads byte 0 of 'activation', which was never "
            "written");
}

TEST(GuardedDevice, AWaitIsMissingBeforeTheResultIsRead) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor own = bench.vector(4, "persistent"), all = bench.vector(4);
              bench.add(entry::StartAllGather{1, &bench.group, own, all});
              bench.add(entry::Copy{all, bench.vector(4)});
              bench.add(entry::Wait{1, true});
            }),
            "entry e1: source is read while gathered of entry e0 is written: a "
            "wait is missing");
}

TEST(GuardedDevice, AWaitIsMissingBeforeTheResultIsOverwritten) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor own = bench.vector(4, "persistent"), all = bench.vector(4);
              bench.add(entry::StartAllGather{1, &bench.group, own, all});
              bench.add(entry::Fill{all, 0});
              bench.add(entry::Wait{1, true});
            }),
            "entry e1: destination is written while gathered of entry e0 is "
            "written: a wait is missing");
}

TEST(GuardedDevice, WhatIsSentIsOverwritten) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor own = bench.vector(4, "persistent"), all = bench.vector(4);
              bench.add(entry::StartAllGather{1, &bench.group, own, all});
              bench.add(entry::Fill{own, 0});
              bench.add(entry::Wait{1, true});
            }),
            "entry e1: destination is written while shard of entry e0 is read: "
            "a wait is missing");
}

TEST(GuardedDevice, WhatOthersStillReadIsOverwritten) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor own = bench.vector(4, "persistent"), all = bench.vector(4);
              bench.add(entry::StartAllGather{1, &bench.group, own, all});
              bench.add(entry::Wait{1, false});
              bench.add(entry::Fill{own, 0});
            }),
            "entry e2: destination is written while shard of entry e0 is read: "
            "a wait is missing");
}

TEST(GuardedDevice, AnIdIsTakenTwice) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              bench.add(entry::StartBarrier{3, &bench.group});
              bench.add(entry::StartBarrier{3, &bench.group});
            }),
            "entry e1: collective 3 is still open");
}

TEST(GuardedDevice, NothingStartsWhatIsWaitedFor) {
  EXPECT_EQ(errorOf([](Bench &bench) { bench.add(entry::Wait{3, true}); }),
            "entry e0: collective 3 was not started");
}

TEST(GuardedDevice, AnOperandLeavesItsAllocation) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor tensor = bench.vector(4);
              tensor.shape = {5};
              bench.add(entry::Fill{tensor, 1});
            }),
            "destination of 20 bytes lies in no allocation of the device");
}

TEST(GuardedDevice, AStridedOperandLeavesItsAllocation) {
  EXPECT_EQ(errorOf([](Bench &bench) {
              Tensor tensor = bench.vector(8);
              tensor.shape = {2, 4};
              tensor.strides = {5, 1};
              bench.add(entry::Fill{tensor, 1});
            }),
            "destination of 36 bytes lies in no allocation of the device");
}

TEST(GuardedDevice, CopiesLeaveAnAllocation) {
  float values[5] = {};
  EXPECT_EQ(errorOf([&](Bench &bench) {
              bench.device.upload(bench.vector(4).data, values, sizeof values);
            }),
            "an upload of 20 bytes lies in no allocation of the device");
  EXPECT_EQ(errorOf([&](Bench &bench) {
              bench.device.download(values, bench.vector(4).data,
                                    sizeof values);
            }),
            "a download of 20 bytes lies in no allocation of the device");
}

TEST(GuardedDevice, AnEntryThatFailsLaterIsNamed) {
  Tensor data, index, result;
  EXPECT_EQ(errorOf([&](Bench &bench) {
              data = bench.vector(4, "persistent");
              result = bench.vector(1);
              index = bench.vector(2, "persistent");
              index.dtype = plan::INT64;
              index.shape = {1};
              int64_t outside = 9;
              bench.device.upload(index.data, &outside, sizeof outside);
              bench.add(entry::IndexCall{
                  "gather", {data, index}, {result}, {{"axis", 0}}});
              bench.add(entry::StartBarrier{1, &bench.group});
              bench.add(entry::Wait{1, true});
            }).substr(0, 10),
            "entry e0: ");
}

} // namespace
} // namespace shardc::runtime
