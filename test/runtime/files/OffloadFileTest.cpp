// A file that stands for memory holds what was written there, whatever the
// alignment of places and memory, and says what goes wrong with it.
#include "runtime/files/OffloadFile.h"
#include "runtime/base/Error.h"
#include "test/runtime/ErrorText.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <random>
#include <unistd.h>
#include <vector>

using namespace shardc::runtime;

TEST(OffloadFile, BeginsWithZerosAndHasNoName) {
  TemporaryFolder folder;
  OffloadFile file(folder.path(), 10000);
  std::vector<std::byte> values(10000, std::byte(1));
  file.read(0, values.data(), 10000);
  EXPECT_EQ(values, std::vector<std::byte>(10000));
  EXPECT_EQ(folder.size(), 0u);
}

TEST(OffloadFile, HoldsWhatWasWrittenWherever) {
  TemporaryFolder folder;
  constexpr int64_t size = OffloadFile::bufferBytes + 3 * 4096 + 5;
  OffloadFile file(folder.path(), size);
  std::vector<std::byte> expected(size);
  std::mt19937 draw(3);
  // Places and memory at whole blocks and beside them, more than a buffer at
  // once among them.
  std::vector<std::byte> room(size + 8192);
  for (int round = 0; round < 200; ++round) {
    int64_t multiple = std::vector<int64_t>{1, 64, 512, 4096}[draw() % 4];
    int64_t begin = int64_t(draw()) % size / multiple * multiple;
    int64_t most = round % 10 == 0 ? size : 20000;
    int64_t bytes = std::min(size - begin, int64_t(draw()) % most);
    bytes = std::max<int64_t>(1, bytes / multiple * multiple);
    bytes = std::min(bytes, size - begin);
    std::byte *memory =
        room.data() + (4096 - reinterpret_cast<uintptr_t>(room.data()) % 4096) +
        draw() % 2 * 64;
    for (int64_t i = 0; i < bytes; ++i)
      memory[i] = expected[begin + i] = std::byte(draw());
    file.write(begin, memory, bytes);
    int64_t from = begin > 100 ? begin - 100 : 0;
    int64_t count = std::min(size - from, bytes + 200);
    file.read(from, memory, count);
    ASSERT_TRUE(std::equal(memory, memory + count, expected.begin() + from))
        << round;
  }
}

TEST(OffloadFile, SaysThatItWasTruncated) {
  TemporaryFolder folder;
  OffloadFile file(folder.path(), 3 * 4096);
  std::vector<std::byte> values(4096);
  ASSERT_EQ(ftruncate(file.descriptor(), 8192), 0);
  std::string expected = concat("the file in --offload-dir ", folder.path(),
                                " was truncated while it was in use: it has "
                                "8192 of 12288 bytes");
  EXPECT_EQ(errorOf([&] { file.read(0, values.data(), 4096); }), expected);
  EXPECT_EQ(errorOf([&] { file.write(8192, values.data(), 4096); }), expected);
}

TEST(OffloadFile, SaysThatTheDiskIsFull) {
  TemporaryFolder folder;
  std::string error =
      errorOf([&] { OffloadFile(folder.path(), int64_t(1) << 60); });
  EXPECT_NE(error.find("--offload-dir " + folder.path() + " has "),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("name a folder on a larger disk"), std::string::npos);
  EXPECT_EQ(folder.size(), 0u);
}

TEST(OffloadFile, SaysThatTheFolderIsNotThere) {
  TemporaryFolder folder;
  EXPECT_EQ(errorOf([&] { OffloadFile(folder / "none", 64); }),
            concat("cannot write the file in --offload-dir ", folder / "none",
                   ": No such file or directory"));
}
