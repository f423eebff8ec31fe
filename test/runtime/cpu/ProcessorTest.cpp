// What a trainer asks of the processor before ranks start.
#include "runtime/cpu/Processor.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace shardc::runtime;

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

TEST(Processor, FewerInstructionsMayBeAskedFor) {
  for (const char *name : {"x86-64-v1", "haswell", "3"}) {
    setenv("SHARDC_CPU", name, 1);
    EXPECT_THROW(checkProcessor(""), Error) << name;
  }
  for (const char *name : {"x86-64-v2", ""}) {
    setenv("SHARDC_CPU", name, 1);
    EXPECT_NO_THROW(checkProcessor("")) << name;
  }
  unsetenv("SHARDC_CPU");
}
