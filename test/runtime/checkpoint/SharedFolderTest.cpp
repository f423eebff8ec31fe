// One folder for all processes: worlds of which a part is elsewhere.
#include "runtime/checkpoint/SharedFolder.h"

#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/launch/PartialWorld.h"

#include <gtest/gtest.h>
#include <regex>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace shardc::runtime;

/// An error without the words "rank N gave up: ": a rank that had not yet seen
/// what was wrong hears of it by the first that has, and says whose it is.
static std::string reasonOf(const Error &error) {
  static const std::regex heard("^rank [0-9]+ gave up: ");
  return std::regex_replace(error.what(), heard, "");
}

/// What ranks 0 and 1 say whose path is `first`, and rank 2 with `second`.
static std::vector<std::string> errorsOf(const std::string &first,
                                         const std::string &second) {
  auto process = std::make_shared<ThreadProcess>(3, false);
  PartialWorld here(process, {0, 2}), elsewhere(process, {2, 3});
  std::vector<std::string> errors(2);
  auto run = [](World &world, const std::string &path, std::string &said) {
    try {
      world.run([&](Communicator &communicator) {
        checkSharedFolder(communicator, path);
      });
    } catch (const Error &error) {
      said = reasonOf(error);
    }
  };
  std::thread other([&] { run(elsewhere, second, errors[1]); });
  run(here, first, errors[0]);
  other.join();
  return errors;
}

TEST(SharedFolder, OneFolderLeavesNothingBehind) {
  TemporaryFolder folder;
  // By whatever spelling.
  std::filesystem::create_directory_symlink(folder.path(), folder / "link");
  EXPECT_EQ(errorsOf(folder.path(), folder / "link"),
            (std::vector<std::string>{"", ""}));
  EXPECT_EQ(folder.size(), 1u);
  // Folders that were made for it go again, and no others.
  EXPECT_EQ(errorsOf(folder / "new/inside", folder / "new/inside"),
            (std::vector<std::string>{"", ""}));
  EXPECT_EQ(folder.size(), 1u);
  std::filesystem::create_directory(folder / "old");
  EXPECT_EQ(errorsOf(folder / "old/new", folder / "old/new")[0], "");
  EXPECT_TRUE(std::filesystem::exists(folder / "old"));
  EXPECT_FALSE(std::filesystem::exists(folder / "old/new"));
}

TEST(SharedFolder, AnotherFolderIsAnErrorOfAll) {
  TemporaryFolder folder, other;
  for (const std::string &error : errorsOf(folder.path(), other.path())) {
    EXPECT_NE(
        error.find("is not one folder for all processes: rank 2 (process "),
        std::string::npos)
        << error;
    EXPECT_NE(error.find("does not see what rank 0 writes there"),
              std::string::npos);
  }
  EXPECT_EQ(folder.size(), 0u);
  EXPECT_EQ(other.size(), 0u);
  // What only the other process has does not help.
  for (const std::string &error : errorsOf(folder.path(), folder / "not/there"))
    EXPECT_NE(error, "");
}

TEST(SharedFolder, WhatCannotBeWrittenIsAnErrorOfAll) {
  TemporaryFolder folder;
  std::string file = folder.write("file", "");
  for (const std::string &error : errorsOf(file + "/in", file + "/in"))
    EXPECT_EQ(error.find("--checkpoint-dir: cannot make the folder "), 0u)
        << error;
  EXPECT_EQ(errorsOf("/proc", "/proc")[1].find(
                "--checkpoint-dir: cannot write to the folder /proc: "),
            0u);
}
