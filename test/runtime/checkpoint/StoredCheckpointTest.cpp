// Damage to a checkpoint: whichever byte is another one, and wherever a file
// ends too early.
#include "runtime/checkpoint/StoredCheckpoint.h"

#include "test/runtime/train/TrainingTest.h"

#include <filesystem>
#include <fstream>

using namespace shardc;
using namespace shardc::runtime;
namespace fs = std::filesystem;

namespace {

class StoredCheckpoints : public TrainingTest {
protected:
  StoredCheckpoints() {
    options.steps = 2;
    options.checkpointDir = folder / "c";
  }

  /// What reading the checkpoint says; empty: it is whole.
  std::string problem() const {
    try {
      StoredCheckpoint checkpoint(where());
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
  std::string where() const { return folder / "c/step-00000002"; }

  static std::string contentOf(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path &path, const std::string &content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto &entry : fs::recursive_directory_iterator(where()))
      if (entry.is_regular_file())
        found.push_back(entry.path());
    return found;
  }
};

TEST_F(StoredCheckpoints, HaveNoByteThatMayBeAnother) {
  EXPECT_EQ(train(LinearPlan(2, 2).plan), 0);
  ASSERT_EQ(problem(), "");
  ASSERT_EQ(files().size(), 5u); // two of each part, and the manifest
  for (const fs::path &path : files()) {
    std::string content = contentOf(path), name = path.filename();
    ASSERT_GT(content.size(), 0u);
    for (size_t at = 0; at < content.size(); ++at) {
      std::string flipped = content;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
      write(path, flipped);
      EXPECT_NE(problem().find(name), std::string::npos)
          << name << ", byte " << at << ": '" << problem() << "'";
    }
    write(path, content);
  }
  EXPECT_EQ(problem(), "");
}

TEST_F(StoredCheckpoints, EndNowhereElse) {
  EXPECT_EQ(train(LinearPlan(2, 2).plan), 0);
  for (const fs::path &path : files()) {
    std::string content = contentOf(path), name = path.filename();
    for (size_t size = 0; size < content.size(); ++size) {
      write(path, content.substr(0, size));
      EXPECT_NE(problem().find(name), std::string::npos)
          << name << " of " << size << " bytes: '" << problem() << "'";
    }
    write(path, content + '\n');
    EXPECT_NE(problem().find(name), std::string::npos) << name;
    fs::remove(path);
    EXPECT_NE(problem().find(name), std::string::npos) << name;
    write(path, content);
  }
}

TEST_F(StoredCheckpoints, KnowWhichFileIsWhich) {
  EXPECT_EQ(train(LinearPlan(2, 2).plan), 0);
  std::vector<fs::path> all = files();
  for (const fs::path &a : all)
    for (const fs::path &b : all) {
      if (a >= b)
        continue;
      std::string ofA = contentOf(a), ofB = contentOf(b);
      write(a, ofB);
      write(b, ofA);
      EXPECT_NE(problem(), "") << a << " and " << b << " are swapped";
      write(a, ofA);
      write(b, ofB);
    }
  EXPECT_EQ(problem(), "");
}

} // namespace
