// Files, --set and command lines together: what holds, and where it is from.
#include "runtime/flags/Settings.h"

#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <optional>

using namespace shardc::runtime;
using namespace shardc::runtime::cli;

namespace {

/// A program with a flag of each kind.
struct TestProgram {
  double rate = 0.5;
  int64_t steps = 1;
  bool shuffle = false;
  std::optional<std::string> path;
  std::vector<std::string> betas, data, groups;
  std::string model;
  FlagTable table;

  TestProgram() {
    auto append = [](std::vector<std::string> &target) {
      return [&target](const std::string &, const std::string &text) {
        target.push_back(text);
      };
    };
    table.value(
        "model", "MODEL", "what",
        [&](const std::string &, const std::string &text) { model = text; });
    table.group("Numbers");
    table.number("--rate", rate, notNegative, "how fast [0.5]");
    table.integer("--steps", steps, 0, "how many");
    table.toggle("--shuffle", shuffle, "whether");
    table.path("-p,--path", path, "PATH", "where");
    table.value("--betas", "B1,B2", "[0.9,0.999]", append(betas)).isJoined =
        true;
    table.list("--data", "NAME=PATH[,KEY=VALUE...]", "", append(data));
    table.list("--group", "KEY=VALUE,...", "", append(groups));
    table.question("--version", "which");
  }
  Settings read(std::vector<const char *> words, std::string section = "") {
    words.insert(words.begin(), "program");
    Program program;
    program.section = std::move(section);
    Settings settings(table, program, int(words.size()), words.data());
    if (settings.question().empty())
      settings.apply();
    return settings;
  }
};

class SettingsTest : public testing::Test {
protected:
  void SetUp() override { unsetenv("HYPERPARAMETERS_PATH"); }
  void TearDown() override { unsetenv("HYPERPARAMETERS_PATH"); }

  /// Where a file of this text is wrong, behind its name.
  std::string errorOf(const std::string &text,
                      std::vector<const char *> words = {},
                      const std::string &name = "c.yaml",
                      const std::string &section = "") {
    std::string path = folder.write(name, text);
    words.insert(words.end(), {"--config", path.c_str()});
    try {
      TestProgram().read(words, section);
    } catch (const Error &error) {
      std::string what = error.what();
      EXPECT_EQ(what.find('\n'), std::string::npos);
      return what.starts_with(path) ? what.substr(path.size()) : what;
    }
    return "";
  }

  TemporaryFolder folder;
};

using Texts = std::vector<std::string>;

} // namespace

TEST_F(SettingsTest, LaterPlacesAreStronger) {
  std::string file = folder.write("c.toml", "rate = 1\nsteps = 1\npath = 'a'\n"
                                            "data = ['x=1', 'y=1']\n"
                                            "shuffle = true\n");
  std::string other = folder.write("hp.yaml", "rate: 2\nsteps: 2\npath: b\n");
  setenv("HYPERPARAMETERS_PATH", other.c_str(), 1);
  TestProgram program;
  Settings settings =
      program.read({"--steps", "4", "--config", file.c_str(), "--set", "rate=3",
                    "--set", "steps=3", "--set", "shuffle=false"});
  EXPECT_EQ(program.path, "b");
  EXPECT_EQ(program.rate, 3);
  EXPECT_EQ(program.steps, 4);
  EXPECT_FALSE(program.shuffle);
  EXPECT_EQ(program.data, (Texts{"x=1", "y=1"}));

  auto given = settings.given();
  EXPECT_EQ(given.at("--path"), other + ":3 (HYPERPARAMETERS_PATH)");
  EXPECT_EQ(given.at("--rate"), "--set");
  EXPECT_EQ(given.at("--steps"), "");
  EXPECT_EQ(given.at("--data"), file + ":4");
  // A switch that is off changes nothing.
  EXPECT_FALSE(given.contains("--shuffle"));
  EXPECT_FALSE(given.contains("--config"));
  EXPECT_EQ(settings.words(), (Texts{"--rate", "3", "--steps", "4", "--path",
                                     "b", "--data", "x=1", "--data", "y=1"}));

  // Empty is as good as not set.
  setenv("HYPERPARAMETERS_PATH", "", 1);
  EXPECT_EQ(TestProgram().read({}).given().size(), 0u);
}

