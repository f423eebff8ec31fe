// Headers of safetensors files: what the reference implementation writes, and
// everything that it would refuse.
#include "runtime/files/Safetensors.h"

#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class Safetensors : public testing::Test {
protected:
  /// Reads a file with this header and so many bytes of values.
  std::map<std::string, SafetensorsEntry> read(const std::string &header,
                                               size_t bytes) {
    uint64_t length = header.size();
    std::string path = folder.write(
        "x", std::string(reinterpret_cast<char *>(&length), sizeof(length)) +
                 header + std::string(bytes, '\0'));
    return readSafetensorsHeader(Descriptor::openForReading(path), "x");
  }
  std::string errorOf(const std::string &header, size_t bytes) {
    try {
      read(header, bytes);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
  /// The error about one tensor of four bytes with these fields.
  std::string errorOfTensor(const std::string &fields) {
    return errorOf("{\"w\":{" + fields + "}}", 4);
  }

  TemporaryFolder folder;
};

TEST_F(Safetensors, ReadsTensorsInAnyOrder) {
  auto entries = read(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[],"data_offsets":[12,20]},)"
      R"("a":{"shape":[1,3],"data_offsets":[0,12],"dtype":"F32"},)"
      R"("none":{"dtype":"F16","shape":[0,7],"data_offsets":[12,12]},)"
      R"("other":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[20,22],"note":{"by":["us"],"rate":-1.5}}}   )",
      22);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries["a"].shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(entries["a"].length, 12u);
  EXPECT_EQ(entries["b"].offset - entries["a"].offset, 12u);
  EXPECT_EQ(entries["b"].dtype, plan::INT64);
  EXPECT_EQ(entries["other"].dtype, plan::INVALID);
  EXPECT_TRUE(read("{}", 0).empty());
}

TEST_F(Safetensors, EveryByteBelongsToOneTensor) {
  auto two = [](const char *first, const char *second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)") +
           first + R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":)" +
           second + "}}";
  };
  EXPECT_EQ(errorOf(two("[0,8]", "[8,16]"), 16), "");
  EXPECT_EQ(errorOf(two("[0,8]", "[0,8]"), 8),
            "x: tensors a and b overlap: bytes 0 to 8 and 0 to 8");
  EXPECT_EQ(errorOf(two("[4,12]", "[0,8]"), 12),
            "x: tensors b and a overlap: bytes 0 to 8 and 4 to 12");
  EXPECT_EQ(errorOf(two("[0,8]", "[12,20]"), 20),
            "x: bytes 8 to 12, before those of tensor b, belong to no tensor");
  EXPECT_EQ(errorOf(two("[4,12]", "[12,20]"), 20),
            "x: bytes 0 to 4, before those of tensor a, belong to no tensor");
  EXPECT_EQ(errorOf(two("[0,8]", "[8,16]"), 17),
            "x: has 17 bytes of values, and its tensors take 16");
  EXPECT_EQ(errorOf(two("[0,8]", "[8,16]"), 15),
            "x: tensor b lies at bytes 8 to 16 of 15: the file is truncated, "
            "or the header damaged");
}

TEST_F(Safetensors, NothingIsThereTwice) {
  std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(errorOf("{" + w + "," + w + "}", 4), "x: tensor w is there twice");
  EXPECT_EQ(
      errorOfTensor(
          R"("dtype":"I64","dtype":"F32","shape":[1],"data_offsets":[0,4])"),
      "x: tensor w has two fields 'dtype'");
  EXPECT_EQ(
      errorOfTensor(
          R"("dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4])"),
      "x: tensor w has two fields 'shape'");
}

TEST_F(Safetensors, NumbersAreIntegers) {
  for (const char *number :
       {"4.0", "3.7", "4e0", "-4", "-0", "1e400", "18446744073709551616"}) {
    std::string text(number);
    std::string error = errorOfTensor(
        R"("dtype":"F32","shape":[1],"data_offsets":[0,)" + text + "]");
    EXPECT_NE(error, "") << number;
    EXPECT_NE(errorOfTensor(R"("dtype":"F32","shape":[)" + text +
                            R"(],"data_offsets":[0,4])"),
              "")
        << number;
  }
  EXPECT_EQ(
      errorOfTensor(R"("dtype":"F32","shape":[1],"data_offsets":[0.4,4])"),
      "x: tensor w has the number 0.4, expects integers from 0 on");
  EXPECT_EQ(
      errorOfTensor(
          R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])"),
      "x: tensor w has the number 9223372036854775808, more than 2^63 - 1");
  EXPECT_NE(
      errorOfTensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,NaN])"), "");
}

TEST_F(Safetensors, TypeShapeAndSizeAgree) {
  EXPECT_EQ(errorOfTensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
            "x: tensor w expects 8 bytes, got 4");
  EXPECT_EQ(errorOfTensor(R"("dtype":"F16","shape":[1],"data_offsets":[0,4])"),
            "x: tensor w expects 2 bytes, got 4");
  EXPECT_EQ(
      errorOfTensor(
          R"("dtype":"F32","shape":[4294967296,0,4294967296],"data_offsets":[0,4])"),
      "x: tensor w has a shape that is not possible");
  EXPECT_EQ(errorOfTensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
            "x: tensor w has the data_offsets 4 and 0, which end before they "
            "begin");
  for (const char *fields :
       {R"("dtype":"F32","shape":[1])", R"("shape":[1],"data_offsets":[0,4])",
        R"("dtype":"F32","data_offsets":[0,4])",
        R"("dtype":"F32","shape":[1],"data_offsets":[0])",
        R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])",
        R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])",
        R"("dtype":"F32","shape":1,"data_offsets":[0,4])",
        R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])",
        R"("dtype":"F32","shape":[true],"data_offsets":[0,4])"})
    EXPECT_NE(errorOfTensor(fields), "") << fields;
}

TEST_F(Safetensors, TheHeaderIsOneObject) {
  EXPECT_EQ(errorOf("[[[[", 0), "x: its safetensors header is no JSON object");
  EXPECT_EQ(errorOf("{\"w\":", 0),
            "x: its safetensors header is no JSON at byte 6");
  for (const char *header :
       {"", "3", "null", "{} {}", "{\"w\":3}", "{\"__metadata__\":3}",
        "{\"__metadata__\":{\"a\":{}}}", "{\"w\":{}}"})
    EXPECT_NE(errorOf(header, 0), "") << header;
  // No more memory than the header takes: what nests goes at its first bracket.
  EXPECT_NE(errorOf(std::string(1 << 20, '['), 0), "");
  std::string cut = "\xff\xff\xff\xff\xff\xff\xff\x7f{}";
  std::string path = folder.write("x", cut);
  EXPECT_THROW(readSafetensorsHeader(Descriptor::openForReading(path), "x"),
               Error);
}

} // namespace
