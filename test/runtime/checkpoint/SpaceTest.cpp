// The disk space of checkpoints: what they need, and what there is.
#include "runtime/checkpoint/Space.h"

#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

TEST(CheckpointSpace, CountsMasterWeightsAndStateOfWhatIsTrained) {
  plan::Plan plan;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(parameters { name: "w" shape: 3 shape: 5 }
         parameters { name: "b" shape: 5 }
         parameters { name: "scalar" }
         parameters { name: "frozen" shape: 100 }
         units { parameters: 0 parameters: 1 elements: 24 padding: 4 optimizer_shards: 2
                 state_buffers: 1 state_buffers: 2 dtype: BFLOAT16 master_dtype: FLOAT32 }
         units { parameters: 2 elements: 1 optimizer_shards: 1 dtype: FLOAT64 master_dtype: FLOAT64 }
         units { parameters: 3 elements: 100 dtype: FLOAT32 master_dtype: FLOAT32 })",
      &plan));
  EXPECT_EQ(checkpointBytes(plan),
            uint64_t((15 + 5) * 4 * 3 + 2 * 4 + 1 * 8 + 4));
}

TEST(CheckpointSpace, SaysBothNumbers) {
  TemporaryFolder folder;
  std::string said = checkSpace(folder / "not/there", 3, 1 << 20, 0);
  EXPECT_EQ(said.find("3 checkpoints of 1.00 MiB need 3.00 MiB; "), 0u) << said;
  EXPECT_NE(said.find(" are free in " + folder.path()), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "not"));
  auto errorOf = [&](uint64_t reused) -> std::string {
    try {
      checkSpace(folder.path(), 2, uint64_t{1} << 60, reused);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  std::string error = errorOf(0);
  EXPECT_EQ(error.find("--checkpoint-dir: 2 checkpoints of "), 0u) << error;
  EXPECT_NE(error.find(" are free in " + folder.path()), std::string::npos);
  EXPECT_NE(error.find("a smaller --checkpoint-keep"), std::string::npos);
  // What goes meanwhile makes room.
  EXPECT_EQ(errorOf(uint64_t{1} << 61), "");
}

TEST(CheckpointSpace, CountsTheLastOfThoseThatAreThere) {
  TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  EXPECT_EQ(storedBytes(checkpoints, 2), 0u);
  for (auto [step, bytes] : {std::pair(1, 100), {2, 30}, {3, 7}}) {
    std::filesystem::create_directories(checkpoints.pathOf(step) + "/model");
    std::filesystem::create_directories(checkpoints.temporaryPathOf(step));
    std::string name =
        std::filesystem::path(checkpoints.pathOf(step)).filename().string();
    folder.write(name + "/model/a", std::string(bytes, 'x'));
    folder.write(name + ".tmp/a", std::string(1000, 'x'));
  }
  EXPECT_EQ(storedBytes(checkpoints, 2), 37u);
  EXPECT_EQ(storedBytes(checkpoints, 9), 137u);
}