TEST_F(SettingsTest, TakesListsAndTables) {
  TestProgram program;
  std::string file = folder.write(
      "c.yaml",
      "betas: [0.9, 0.95]\n"
      "data:\n"
      "  ids: a.bin,window=8\n"
      "  mask: {path: '@ids', causal: true, padding: 3, ignored: false}\n"
      "  mix: [{path: b, weight: 0.5}, c]\n"
      "  7: d\n"
      "group:\n"
      "  - {match: 'a|b', lr-scale: 0.1}\n"
      "  - match=c,lr-scale=2\n"
      "  - {match: d, normal: [0, 0.02]}\n");
  program.read({"--config", file.c_str()});
  EXPECT_EQ(program.betas, Texts{"0.9,0.95"});
  EXPECT_EQ(program.data,
            (Texts{"ids=a.bin,window=8", "mask=@ids,causal,padding=3",
                   "mix=b,weight=0.5", "mix=c", "7=d"}));
  EXPECT_EQ(program.groups,
            (Texts{"match=a|b,lr-scale=0.1", "match=c,lr-scale=2",
                   "match=d,normal=0,0.02"}));
  // One entry of a table, or the whole list.
  TestProgram entry, whole;
  entry.read({"--config", file.c_str(), "--set", "data.ids=x", "--set",
              "data.ids=y", "--set", "data.new.one=z"});
  EXPECT_EQ(entry.data, (Texts{"mask=@ids,causal,padding=3", "mix=b,weight=0.5",
                               "mix=c", "7=d", "ids=x", "ids=y", "new.one=z"}));
  whole.read({"--config", file.c_str(), "--set", "data=k=v"});
  EXPECT_EQ(whole.data, Texts{"k=v"});
}

TEST_F(SettingsTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(errorOf("steps: 1\nrtae: 3\n"),
            ":2: unknown key 'rtae', did you mean 'rate'?; keys are the names "
            "of flags, see --help");
  EXPECT_EQ(errorOf("complie: {}\n").substr(0, 51),
            ":1: unknown key 'complie', did you mean 'compile'?;");
  // Of the command line alone.
  for (const char *key : {"config", "set", "print-config", "version", "help"})
    EXPECT_EQ(errorOf(std::string(key) + ": true\n").substr(0, 15),
              ":1: unknown key");
  EXPECT_EQ(errorOf("rate: fast\n"),
            ":1: rate expects a number of 0 or more, got 'fast'");
  EXPECT_EQ(errorOf("rate: true\n"), ":1: rate expects NUMBER, got 'true'");
  EXPECT_EQ(errorOf("rate:\n"), ":1: rate expects NUMBER, got nothing");
  EXPECT_EQ(errorOf("\nrate: [1, 2]\n"), ":2: rate expects NUMBER, got a list");
  EXPECT_EQ(errorOf("rate: {a: 1}\n"), ":1: rate expects NUMBER, got a table");
  EXPECT_EQ(errorOf("shuffle: 1\n"),
            ":1: shuffle expects true or false, got '1'");
  EXPECT_EQ(errorOf("shuffle: [true]\n"),
            ":1: shuffle expects true or false, got a list");
  EXPECT_EQ(errorOf("betas: [[1], 2]\n"),
            ":1: betas expects texts and numbers in its list, got a list");
  EXPECT_EQ(errorOf("data: [[a=b]]\n"),
            ":1: data expects NAME=PATH[,KEY=VALUE...], got a list");
  EXPECT_EQ(errorOf("data: {ids: {window: 3}}\n"), ":1: data ids has no path");
  EXPECT_EQ(errorOf("data: {ids: {path: {}}}\n"),
            ":1: data ids path expects a text, got a table");
  EXPECT_EQ(errorOf("data: {ids: a,\n ids: b}\n"),
            ":2: data has ids twice, first in line 1; give it once, or a list "
            "of its values");
  EXPECT_EQ(errorOf("data: {ids: {path: a, pad: 1, pad: 2}}\n"),
            ":1: data ids has pad twice; give it once");
  EXPECT_EQ(errorOf("data: {a=b: c}\n"),
            ":1: data expects names without '=', got 'a=b'");
  EXPECT_EQ(errorOf("rate: 1\nrate: 2\n"),
            ":2: rate is given twice, first in line 1; give it once");
  EXPECT_EQ(errorOf("compile: {}\nrate: 1\ncompile: {}\n"),
            ":3: compile is there twice, first in line 1");
  EXPECT_EQ(errorOf("compile: 3\n"),
            ":1: compile is the section of shardc's flags, got a number");

  EXPECT_EQ(errorOf("", {"--set", "rate"}),
            "--set expects KEY=VALUE, got 'rate'");
  EXPECT_EQ(errorOf("", {"--set", "rate=x"}),
            "--set rate expects a number of 0 or more, got 'x'");
  EXPECT_EQ(errorOf("", {"--set", "rate=1", "--set", "rate=2"}),
            "--set rate is given twice: 1 and 2; give it once");
  EXPECT_EQ(errorOf("", {"--set", "setps=1"}),
            "--set setps=1: unknown key 'setps', did you mean 'steps'?; keys "
            "are the names of flags, see --help");
  EXPECT_NE(errorOf("", {"--set", "rate.x=1"}), "");
  EXPECT_NE(errorOf("", {"--set", "config=x"}), "");
  EXPECT_EQ(errorOf("", {"--config", "x.toml"}).substr(0, 25),
            "--config is given twice: ");
}

