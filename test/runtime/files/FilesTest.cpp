// Which paths are one file, and which files a file may name.
#include "runtime/base/Error.h"
#include "runtime/files/ConfinedOpen.h"
#include "runtime/files/FileUses.h"
#include "test/runtime/ErrorText.h"
#include "test/runtime/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace shardc::runtime;
namespace fs = std::filesystem;

TEST(Files, AreOneHoweverTheyAreSpelt) {
  TemporaryFolder folder;
  auto same = [&](const std::string &a, const std::string &b) {
    return FileIdentity(folder / a) == FileIdentity(folder / b);
  };
  folder.write("a", "");
  folder.write("b", "");
  fs::create_hard_link(folder / "a", folder / "hard");
  fs::create_symlink("a", folder / "soft");
  fs::create_directory(folder / "d");
  fs::create_directory_symlink("d", folder / "link");
  EXPECT_TRUE(same("a", "./a"));
  EXPECT_TRUE(same("a", "d/../a"));
  EXPECT_TRUE(same("a", "hard"));
  EXPECT_TRUE(same("a", "soft"));
  EXPECT_FALSE(same("a", "b"));
  // Files that are not there yet.
  EXPECT_TRUE(same("new", ".//new"));
  EXPECT_TRUE(same("d/new", "link/new"));
  EXPECT_TRUE(same("d/more/new", "link/./more//new"));
  EXPECT_FALSE(same("new", "d/new"));
  EXPECT_FALSE(same("new", "newer"));
  fs::create_symlink("new", folder / "dangling");
  EXPECT_TRUE(same("new", "dangling"));
  EXPECT_FALSE(FileIdentity(folder / "dangling").exists());
  fs::create_symlink("loop", folder / "loop");
  EXPECT_FALSE(same("loop", "new"));
  fs::create_symlink("self/x", folder / "self");
  EXPECT_FALSE(FileIdentity(folder / "self").exists());
  EXPECT_EQ(FileIdentity("name-of-nothing"), FileIdentity("./name-of-nothing"));
}

TEST(Files, MayNotBeReadAndWritten) {
  TemporaryFolder folder;
  folder.write("in", "");
  FileUses uses;
  uses.reads("--data x=in", folder / "in");
  uses.reads("--weights gone", folder / "gone");
  uses.writes("--metrics out", folder / "out");
  // An input that is not there is not overwritten.
  uses.writes("--trace gone", folder / "gone");
  EXPECT_EQ(errorOf([&] { uses.check(); }), "");
  FileUses over = uses;
  over.writes("--export-onnx ./in", folder / "./in");
  EXPECT_EQ(errorOf([&] { over.check(); }),
            "--export-onnx ./in would overwrite what is read: it is the file "
            "of --data x=in; choose another path");
  uses.writes("--export-safetensors ./out", folder / "./out");
  EXPECT_EQ(errorOf([&] { uses.check(); }),
            "two outputs would be one file: --metrics out and "
            "--export-safetensors ./out; choose another path for one of them");
}

TEST(FileUses, WhatWillLieInAFolderIsNotReadOrWrittenElsewhere) {
  TemporaryFolder folder;
  fs::create_directory(folder / "k");
  folder.write("k/old.ptx", "");
  FileUses uses;
  uses.writesInto("--kernels k", folder / "k", {".so", ".ptx"});
  EXPECT_EQ(uses.conflict(), "");
  auto conflict = [&](const char *path) {
    FileUses with = uses;
    with.writes("--report r", folder / path);
    return with.conflict();
  };
  EXPECT_EQ(conflict("k/./new.so"),
            "two outputs would be one file: --kernels k and --report r; "
            "choose another path for one of them");
  EXPECT_NE(conflict("k/old.ptx"), "");
  EXPECT_EQ(conflict("k/new.json"), "");
  EXPECT_EQ(conflict("new.so"), "");
}

