// What a flag's value is in a file.
#include "runtime/flags/ConfigValues.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace shardc::runtime::cli {

namespace {

using Kind = ConfigNode::Kind;

class Reader {
public:
  Reader(const Flag &flag, const std::string &path) : flag(flag), path(path) {}

  std::vector<ConfigValue> values;

  void read(const ConfigNode &node);

private:
  [[noreturn]] void refuse(const ConfigNode &node, const std::string &what,
                           const std::string &expected) const {
    fail(path, ":", node.line, ": ", what, " expects ", expected, ", got ",
         node.isScalar() ? "'" + node.text + "'" : node.kindText());
  }
  void add(const ConfigNode &node, std::string text) {
    values.push_back({std::move(text), node.line});
  }
  void readListItem(const ConfigNode &node);
  void readNames(const ConfigNode &table);
  void readName(const std::string &name, const ConfigNode &node);
  /// ",KEY=VALUE" of all entries but `except`.
  std::string keysText(const ConfigNode &table, const std::string &what,
                       const std::string &except) const;
  std::string joined(const ConfigNode &list, const std::string &what) const;

  const Flag &flag;
  const std::string &path;
};

std::string Reader::joined(const ConfigNode &list,
                           const std::string &what) const {
  std::string text;
  for (const ConfigNode &element : list.elements) {
    if (element.kind != Kind::Text && element.kind != Kind::Number)
      refuse(element, what, "texts and numbers in its list");
    text += (text.empty() ? "" : ",") + element.text;
  }
  return text;
}

std::string Reader::keysText(const ConfigNode &table, const std::string &what,
                             const std::string &except) const {
  std::string text;
  std::vector<std::string> seen;
  for (const auto &[key, value] : table.entries) {
    if (std::ranges::find(seen, key) != seen.end())
      fail(path, ":", value.line, ": ", what, " has ", key,
           " twice; give it once");
    seen.push_back(key);
    if (key == except || (value.kind == Kind::Boolean && value.text == "false"))
      continue;
    text += "," + key;
    if (value.kind == Kind::Boolean)
      continue;
    if (value.kind == Kind::List)
      text += "=" + joined(value, what + " " + key);
    else if (value.isScalar())
      text += "=" + value.text;
    else
      refuse(value, what + " " + key, "one value");
  }
  return text;
}

void Reader::readName(const std::string &name, const ConfigNode &node) {
  std::string what = flag.key() + " " + name;
  if (name.empty() || name.find('=') != std::string::npos)
    fail(path, ":", node.line, ": ", flag.key(),
         " expects names without '=', got '", name, "'");
  if (node.kind == Kind::Text || node.kind == Kind::Number) {
    add(node, name + "=" + node.text);
  } else if (node.kind == Kind::List && !node.elements.empty()) {
    for (const ConfigNode &element : node.elements) {
      if (element.kind == Kind::List)
        refuse(element, what, "a text or a table with path");
      readName(name, element);
    }
  } else if (node.kind == Kind::Table) {
    auto place = std::ranges::find(node.entries, "path", &ConfigEntry::key);
    if (place == node.entries.end())
      fail(path, ":", node.line, ": ", what, " has no path");
    if (place->value.kind != Kind::Text && place->value.kind != Kind::Number)
      refuse(place->value, what + " path", "a text");
    add(node, name + "=" + place->value.text + keysText(node, what, "path"));
  } else {
    refuse(node, what, "a text or a table with path");
  }
}

void Reader::readNames(const ConfigNode &table) {
  for (size_t i = 0; i < table.entries.size(); ++i) {
    const auto &[name, value] = table.entries[i];
    for (size_t before = 0; before < i; ++before)
      if (table.entries[before].key == name)
        fail(path, ":", value.line, ": ", flag.key(), " has ", name,
             " twice, first in line ", table.entries[before].value.line,
             "; give it once, or a list of its values");
    readName(name, value);
  }
}

void Reader::readListItem(const ConfigNode &node) {
  if (node.kind == Kind::Text || node.kind == Kind::Number)
    add(node, node.text);
  else if (node.kind != Kind::Table || node.entries.empty() ||
           flag.type.find('=') == std::string::npos)
    refuse(node, flag.key(), flag.type);
  else if (flag.hasNames())
    readNames(node);
  else
    add(node, keysText(node, flag.key(), "").erase(0, 1));
}

void Reader::read(const ConfigNode &node) {
  switch (flag.kind) {
  case Flag::Kind::Switch:
    if (!node.isScalar())
      refuse(node, flag.key(), "true or false");
    add(node, node.text);
    return;
  case Flag::Kind::Value:
    if (node.kind == Kind::List && flag.isJoined && !node.elements.empty())
      add(node, joined(node, flag.key()));
    else if (node.kind == Kind::Text || node.kind == Kind::Number)
      add(node, node.text);
    else
      refuse(node, flag.key(), flag.type);
    return;
  case Flag::Kind::List:
    if (node.kind != Kind::List)
      readListItem(node);
    for (const ConfigNode &element : node.elements)
      readListItem(element);
    return;
  }
}

} // namespace

std::vector<ConfigValue> configValues(const Flag &flag, const ConfigNode &node,
                                      const std::string &path) {
  Reader reader(flag, path);
  reader.read(node);
  return std::move(reader.values);
}

} // namespace shardc::runtime::cli
