// Which accesses of shared memory race.
#include "test/emulated-cuda/ptx/Blocks.h"
#include "test/emulated-cuda/ptx/Loader.h"
#include "test/emulated-cuda/ptx/SharedChecks.h"

#include <gtest/gtest.h>

namespace shardc::test::ptx {
namespace {

class Shared : public ::testing::Test {
protected:
  Shared() { checks.begin(memory, sizeof(memory)); }

  std::string touch(SharedTime by, unsigned at, unsigned bytes, bool reads,
                    bool writes, const char *statement) {
    return checks.touch(by, reinterpret_cast<uint64_t>(memory) + at, bytes,
                        reads, writes, statement);
  }
  std::string read(SharedTime by, unsigned at = 0) {
    return touch(by, at, 4, true, false, "ld.shared.b32 %r1, [%d1]");
  }
  std::string write(SharedTime by, unsigned at = 0) {
    return touch(by, at, 4, false, true, "st.shared.b32 [%d1], %r1");
  }

  char memory[64] = {};
  SharedChecks checks;
};

TEST_F(Shared, BarriersOfTheBlockOrder) {
  EXPECT_EQ(write({0, 1, 0}), "");
  EXPECT_EQ(read({0, 1, 0}), ""); // its own
  EXPECT_EQ(read({40, 2, 0}), "");
  EXPECT_EQ(read({0, 2, 0}), "");
  EXPECT_EQ(write({9, 3, 0}), "");
  EXPECT_EQ(write({70, 3, 0}, 4), ""); // another word
}

TEST_F(Shared, ReadsBesideAWrite) {
  EXPECT_EQ(write({0, 1, 0}), "");
  EXPECT_EQ(read({40, 1, 0}),
            "race in shared memory: thread 40 reads what thread 0 writes, and "
            "no barrier is between them: ld.shared.b32 %r1, [%d1], and "
            "st.shared.b32 [%d1], %r1");
}

TEST_F(Shared, WritesBesideOneOfManyReaders) {
  EXPECT_EQ(read({0, 1, 0}), "");
  EXPECT_EQ(read({40, 1, 0}), "");
  EXPECT_NE(write({40, 1, 0}), "");
  EXPECT_EQ(read({0, 2, 0}, 8), "");
  EXPECT_EQ(read({1, 2, 0}, 8), "");
  EXPECT_NE(write({1, 2, 0}, 8), "");
  EXPECT_EQ(read({1, 3, 0}, 16), "");
  EXPECT_EQ(write({1, 3, 0}, 16), "");
}

TEST_F(Shared, BarriersOfAWarpOrderIt) {
  EXPECT_EQ(write({0, 1, 0}), "");
  EXPECT_NE(read({1, 1, 0}), "");
  EXPECT_EQ(read({1, 1, 1}), "");
  EXPECT_EQ(write({2, 1, 2}), "");
  EXPECT_NE(read({32, 1, 3}), ""); // of another warp
}

TEST_F(Shared, AtomicsAndConstantsDoNotRace) {
  const char *adds = "atom.shared.add.u32 %r2, [%d1], %r1";
  EXPECT_EQ(touch({0, 1, 0}, 0, 4, true, true, adds), "");
  EXPECT_EQ(touch({40, 1, 0}, 0, 4, true, true, adds), "");
  EXPECT_NE(read({0, 1, 0}), "");
  const char *flags = "st.shared.b32 [%d1], 1";
  EXPECT_EQ(touch({0, 1, 0}, 8, 4, false, true, flags), "");
  EXPECT_EQ(touch({40, 1, 0}, 8, 4, false, true, flags), "");
  EXPECT_NE(read({0, 1, 0}, 8), "");
}

/// Threads exchange their numbers with those of the other warp.
std::string runExchange(const std::string &between) {
  std::string text =
      ".shared .align 4 .b8 all[256];\n.visible .entry k(.param .u64 out)\n{\n"
      ".reg .b32 %r<4>;\n.reg .b64 %d<4>;\nmov.u32 %r0, %tid.x;\n"
      "mov.b64 %d0, all;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\n"
      "st.shared.b32 [%d2], %r0;\n" +
      between +
      "xor.b32 %r1, %r0, 32;\nmul.wide.u32 %d1, %r1, 4;\n"
      "add.s64 %d2, %d0, %d1;\nld.shared.b32 %r2, [%d2];\nret;\n}\n";
  LoadedKernel kernel = loadKernel(text, "k", false, "");
  if (!kernel.problem.empty())
    return kernel.problem;
  Grid grid;
  grid.threads[0] = 64, grid.blocks[0] = 2;
  grid.sharedBytes = kernel.facts->sharedBytes;
  grid.waits = kernel.facts->waits;
  uint64_t parameters[2] = {};
  Blocks blocks;
  return blocks.run(kernel.function, parameters, grid);
}

TEST(SharedKernels, NeedABarrier) {
  EXPECT_EQ(runExchange("bar.sync 0;\n"), "");
  for (const char *between : {"", "bar.warp.sync -1;\n"})
    EXPECT_TRUE(runExchange(between).starts_with(
        "race in shared memory: thread 32 writes what thread 0 reads"))
        << runExchange(between);
}

} // namespace
} // namespace shardc::test::ptx
