// All that the users of a program said.
#include "runtime/flags/Settings.h"

#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"
#include "runtime/flags/ConfigValues.h"

#include <algorithm>
#include <cstdlib>

namespace shardc::runtime::cli {

static constexpr const char *environmentName = "HYPERPARAMETERS_PATH";
static constexpr const char *fromCommandLine = "command line";

/// Throws where a flag that has one meaning has several values.
static void refuseTwice(const Flag &flag,
                        const std::vector<Setting> &settings) {
  if (settings.size() < 2 || flag.kind == Flag::Kind::List)
    return;
  fail(settings[0].name, " is given ",
       settings.size() == 2 ? "twice" : concat(settings.size(), " times"),
       flag.kind == Flag::Kind::Switch
           ? ""
           : concat(": ", settings[0].text, " and ", settings[1].text),
       "; give it once");
}

Settings::Settings(FlagTable &declared, const Program &program, int argc,
                   const char *const *argv)
    : table(declared), program(program) {
  std::string keys =
      program.section.empty()
          ? std::string("keys are the flags' names")
          : concat("section ", program.section, ", keys are the flags' names");
  declared.group("Configuration");
  Flag &config = declared.value(
      "--config", "FILE.toml|.yaml|.json",
      concat("flags from a file: ", keys, ". Stronger are the file that ",
             environmentName, " names, then --set, then the command line"),
      {});
  Flag &set =
      declared.list("--set", "KEY=VALUE",
                    "a flag as a file would have it (shuffle=false)", {});
  Flag &print = declared.toggle(
      "--print-config", printed,
      "print all that holds and where it is from, as a file for --config");
  config.inFiles = set.inFiles = print.inFiles = false;
  config.isLocal = set.isLocal = print.isLocal = true;

  line = readCommandLine(table, program, argc, argv);
  if (!line.question.empty())
    return;
  addCommandLine();
  auto own = std::move(settings);
  settings.clear();
  auto texts = [&](const Flag &flag) -> std::vector<std::string> {
    auto place = line.values.find(&flag);
    return place == line.values.end() ? std::vector<std::string>()
                                      : place->second;
  };
  printed = !texts(print).empty();
  for (const std::string &path : texts(config))
    addFile(path, "--config");
  if (const char *path = std::getenv(environmentName); path && *path)
    addFile(path, environmentName);
  addSet(texts(set));
  for (auto &[flag, values] : own)
    if (flag->inFiles)
      settings[flag] = std::move(values);
}

void Settings::addCommandLine() {
  for (const auto &[flag, texts] : line.values) {
    std::vector<Setting> &values = settings[flag];
    for (const std::string &text : texts)
      values.push_back({text, fromCommandLine, flag->name});
    refuseTwice(*flag, values);
  }
}

void Settings::addFile(const std::string &path, const std::string &source) {
  if (path.empty())
    fail(source, " expects a path, got nothing");
  ConfigNode root = readConfig(path, source + " " + path);
  std::string suffix =
      source == environmentName ? concat(" (", environmentName, ")") : "";
  const ConfigNode *section = nullptr;
  for (const auto &[key, value] : root.entries) {
    if (key != compileSection)
      continue;
    if (section)
      fail(path, ":", value.line, ": ", compileSection,
           " is there twice, first in line ", section->line);
    if (value.kind != ConfigNode::Kind::Table &&
        value.kind != ConfigNode::Kind::Nothing)
      fail(path, ":", value.line, ": ", compileSection,
           " is the section of shardc's flags, got ", value.kindText());
    section = &value;
  }
  if (program.section.empty()) {
    std::erase_if(root.entries, [](const auto &entry) {
      return entry.key == compileSection;
    });
    addKeys(root, path, suffix);
  } else if (section) {
    addKeys(*section, path, suffix);
  }
}

void Settings::addKeys(const ConfigNode &keys, const std::string &path,
                       const std::string &suffix) {
  std::map<std::string, int64_t> seen;
  for (const auto &[key, value] : keys.entries) {
    auto [first, isFirst] = seen.emplace(key, value.line);
    if (!isFirst)
      fail(path, ":", value.line, ": ", key, " is given twice, first in line ",
           first->second, "; give it once");
    const Flag *flag = table.findKey(key);
    if (!flag) {
      if (std::string other = otherKey(program.side, key); !other.empty())
        fail(path, ":", value.line, ": unknown key '", key, "': ", other);
      std::vector<std::string> known = table.keys();
      if (program.section.empty())
        known.push_back(compileSection);
      fail(path, ":", value.line, ": unknown key '", key, "'",
           suggestion(key, known), "; keys are the names of flags, see --help");
    }
    std::vector<Setting> &values = settings[flag];
    values.clear();
    for (ConfigValue &each : configValues(*flag, value, path)) {
      std::string where = concat(path, ":", each.line);
      values.push_back(
          {std::move(each.text), where + suffix, where + ": " + key});
    }
    if (values.empty())
      settings.erase(flag);
  }
}

/// The flag of KEY=VALUE. Of an entry of a table, data.ids=PATH, the key becomes
/// data.ids and the value ids=PATH.
const Flag &Settings::findSet(const std::string &text, std::string &key,
                              std::string &value) const {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    fail("--set expects KEY=VALUE, got '", text, "'");
  key = text.substr(0, equals);
  value = text.substr(equals + 1);
  if (!program.section.empty() && key.starts_with(program.section + "."))
    key.erase(0, program.section.size() + 1);
  if (const Flag *flag = table.findKey(key))
    return *flag;
  if (size_t dot = key.find('.'); dot != std::string::npos) {
    const Flag *list = table.findKey(key.substr(0, dot));
    if (list && list->hasNames()) {
      value = key.substr(dot + 1) + "=" + value;
      return *list;
    }
  }
  if (std::string other = otherKey(program.side, key); !other.empty())
    fail("--set ", text, ": unknown key '", key, "': ", other);
  fail("--set ", text, ": unknown key '", key, "'",
       suggestion(key, table.keys()),
       "; keys are the names of flags, see --help");
}

void Settings::addSet(const std::vector<std::string> &texts) {
  std::map<const Flag *, std::vector<Setting>> set;
  for (const std::string &text : texts) {
    std::string key, value;
    const Flag &flag = findSet(text, key, value);
    std::vector<Setting> &values = set[&flag];
    // One name takes the place of what that name has, and leaves the others.
    if (key != flag.key()) {
      auto before = settings.extract(&flag);
      if (before)
        values.insert(values.begin(), before.mapped().begin(),
                      before.mapped().end());
      std::string name = value.substr(0, key.size() - flag.key().size());
      std::erase_if(values, [&](const Setting &each) {
        return each.text.starts_with(name) && each.where != "--set";
      });
    }
    values.push_back({value, "--set", "--set " + key});
  }
  for (auto &[flag, values] : set) {
    refuseTwice(*flag, values);
    settings[flag] = std::move(values);
  }
}

void Settings::apply() const {
  for (const Flag &flag : table.flags())
    if (auto place = settings.find(&flag); place != settings.end())
      for (const Setting &setting : place->second)
        flag.use(setting.name, setting.text);
  if (!line.unknown.empty())
    throw Error(line.unknown);
  for (const Flag &flag : table.flags())
    if (flag.isRequired && !settings.contains(&flag))
      fail(flag.key(), " is required: ", flag.type);
}

bool Settings::isOff(const Flag &flag) const {
  auto place = settings.find(&flag);
  return place == settings.end() || (flag.kind == Flag::Kind::Switch &&
                                     place->second.back().text == "false");
}

Given Settings::given() const {
  Given given;
  for (const auto &[flag, values] : settings)
    if (!isOff(*flag))
      given[flag->name] =
          values[0].where == fromCommandLine ? "" : values[0].where;
  return given;
}

std::vector<std::string> Settings::words() const {
  std::vector<std::string> words;
  for (const Flag &flag : table.flags()) {
    if (isOff(flag))
      continue;
    for (const Setting &setting : settings.at(&flag)) {
      if (!flag.isPositional())
        words.push_back(flag.name);
      if (flag.kind != Flag::Kind::Switch)
        words.push_back(setting.text);
    }
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> Settings::shared() const {
  std::vector<std::pair<std::string, std::string>> shared;
  for (const Flag &flag : table.flags()) {
    if (flag.isLocal || flag.isQuestion)
      continue;
    std::string text;
    if (!isOff(flag))
      for (const Setting &setting : settings.at(&flag))
        text += (text.empty() ? "" : " ") + setting.text;
    shared.emplace_back(flag.name, text.empty() ? "not given" : text);
  }
  return shared;
}

} // namespace shardc::runtime::cli
