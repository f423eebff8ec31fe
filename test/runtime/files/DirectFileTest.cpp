// Files that are written past the page cache hold what was given, whatever the
// sizes of its pieces.
#include "runtime/files/DirectFile.h"
#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/statfs.h>

using namespace shardc::runtime;

namespace {

constexpr size_t buffer = 4 << 20;

std::string bytes(size_t count) {
  std::string made(count, '\0');
  uint32_t state = 7;
  for (char &each : made)
    each = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return made;
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST(DirectFile, HoldsWhatWasWritten) {
  TemporaryFolder folder;
  for (size_t size :
       {size_t(0), size_t(1), size_t(4095), size_t(4096), size_t(4097),
        buffer - 1, buffer, buffer + 1, 2 * buffer + 4096 + 3})
    for (size_t piece : {size_t(1) << 24, size_t(65537)}) {
      std::string path = folder / concat("file-", size, "-", piece);
      std::string content = bytes(size);
      DirectFile file(path);
      for (size_t at = 0; at < size; at += piece)
        file.write(content.data() + at, std::min(piece, size - at));
      EXPECT_EQ(file.size(), size);
      file.finish();
      EXPECT_TRUE(contentOf(path) == content) << size << " by " << piece;
    }
}

TEST(DirectFile, IsDirectWhereTheFileSystemSaysHow) {
  TemporaryFolder folder;
  DirectFile file(folder / "file");
  struct statfs status = {};
  ASSERT_EQ(statfs((folder / "").c_str(), &status), 0);
  constexpr long ext4 = 0xef53, xfs = 0x58465342, tmpfs = 0x01021994;
  if (status.f_type == ext4 || status.f_type == xfs)
    EXPECT_TRUE(file.isDirect());
  else if (status.f_type == tmpfs)
    EXPECT_FALSE(file.isDirect());
  else
    GTEST_SKIP() << "a file system of another kind";
}

TEST(DirectFile, IsNotOneThatWasThere) {
  TemporaryFolder folder;
  folder.write("file", "old");
  EXPECT_THROW(DirectFile(folder / "file"), Error);
  EXPECT_EQ(contentOf(folder / "file"), "old");
}
