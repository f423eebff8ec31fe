// What a device is besides its entries, and that no kind of entry lacks tests.
#include "test/runtime/device/ConformanceSuite.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardc::runtime {
namespace {

/// Names of the suites, and how many tests each has.
std::map<std::string, int> suites() {
  std::map<std::string, int> result;
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i)
    result[all.GetTestSuite(i)->name()] =
        all.GetTestSuite(i)->total_test_count();
  return result;
}

// Each test checks that it has run an entry of its suite's kind.
TEST(Conformance, EveryKindOfEntryHasTests) {
  std::map<std::string, int> tests = suites();
#define SHARDC_NAME(Kind) #Kind,
  const char *const kinds[] = {SHARDC_COMPUTE_ENTRIES(SHARDC_NAME)
                                   SHARDC_PROGRAM_ENTRIES(SHARDC_NAME)};
#undef SHARDC_NAME
  EXPECT_EQ(std::size(kinds), std::variant_size_v<entry::Any>);
  for (const char *kind : kinds)
    EXPECT_GE(tests["Devices/" + std::string(kind) + "Conformance"],
              int(testedDevices().size()))
        << "no conformance tests of the entries of kind " << kind;
}

class DeviceConformance : public testing::TestWithParam<TestedDevice> {
protected:
  void onRanks(int ranks, const std::function<void(Bench &)> &body) {
    runRanksAsThreads(ranks, [&](Communicator &world) {
      Bench bench(GetParam(), world);
      body(bench);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformance,
                         testing::ValuesIn(testedDevices()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST_P(DeviceConformance, AllocatesZeros) {
  onRanks(1, [&](Bench &bench) {
    EXPECT_EQ(bench.device->allocate("none", 0), nullptr);
    std::set<std::byte *> all;
    for (int64_t bytes : {1, 64, 4095, 4096, 4097, 3 << 20}) {
      std::byte *memory = bench.device->allocate("persistent", bytes);
      EXPECT_EQ(uintptr_t(memory) % 64, 0u);
      EXPECT_TRUE(all.insert(memory).second);
      bench.device->touch(memory, bytes);
      std::vector<std::byte> content(bytes, std::byte(1));
      bench.device->download(content.data(), memory, bytes);
      EXPECT_EQ(content, std::vector<std::byte>(bytes)) << bytes << " bytes";
    }
  });
}

TEST_P(DeviceConformance, CopiesPartsOfItsMemory) {
  onRanks(1, [&](Bench &bench) {
    std::byte *memory = bench.device->allocate("persistent", 1000);
    std::vector<std::byte> expected(1000);
    int value = 0;
    for (auto [begin, bytes] :
         {std::pair{0, 1000}, {17, 1}, {999, 1}, {1000, 0}, {3, 700}}) {
      std::vector<std::byte> part(bytes, std::byte(++value));
      bench.device->upload(memory + begin, part.data(), bytes);
      std::copy(part.begin(), part.end(), expected.begin() + begin);
      std::vector<std::byte> back(990);
      bench.device->download(back.data(), memory + 10, 990);
      EXPECT_TRUE(std::equal(back.begin(), back.end(), expected.begin() + 10));
    }
    bench.device->upload(nullptr, nullptr, 0);
    bench.device->download(nullptr, nullptr, 0);
  });
}

TEST_P(DeviceConformance, RunsRangesOfAProgramInOrder) {
  onRanks(1, [&](Bench &bench) {
    Tensor a = bench.room(plan::FLOAT32, {70}),
           b = bench.room(plan::FLOAT32, {70});
    DeviceProgram &program = bench.programOf(
        {entry::Fill{a, 1}, entry::Copy{a, b}, entry::Fill{a, 2}});
    EXPECT_EQ(program.size(), 3);
    Measurements measurements;
    auto firstAfter = [&](int64_t begin, int64_t end) {
      program.run(begin, end, {}, measurements);
      bench.device->settle();
      bench.readBack();
      return std::pair{bench.get(a)[69], bench.get(b)[69]};
    };
    EXPECT_EQ(firstAfter(0, 2), std::pair(1.0, 1.0));
    EXPECT_EQ(firstAfter(2, 2), std::pair(1.0, 1.0));
    EXPECT_EQ(firstAfter(2, 3), std::pair(2.0, 1.0));
    EXPECT_EQ(firstAfter(1, 3), std::pair(2.0, 2.0));
    EXPECT_EQ(firstAfter(0, 3), std::pair(2.0, 1.0));
  });
}

TEST_P(DeviceConformance, EntriesRunInTheirMicroBatches) {
  onRanks(1, [&](Bench &bench) {
    Tensor each = bench.put(Numbers(plan::FLOAT32, {5}, 7.0)),
           first = bench.put(Numbers(plan::FLOAT32, {5}, 7.0)),
           last = bench.put(Numbers(plan::FLOAT32, {5}, 7.0));
    std::unique_ptr<DeviceProgram> program = bench.device->newProgram();
    program->add({entry::Fill{each, 1}, 0, "always", Turn::Each});
    program->add({entry::Fill{first, 1}, 0, "at the beginning", Turn::First});
    program->add({entry::Fill{last, 1}, 0, "at the end", Turn::Last});
    StepNumbers numbers;
    numbers.microBatches = 3;
    for (numbers.microBatch = 0; numbers.microBatch < 3; ++numbers.microBatch) {
      for (const Tensor &tensor : {each, first, last})
        bench.run(entry::Fill{tensor, 7});
      Measurements measurements;
      program->run(0, 3, numbers, measurements);
      bench.device->settle();
      bench.readBack();
      EXPECT_EQ(bench.get(each)[0], 1);
      EXPECT_EQ(bench.get(first)[0], numbers.microBatch == 0 ? 1 : 7);
      EXPECT_EQ(bench.get(last)[0], numbers.microBatch == 2 ? 1 : 7);
    }
  });
}

TEST_P(DeviceConformance, SharedMemoryIsOneBlockOrNone) {
  if (GetParam().most < 3)
    GTEST_SKIP() << "needs 3 devices";
  onRanks(3, [&](Bench &bench) {
    std::byte *block =
        bench.device->allocateShared(bench.world, "block", 3 * 64);
    int64_t has = block != nullptr, all = has;
    const Segment segment{&all, 1, plan::INT64};
    bench.world.allReduce({&segment, 1});
    EXPECT_EQ(all, 3 * has) << "some ranks have it, some have not";
    if (!block)
      return;
    std::byte own[64];
    std::fill_n(own, 64, std::byte(bench.rank() + 1));
    bench.device->upload(block + bench.rank() * 64, own, 64);
    bench.world.barrier();
    for (int rank = 0; rank < 3; ++rank) {
      bench.device->download(own, block + rank * 64, 64);
      EXPECT_EQ(own[63], std::byte(rank + 1));
    }
    bench.world.barrier();
  });
}

TEST_P(DeviceConformance, SharesTheHostsWorkOut) {
  onRanks(1, [&](Bench &bench) {
    for (int64_t extent : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> runs(extent);
      bench.device->onHost(extent, 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          ++runs[i];
      });
      for (std::atomic<int> &count : runs)
        ASSERT_EQ(count, 1);
    }
  });
}

} // namespace
} // namespace shardc::runtime
