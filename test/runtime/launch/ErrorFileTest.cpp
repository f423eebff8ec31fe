// The file in which torchrun's agent looks for a worker's error.
#include "runtime/launch/ErrorFile.h"
#include "test/runtime/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace shardc::runtime;

TEST(ErrorFile, HasTorchsForm) {
  EXPECT_EQ(
      errorFileText("disk \"a\" is full", 1700000000),
      R"({"message":{"message":"trainer: error: disk \"a\" is full",)"
      R"("extraInfo":{"py_callstack":"trainer: error: disk \"a\" is full",)"
      R"("timestamp":"1700000000"}}})");
  // Whatever a path has: a line of JSON.
  EXPECT_NE(errorFileText("no \xff\n", 0).find(R"(no \\xff\\n")"),
            std::string::npos)
      << errorFileText("no \xff\n", 0);
}

TEST(ErrorFile, IsWrittenWhereTheAgentLooks) {
  TemporaryFolder folder;
  std::string path = folder / "error.json";
  EXPECT_TRUE(writeErrorFile({}, "x"));
  EXPECT_TRUE(writeErrorFile({{"TORCHELASTIC_ERROR_FILE", ""}}, "x"));
  EXPECT_FALSE(std::filesystem::exists(path));
  Environment environment = {{"TORCHELASTIC_ERROR_FILE", path}};
  EXPECT_TRUE(writeErrorFile(environment, "a longer first error"));
  EXPECT_TRUE(writeErrorFile(environment, "second"));
  std::string text = folder.read("error.json");
  EXPECT_EQ(text.find("first"), std::string::npos);
  EXPECT_EQ(text.back(), '}');
  EXPECT_NE(text.find("trainer: error: second"), std::string::npos);
  EXPECT_FALSE(writeErrorFile({{"TORCHELASTIC_ERROR_FILE", path + "/x"}}, "x"));
  EXPECT_FALSE(writeErrorFile({{"TORCHELASTIC_ERROR_FILE", "/dev/full"}}, "x"));
}
