// Configuration files: what is read of them, and one line for all that is wrong.
#include "runtime/flags/ConfigFile.h"

#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>

using namespace shardc::runtime;
using namespace shardc::runtime::cli;

using Kind = ConfigNode::Kind;

/// Of a file of that name; empty: there is none.
static std::string errorOf(const std::string &path, std::string_view text) {
  try {
    parseConfig(text, path);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// The tree in one line: {lr@1:#3e-4, ...}.
static std::string shown(const ConfigNode &node) {
  std::string text;
  switch (node.kind) {
  case Kind::Nothing:
    return "-";
  case Kind::Text:
    return "'" + node.text + "'";
  case Kind::Number:
    return "#" + node.text;
  case Kind::Boolean:
    return node.text;
  case Kind::List:
    for (const ConfigNode &each : node.elements)
      text += (text.empty() ? "" : ", ") + shown(each);
    return "[" + text + "]";
  case Kind::Table:
    for (const auto &[key, value] : node.entries)
      text += concat(text.empty() ? "" : ", ", key, "@", value.line, ":",
                     shown(value));
    return "{" + text + "}";
  }
  return "";
}

TEST(ConfigFile, ReadsTheSameOfAllFormats) {
  EXPECT_EQ(shown(parseConfig("steps = 12\nlr = 3e-4\nshuffle = true\n"
                              "data = ['a', \"b\"]\n[compile]\nmesh = '2x4'\n",
                              "a.toml")),
            "{steps@1:#12, lr@2:#3e-04, shuffle@3:true, data@4:['a', 'b'], "
            "compile@5:{mesh@6:'2x4'}}");
  EXPECT_EQ(shown(parseConfig("steps: 12\nlr: 0.0003\nshuffle: true\n"
                              "data: [a, 'b']\ncompile:\n  mesh: 2x4\n",
                              "a.YML")),
            "{steps@1:#12, lr@2:#0.0003, shuffle@3:true, data@4:['a', 'b'], "
            "compile@5:{mesh@6:'2x4'}}");
  EXPECT_EQ(shown(parseConfig("{\"steps\": 12,\n \"lr\": 0.0003,\n"
                              "\"shuffle\": true,\n\"data\": [\"a\", \"b\"],\n"
                              "\"compile\":\n {\"mesh\": \"2x4\"}}",
                              "a.json")),
            "{steps@1:#12, lr@2:#0.0003, shuffle@3:true, data@4:['a', 'b'], "
            "compile@5:{mesh@6:'2x4'}}");
}

TEST(ConfigFile, TakesYamlAsItIsWritten) {
  // Whatever it looks like, it stays that text.
  EXPECT_EQ(shown(parseConfig("a: 1e5\nb: 007\nc: '12'\nd: yes\ne: True\nf: ~\n"
                              "g:\nh: 1.5x\ni: !!str 3\n",
                              "a.yaml")),
            "{a@1:#1e5, b@2:#007, c@3:'12', d@4:'yes', e@5:true, f@6:-, g@7:-, "
            "h@8:'1.5x', i@9:'3'}");
  // Both are there, for the reader to refuse.
  EXPECT_EQ(shown(parseConfig("a: 1\na: 2\n", "a.yaml")), "{a@1:#1, a@2:#2}");
  EXPECT_EQ(shown(parseConfig("", "a.yaml")), "{}");
  EXPECT_EQ(shown(parseConfig("# nothing\n", "a.toml")), "{}");
}

TEST(ConfigFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(errorOf("a.ini", "a = 1"),
            "a.ini: the name of a configuration ends in .toml, .yaml, .yml or "
            ".json");
  EXPECT_EQ(errorOf("toml", ""), "toml: the name of a configuration ends in "
                                 ".toml, .yaml, .yml or .json");
  EXPECT_EQ(errorOf("a.toml", "a = 1\na = 2\n"),
            "a.toml:2: error while parsing key-value pair: cannot redefine "
            "existing integer 'a'");
  EXPECT_EQ(errorOf("a.toml", "x = 1\nd = 1979-05-27\n"),
            "a.toml:2: there is a date or a time, which no flag takes; put it "
            "in quotes");
  EXPECT_EQ(errorOf("a.toml", "a = \"x\\u0000y\"\n"),
            "a.toml:1: there is a character 0 in a text");
  // What toml++ does not expect of itself.
  EXPECT_EQ(errorOf("a.toml", "a = 1\n[&"),
            "a.toml:2: error while parsing key: expected bare key starting "
            "character or string delimiter, saw '&'");
  EXPECT_EQ(errorOf("a.toml", "[[[1]]]\n"),
            "a.toml:1: error while parsing key: expected bare key starting "
            "character or string delimiter, saw '['");
  EXPECT_NE(errorOf("a.toml", "a = \uFEF7 1\n"), "");
  EXPECT_EQ(errorOf("a.yaml", "a: b\n\"k\\0\": c\n"),
            "a.yaml:2: there is a character 0 in a text");
  EXPECT_EQ(errorOf("a.yaml", "a: &x [1]\nb: *x\n"),
            "a.yaml:2: there is an alias (*NAME), which is not read; write out "
            "what it stands for");
  EXPECT_EQ(errorOf("a.yaml", "a: 1\n---\nb: 2\n"),
            "a.yaml:3: a second document begins here; there may be one");
  EXPECT_EQ(errorOf("a.yaml", "- a\n- b\n"),
            "a.yaml:1: expects keys with values, got a list");
  EXPECT_EQ(errorOf("a.yaml", "words"),
            "a.yaml:1: expects keys with values, got a text");
  EXPECT_EQ(errorOf("a.yaml", "? [a, b]\n: c\n"),
            "a.yaml:1: a key is a text, got a list");
  EXPECT_EQ(errorOf("a.yaml", "a: !!python/object:os.system {}\nb: !own 1\n"),
            "a.yaml:2: there is a tag, !own, which is not read");
  EXPECT_EQ(errorOf("a.yaml", "a: [1,\nb: {\n").substr(0, 9), "a.yaml:3:");
  // A bomb is refused at its first alias, whatever it would have become.
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i)
    bomb += concat("a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, "]\n");
  EXPECT_EQ(errorOf("a.yaml", bomb).substr(0, 27),
            "a.yaml:2: there is an alias");
  EXPECT_NE(errorOf("a.yaml", "a: " + std::string(100000, '[')), "");
  EXPECT_NE(errorOf("a.toml", "a = " + std::string(100000, '[')), "");
  EXPECT_NE(errorOf("a.json", "{\"a\":" + std::string(5000, '{')), "");
  EXPECT_EQ(errorOf("a.yaml", std::string((1 << 20) + 1, '#')),
            "a.yaml is larger than 1048576 bytes, the most that are read of a "
            "configuration");
}

TEST(ConfigFile, ReadsRegularFilesAlone) {
  TemporaryFolder folder;
  auto errorOfFile = [&](const std::string &path) -> std::string {
    try {
      readConfig(path, "--config FILE");
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOfFile(folder / "none.toml"),
            "cannot open --config FILE: No such file or directory");
  EXPECT_EQ(errorOfFile(folder.path()),
            "--config FILE is not a regular file but a folder");
  ASSERT_EQ(mkfifo((folder / "pipe.toml").c_str(), 0666), 0);
  EXPECT_EQ(errorOfFile(folder / "pipe.toml"),
            "--config FILE is not a regular file but a pipe");
  EXPECT_EQ(errorOfFile("/dev/zero"),
            "--config FILE is not a regular file but a device");
  std::string large = folder.write("large.toml", "");
  std::filesystem::resize_file(large, uint64_t{1} << 40);
  EXPECT_NE(errorOfFile(large), "");
  EXPECT_EQ(shown(readConfig(folder.write("a.toml", "a = 1"), "a")),
            "{a@1:#1}");
}

/// A text with some of its bytes changed, left out, or written twice.
static std::string damaged(std::string text, std::mt19937 &random) {
  static const std::string marks = "[]{}:,=\"'#&*!|>-? \n\t\\.%@`~\0\xff\xc3";
  for (int edits = 1 + random() % 6; edits > 0 && !text.empty(); --edits) {
    size_t at = random() % text.size(), length = 1 + random() % 12;
    switch (random() % 5) {
    case 0:
      text[at] = char(random());
      break;
    case 1:
      text[at] = marks[random() % marks.size()];
      break;
    case 2:
      text.erase(at, length);
      break;
    case 3:
      text.insert(at, text.substr(random() % text.size(), length));
      break;
    case 4:
      text.resize(at);
      break;
    }
  }
  return text;
}

TEST(ConfigFile, DamageIsReadOrIsOneLine) {
  const std::pair<const char *, std::string> files[] = {
      {"a.toml", "# a run\nsteps = 12\nlr = 3e-4\nshuffle = true\n"
                 "data = ['ids=a.bin,window=8', \"labels=@ids\"]\n"
                 "betas = [0.9, 0.95]\ngroup = [{match = 'a', lr-scale = 2}]\n"
                 "[eval-data]\nids = { path = \"b\\u0041\", pad = 0 }\n"
                 "[compile]\nmesh = \"\"\"2\nx4\"\"\"\n"},
      {"a.yaml", "# a run\nsteps: 12\nlr: 3e-4\nshuffle: true\ndata:\n"
                 "  ids: {path: a.bin, window: 8}\n  labels: '@ids'\n"
                 "betas: [0.9, 0.95]\ngroup:\n  - match: a\n    lr-scale: 2\n"
                 "metrics: >-\n  folded\n  text\nweights: |\n  literal\n"
                 "name: \"esc\\x41\\u0042\"\ncompile: &a\n  mesh: !!str 2x4\n"},
      {"a.json", "{\"steps\": 12, \"lr\": 3e-4, \"shuffle\": true,\n"
                 " \"data\": {\"ids\": {\"path\": \"a\", \"window\": 8}},\n"
                 " \"betas\": [0.9, 0.95], \"compile\": {\"mesh\": null}}\n"}};
  std::mt19937 random(1);
  for (const auto &[path, text] : files) {
    int refused = 0;
    for (int round = 0; round < 4000; ++round)
      refused += !errorOf(path, damaged(text, random)).empty();
    // What is whole still is read, and much of what is not is found.
    EXPECT_EQ(errorOf(path, text), "");
    EXPECT_GT(refused, 500) << path;
  }
  for (int round = 0; round < 500; ++round) {
    std::string junk(random() % 300, '\0');
    for (char &byte : junk)
      byte = char(random());
    for (const auto &[path, text] : files)
      errorOf(path, junk);
  }
}
