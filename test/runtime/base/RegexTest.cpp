// Regular expressions: what is found, and why one is none.
#include "runtime/base/Regex.h"

#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

TEST(Regex, IsFoundAnywhere) {
  Regex regex("layers\\.[0-3]\\.|^norm$");
  EXPECT_TRUE(regex.isFoundIn("model.layers.2.weight"));
  EXPECT_TRUE(regex.isFoundIn("norm"));
  EXPECT_FALSE(regex.isFoundIn("model.layers.12.weight"));
  EXPECT_FALSE(regex.isFoundIn("norms"));
  EXPECT_THROW(Regex("(a"), Error);
}
