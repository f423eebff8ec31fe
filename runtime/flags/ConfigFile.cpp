// Configuration files.
#include "runtime/flags/ConfigFile.h"

#include "runtime/base/Error.h"
#include "runtime/files/Descriptor.h"

#include <algorithm>

namespace shardc::runtime::cli {

/// A configuration has a hundred lines.
static constexpr uint64_t mostBytes = 1 << 20;

const char *ConfigNode::kindText() const {
  switch (kind) {
  case Kind::Nothing:
    return "nothing";
  case Kind::Text:
    return "a text";
  case Kind::Number:
    return "a number";
  case Kind::Boolean:
    return "a boolean";
  case Kind::List:
    return "a list";
  case Kind::Table:
    return "a table";
  }
  return "";
}

static bool endsWith(const std::string &path, std::string_view suffix) {
  auto same = [](char a, char b) { return (a | 0x20) == b; };
  return path.size() >= suffix.size() &&
         std::equal(path.end() - suffix.size() + 1, path.end(),
                    suffix.begin() + 1, same) &&
         path[path.size() - suffix.size()] == '.';
}

/// No flag has a value with a 0 in it: for the system, a path would end there.
static void refuseZeros(const ConfigNode &node, const std::string &path) {
  auto check = [&](const std::string &text, int64_t line) {
    if (text.find('\0') != std::string::npos)
      fail(path, ":", line, ": there is a character 0 in a text");
  };
  check(node.text, node.line);
  for (const ConfigNode &element : node.elements)
    refuseZeros(element, path);
  for (const auto &[key, value] : node.entries) {
    check(key, value.line);
    refuseZeros(value, path);
  }
}

ConfigNode parseConfig(std::string_view text, const std::string &path) {
  if (text.size() > mostBytes)
    fail(path, " is larger than ", mostBytes,
         " bytes, the most that are read of a configuration");
  bool isToml = endsWith(path, ".toml");
  // JSON is YAML.
  if (!isToml && !endsWith(path, ".yaml") && !endsWith(path, ".yml") &&
      !endsWith(path, ".json"))
    fail(path, ": the name of a configuration ends in .toml, .yaml, .yml or "
               ".json");
  ConfigNode root = isToml ? parseToml(text, path) : parseYaml(text, path);
  if (root.kind == ConfigNode::Kind::Nothing)
    root.kind = ConfigNode::Kind::Table;
  if (root.kind != ConfigNode::Kind::Table)
    fail(path, ":", root.line, ": expects keys with values, got ",
         root.kindText());
  refuseZeros(root, path);
  return root;
}

ConfigNode readConfig(const std::string &path, const std::string &name) {
  Descriptor file = Descriptor::openForReading(path, name);
  uint64_t size = file.regularSize(name);
  // Of more, parseConfig() reads nothing.
  std::string text(std::min(size, mostBytes + 1), '\0');
  file.readAt(0, text.data(), text.size(), name);
  return parseConfig(text, path);
}

} // namespace shardc::runtime::cli