TEST(FileUses, WhatTheRunRemovesIsNobodysFile) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "c/own-1/model");
  std::filesystem::create_directory_symlink(folder / "c/own-1",
                                            folder / "link");
  std::string stored = folder.write("c/own-1/model/a", "x");
  auto errorOf = [&](bool reads, const std::string &path) -> std::string {
    FileUses uses;
    uses.owns("--dir", folder / "c",
              [](const std::string &name) { return name.starts_with("own-"); });
    reads ? uses.reads("--in", path) : uses.writes("--out", path);
    try {
      uses.check();
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOf(true, stored),
            "--in lies in own-1 of --dir, which this run may replace or "
            "remove; choose another path for one of them");
  EXPECT_NE(errorOf(true, folder / "link/model/a"), "");
  EXPECT_NE(errorOf(true, folder / "c/../c/own-1"), "");
  EXPECT_NE(errorOf(false, folder / "c/own-2/new"), "");
  EXPECT_NE(errorOf(false, folder / "c/own-2"), "");
  EXPECT_EQ(errorOf(false, folder / "c"), "");
  EXPECT_EQ(errorOf(false, folder / "c/other"), "");
  EXPECT_EQ(errorOf(false, folder / "own-3"), "");
  EXPECT_EQ(errorOf(false, folder / "cc/own-3"), "");
  EXPECT_EQ(errorOf(true, folder / "link/../x"), "");
}

TEST(Files, LinksEndWhereTheirOwnerLies) {
  TemporaryFolder folder;
  auto open = [&](const std::string &owner, const std::string &name) {
    return errorOf([&] { openConfined(folder / owner, name); });
  };
  auto link = [&](const std::string &to, const std::string &at) {
    fs::create_directories(fs::path(folder / at).parent_path());
    fs::create_symlink(to, folder / at);
  };
  auto file = [&](const std::string &at) {
    fs::create_directories(fs::path(folder / at).parent_path());
    folder.write(at, "");
  };
  // In the folder, by any links.
  file("plain/model.onnx");
  file("plain/sub/data");
  link("sub/data", "plain/link");
  link("link", "plain/again");
  link("sub", "plain/folder");
  EXPECT_EQ(open("plain/model.onnx", "link"), "");
  EXPECT_EQ(open("plain/model.onnx", "again"), "");
  EXPECT_EQ(open("plain/model.onnx", "folder/data"), "");
  EXPECT_NE(open("plain/model.onnx", "folder/../sub/data"), "");
  // Out of it.
  file("secret");
  file("plainer/data"); // a name that begins as the folder's does
  link("../secret", "plain/out");
  link("../plainer/data", "plain/near");
  link("..", "plain/up");
  link("nothing", "plain/dangling");
  for (const char *name : {"out", "near", "up/secret"})
    EXPECT_NE(open("plain/model.onnx", name).find("outside of the model's"),
              std::string::npos)
        << name;
  EXPECT_NE(open("plain/model.onnx", "dangling").find("No such file"),
            std::string::npos);
  EXPECT_NE(open("plain/model.onnx", "up").find("outside of the model's"),
            std::string::npos);

  // A cache of Hugging Face's: snapshots are links into blobs.
  std::string snapshot = "models--a--b/snapshots/0123/";
  file("models--a--b/blobs/m");
  file("models--a--b/blobs/d");
  file("models--a--b/refs/main");
  link("../../blobs/m", snapshot + "model.onnx");
  link("../../blobs/d", snapshot + "model.onnx.data");
  link("../../../blobs/d", snapshot + "onnx/model.onnx.data");
  link("../../../blobs/m", snapshot + "onnx/model.onnx");
  link("../../refs/main", snapshot + "ref");
  link("../../../secret", snapshot + "secret");
  file(snapshot + "own.onnx");
  EXPECT_EQ(open(snapshot + "model.onnx", "model.onnx.data"), "");
  EXPECT_EQ(open(snapshot + "onnx/model.onnx", "model.onnx.data"), "");
  EXPECT_EQ(open(snapshot + "own.onnx", "model.onnx.data"), "");
  EXPECT_NE(open(snapshot + "model.onnx", "ref"), "");
  EXPECT_NE(open(snapshot + "own.onnx", "secret"), "");
  // A model behind a link takes its data along.
  link("plain/model.onnx", "model.onnx");
  link("plain/sub/data", "data");
  EXPECT_EQ(open("model.onnx", "data"), "");
  EXPECT_EQ(open("model.onnx", "secret"), ""); // beside the link
  // A folder blobs that is itself a link leads anywhere.
  file("repo/snapshots/1/model.onnx");
  link("../plain/sub", "repo/blobs");
  link("../../blobs/data", "repo/snapshots/1/data");
  EXPECT_NE(open("repo/snapshots/1/model.onnx", "data"), "");
}
