// What an entry comes from, in a line that other words have to fit in.
#include "runtime/base/EntryText.h"

#include "gtest/gtest.h"

namespace {
using namespace shardc::runtime;

shardc::plan::Entry entryOf(int nodes) {
  shardc::plan::Entry entry;
  for (int i = 0; i < nodes; ++i)
    entry.add_nodes(std::string(1, char('a' + i)));
  return entry;
}

TEST(EntryText, namesTheFirstOfManyNodes) {
  EXPECT_EQ(nodesText(entryOf(0)), "");
  EXPECT_EQ(nodesText(entryOf(1)), "ONNX node a");
  EXPECT_EQ(nodesText(entryOf(4)), "ONNX nodes a, b, c, d");
  EXPECT_EQ(nodesText(entryOf(7)), "ONNX nodes a, b, c, d and 3 more");
}

TEST(EntryText, saysWhatACollectiveStandsBesideOf) {
  shardc::plan::Program program;
  for (int nodes : {1, 0, 2})
    *program.add_entries() = entryOf(nodes);
  program.mutable_entries(1)->set_phase("forward");
  EXPECT_EQ(nodesNear(program, 1), "before ONNX nodes a, b");
  program.mutable_entries(1)->set_phase("backward");
  EXPECT_EQ(nodesNear(program, 1), "behind ONNX node a");
  EXPECT_EQ(nodesNear(program, 2), "ONNX nodes a, b");
}
} // namespace
