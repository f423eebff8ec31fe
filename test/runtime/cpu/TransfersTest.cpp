// Transfers run in their order beside the caller, and their errors come out at
// their waits.
#include "runtime/cpu/Transfers.h"
#include "runtime/base/Error.h"
#include "test/runtime/ErrorText.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace shardc::runtime;
using shardc::runtime::cpu::Transfers;

namespace {

Tensor vectorAt(void *data, int64_t elements) {
  Tensor tensor;
  tensor.data = static_cast<std::byte *>(data);
  tensor.dtype = shardc::plan::FLOAT32;
  tensor.shape = {elements};
  tensor.strides = {1};
  return tensor;
}

} // namespace

TEST(Transfers, MoveInTheirOrder) {
  TemporaryFolder folder;
  Transfers transfers(folder.path());
  constexpr int64_t elements = 100000;
  std::byte *pool = transfers.allocate("host", elements * 4);
  EXPECT_TRUE(Transfers::isInFile(pool));
  std::vector<float> first(elements), second(elements), third(elements);
  EXPECT_FALSE(
      Transfers::isInFile(reinterpret_cast<std::byte *>(first.data())));
  std::iota(first.begin(), first.end(), 1.0f);
  // What is written is read behind that, without a wait in between.
  transfers.start(7, vectorAt(first.data(), elements),
                  vectorAt(pool, elements));
  transfers.start(8, vectorAt(pool, elements),
                  vectorAt(second.data(), elements));
  transfers.wait(8);
  EXPECT_EQ(second, first);
  transfers.wait(7);
  transfers.copy(reinterpret_cast<std::byte *>(third.data()), pool + 40, 400);
  EXPECT_TRUE(
      std::equal(third.begin(), third.begin() + 100, first.begin() + 10));
}

TEST(Transfers, EndBeforeTheirMemory) {
  TemporaryFolder folder;
  std::vector<float> values(1 << 20, 2.0f);
  Transfers transfers(folder.path());
  std::byte *pool = transfers.allocate("host", 4 << 20);
  for (uint32_t id = 0; id < 4; ++id)
    transfers.start(id, vectorAt(values.data(), 1 << 20),
                    vectorAt(pool, 1 << 20));
} // waits for them

TEST(Transfers, SayWhatIsWrong) {
  EXPECT_EQ(errorOf([] { Transfers("").allocate("host", 64); }),
            "the pool host of 64 bytes lies in a file; give --offload-dir DIR, "
            "a folder for it");
  TemporaryFolder folder;
  Transfers transfers(folder.path());
  std::byte *pool = transfers.allocate("host", 4096);
  EXPECT_EQ(errorOf([&] { transfers.allocate("other", 64); }),
            "expects one pool in a file, got other as well");
  EXPECT_EQ(errorOf([&] { transfers.wait(3); }),
            "transfer 3 is waited for before its start");
  // It fails on its thread, and the next one runs.
  std::vector<float> values(16);
  transfers.start(3, vectorAt(pool, 16), vectorAt(pool, 16));
  EXPECT_EQ(errorOf([&] {
              transfers.start(3, vectorAt(values.data(), 16),
                              vectorAt(pool, 16));
            }),
            "transfer 3 is started again before its wait");
  EXPECT_EQ(
      errorOf([&] { transfers.wait(3); }),
      "expects to copy between memory and the file, got two places of it");
  transfers.start(3, vectorAt(values.data(), 16), vectorAt(pool, 16));
  EXPECT_EQ(errorOf([&] { transfers.wait(3); }), "");
}
