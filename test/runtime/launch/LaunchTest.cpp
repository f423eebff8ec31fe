// What is checked before ranks start: launchers, and the processor.
#include "runtime/base/Error.h"
#include "runtime/cpu/Processor.h"
#include "runtime/launch/Launcher.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace shardc::runtime;

TEST(Launcher, OneProcessOfSeveralIsRefused) {
  auto withEnvironment = [](const char *rank, const char *size,
                            const char *processes) {
    setenv(rank, "0", 1);
    setenv(size, processes, 1);
    bool refused = false;
    try {
      refuseSeveralProcesses();
    } catch (const Error &) {
      refused = true;
    }
    unsetenv(rank);
    unsetenv(size);
    return refused;
  };
  EXPECT_NO_THROW(refuseSeveralProcesses());
  EXPECT_TRUE(withEnvironment("RANK", "WORLD_SIZE", "2"));
  EXPECT_FALSE(withEnvironment("RANK", "WORLD_SIZE", "1"));
  EXPECT_TRUE(withEnvironment("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "4"));
  EXPECT_TRUE(
      withEnvironment("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "8"));
}

TEST(Launcher, OneNodeOfSeveralIsRefused) {
  auto errorWith = [](const char *name, const char *value) -> std::string {
    setenv(name, value, 1);
    std::string text;
    try {
      refuseSeveralProcesses();
    } catch (const Error &error) {
      text = error.what();
    }
    unsetenv(name);
    return text;
  };
  EXPECT_EQ(errorWith("NUM_NODES", "2").substr(0, 42),
            "this job has several nodes (NUM_NODES=2), ");
  EXPECT_NE(errorWith("NODE_RANK", "1"), "");
  EXPECT_NE(errorWith("NNODES", "16"), "");
  EXPECT_NE(errorWith("PET_NNODES", "2"), "");
  for (const char *one : {"1", "0", ""}) {
    EXPECT_EQ(errorWith("NUM_NODES", one), "");
    EXPECT_EQ(errorWith("NNODES", one), "");
  }
  EXPECT_EQ(errorWith("NODE_RANK", "0"), "");
}

TEST(Processor, LevelsAreKnownByName) {
  EXPECT_EQ(neededLevel("x86-64-v3"), 3);
  EXPECT_EQ(neededLevel("znver3"), 3);
  EXPECT_EQ(neededLevel("znver4"), 4);
  EXPECT_EQ(neededLevel("somethinglake"), 0);
  EXPECT_NO_THROW(checkProcessor("x86-64-v2"));
  EXPECT_NO_THROW(checkProcessor(""));
  if (!__builtin_cpu_supports("x86-64-v4"))
    EXPECT_THROW(checkProcessor("znver4"), Error);
}
