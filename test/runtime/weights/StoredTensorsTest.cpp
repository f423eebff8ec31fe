// Tensors that are put together from the chunks of several files.
#include "runtime/weights/StoredTensors.h"

#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class StoredTensorsTest : public testing::Test {
protected:
  /// A file of one tensor, w, whose bytes are zeros. `offsets`: as in JSON.
  std::string file(const std::string &name, const std::string &dtype,
                   const std::string &shape, size_t bytes,
                   const std::string &offsets) {
    std::string info = R"({\"w\":{\"saved_offsets\":)" + offsets + "}}";
    std::string header = R"({"__metadata__":{"DCP_SHARDING_INFO":")" + info +
                         R"("},"w":{"dtype":")" + dtype + R"(","shape":)" +
                         shape + R"(,"data_offsets":[0,)" +
                         std::to_string(bytes) + "]}}";
    uint64_t length = header.size();
    std::string size(reinterpret_cast<const char *>(&length), sizeof(length));
    folder.write(name, size + header + std::string(bytes, '\0'));
    return folder / name;
  }
  /// Of reading w as float32.
  std::string errorOf(const std::vector<std::string> &files) {
    try {
      StoredTensors tensors(files);
      std::vector<float> values(16);
      tensors.read("w", 0, tensors.shapeOf("w")[0], plan::FLOAT32,
                   reinterpret_cast<std::byte *>(values.data()));
    } catch (const Error &error) {
      return std::string(error.what()).substr(folder.path().size() + 1);
    }
    return "";
  }

  TemporaryFolder folder;
};

TEST_F(StoredTensorsTest, AreWhole) {
  std::string first = file("a", "F32", "[2]", 8, "[0]"),
              second = file("b", "F16", "[3]", 6, "[2]");
  EXPECT_EQ(errorOf({second, first}), "");
  EXPECT_EQ(errorOf({second}), "b: tensor w lacks its elements 0 to 2: a file "
                               "of the checkpoint is missing");
  EXPECT_EQ(errorOf({first, second, second}),
            "b: tensor w has its elements from 2 on twice");
}

TEST_F(StoredTensorsTest, HaveNumbersOfOneKind) {
  std::string first = file("a", "F32", "[2]", 8, "[0]");
  EXPECT_EQ(errorOf({first, file("b", "I64", "[1]", 8, "[2]")}),
            "b: tensor w holds int64, which cannot be read as float32");
  EXPECT_EQ(errorOf({file("b", "F8_E4M3", "[2]", 2, "[0]")}),
            "b: tensor w holds numbers of an unknown type, which cannot be "
            "read as float32");
}

TEST_F(StoredTensorsTest, HaveNoEmptyChunks) {
  StoredTensors empty({file("a", "F32", "[0,3]", 0, "[7,0]")});
  EXPECT_FALSE(empty.has("w"));
  EXPECT_EQ(errorOf({folder / "a", file("b", "F32", "[2]", 8, "[0]")}), "");
}

} // namespace