TEST_F(SettingsTest, CompilersReadTheirSectionAlone) {
  std::string text = "[compile]\nrate = 2\nmodel = 'm.onnx'\n";
  EXPECT_EQ(errorOf("unheard = 1\n" + text, {}, "c.toml", "compile"), "");
  EXPECT_EQ(errorOf(text + "unheard = 1\n", {}, "c.toml"), "");
  EXPECT_EQ(
      errorOf(text + "unheard = 1\n", {}, "c.toml", "compile").substr(0, 15),
      ":4: unknown key");
  TestProgram program;
  std::string file = folder.write("c.toml", text);
  program.read({"--config", file.c_str(), "--set", "compile.steps=3"},
               "compile");
  EXPECT_EQ(program.rate, 2);
  EXPECT_EQ(program.model, "m.onnx");
  EXPECT_EQ(program.steps, 3);
  // A trainer has nothing to do with it.
  EXPECT_NE(errorOf("", {"--set", "compile.steps=3"}), "");
}

TEST_F(SettingsTest, WhatIsPrintedIsAFileThatSaysTheSame) {
  std::string odd = "a \"b\"\\c\n\x1b[1m \u202e\u00e4\u4e16\U0001f600\x7f";
  for (const char *section : {"", "compile"}) {
    TestProgram program;
    Settings settings = program.read(
        {"m.onnx", "--rate", "0.125", "--set", "steps=007", "--shuffle", "-p",
         odd.c_str(), "--data", "a=b", "--data", "c=d", "--print-config"},
        section);
    EXPECT_TRUE(settings.arePrinted());
    std::string text = settings.toml("program");
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_NE(text.find("\u00e4\u4e16\U0001f600"), std::string::npos);
    EXPECT_NE(text.find("\nrate = 0.125  # command line\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("\nsteps = \"007\"  # --set\n"), std::string::npos);
    EXPECT_NE(text.find("\n# betas = 0.9,0.999  # default\n"),
              std::string::npos);
    EXPECT_NE(text.find("\n# not given: group\n"), std::string::npos);

    std::string file = folder.write("p.toml", text);
    TestProgram again;
    Settings same = again.read({"--config", file.c_str()}, section);
    EXPECT_EQ(same.words(), settings.words());
    EXPECT_EQ(again.path, odd);
    EXPECT_EQ(again.rate, 0.125);
    EXPECT_EQ(again.steps, 7);
    // Now that is where they are from.
    EXPECT_NE(same.toml("").find("  # " + file + ":"), std::string::npos);
  }
  // Bytes that no file can have are named, and the file stays one.
  std::string text = TestProgram().read({"--path", "a\xff"}).toml("");
  EXPECT_NE(text.find("# path = a\\xff: bytes that are no UTF-8"),
            std::string::npos)
      << text;
  folder.write("q.toml", text);
  EXPECT_EQ(errorOf(text, {}, "q.toml"), "");
}

TEST_F(SettingsTest, NumbersArePrintedAsTheyAreRead) {
  for (const char *number :
       {"0", "-0", "1", "123456789012345678", "1234567890123456789", "0.1",
        ".5", "5.", "1e5", "1E-5", "01.5", "-0.5", "1e05", "0e0"}) {
    TestProgram program, again;
    program.table.value("--any", "N", "", [](auto &&...) {}).isNumber = true;
    again.table.value("--any", "N", "", [](auto &&...) {}).isNumber = true;
    std::string text = program.read({"--any", number}).toml("");
    std::string file = folder.write("n.toml", text);
    std::vector<std::string> words =
        again.read({"--config", file.c_str()}).words();
    ASSERT_EQ(words.size(), 2u) << text;
    EXPECT_EQ(std::stod(words[1]), std::stod(number)) << text;
  }
}

TEST_F(SettingsTest, QuestionsAreAnsweredFirst) {
  TestProgram program;
  EXPECT_EQ(program.read({"--version", "--rate", "x", "--nothing"}).question(),
            "--version");
  Settings help = TestProgram().read({"--help", "--config", "none.toml"});
  EXPECT_EQ(help.question(), "--help");
  EXPECT_NE(help.help().find("--rate NUMBER"), std::string::npos);
  EXPECT_NE(help.help().find("how fast [0.5]"), std::string::npos);
}
