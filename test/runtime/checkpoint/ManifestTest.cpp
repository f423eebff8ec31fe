// Manifests that have the hash of their text, and numbers that are none.
#include "runtime/checkpoint/Manifest.h"

#include "runtime/base/Hash.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

/// The manifest with `to` in the place of `from`, and with its hash.
static std::string changed(const std::string &from, const std::string &to) {
  Manifest manifest;
  manifest.progress.step = 1234;
  manifest.files.push_back({"rank0.safetensors", 5678, {1}});
  std::string text = manifest.text();
  text.resize(text.find(",\n \"xxh3\""));
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  return text + ",\n \"xxh3\": \"" +
         hashText(hashOf(text.data(), text.size())) + "\"\n}\n";
}

TEST(ManifestTest, WhatIsWrittenIsRead) {
  Manifest read = Manifest::parse(changed("\"step\": 1234", "\"step\": 5"),
                                  "manifest.json");
  EXPECT_EQ(read.progress.step, 5);
  EXPECT_EQ(read.files.at(0).bytes, 5678u);
}

TEST(ManifestTest, NumbersThatAreNoneAreRefused) {
  for (auto [from, to] : {std::pair("\"step\": 1234", "\"step\": 1e300"),
                          {"\"step\": 1234", "\"step\": 2.5"},
                          {"\"bytes\": 5678", "\"bytes\": -1"},
                          {"\"bytes\": 5678", "\"bytes\": 1e30"},
                          {"\"version\": 1", "\"version\": 4294967297"}}) {
    try {
      Manifest::parse(changed(from, to), "manifest.json");
      FAIL() << to << " was taken";
    } catch (const std::exception &error) {
      EXPECT_NE(
          std::string(error.what()).find("is no manifest of a checkpoint"),
          std::string::npos)
          << error.what();
    }
  }
}
