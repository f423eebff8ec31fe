// Configuration files: TOML, YAML and JSON, read into one kind of tree.
#ifndef SHARDC_RUNTIME_FLAGS_CONFIGFILE_H
#define SHARDC_RUNTIME_FLAGS_CONFIGFILE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime::cli {

struct ConfigEntry;

/// A value of a file, with all that is in it.
struct ConfigNode {
  enum class Kind { Nothing, Text, Number, Boolean, List, Table };
  Kind kind = Kind::Nothing;
  std::string text; // of a text, a number or a boolean ("true", "false")
  int64_t line = 0; // from 1
  std::vector<ConfigNode> elements; // of a list
  std::vector<ConfigEntry> entries; // of a table, as in the file

  bool isScalar() const {
    return kind == Kind::Text || kind == Kind::Number || kind == Kind::Boolean;
  }
  /// "a table": what errors call it.
  const char *kindText() const;
};

struct ConfigEntry {
  std::string key;
  ConfigNode value;
};

/// Reads a whole file, whose name says what it is. `name` is what errors call
/// it that have no line. Throws an Error of one line for what cannot be read
/// and for what is no table; keys may be there twice.
ConfigNode readConfig(const std::string &path, const std::string &name);

/// The same of a text; `path` is for errors.
ConfigNode parseConfig(std::string_view text, const std::string &path);

/// The parts of parseConfig(), a file for each library.
ConfigNode parseToml(std::string_view text, const std::string &path);
ConfigNode parseYaml(std::string_view text, const std::string &path);

} // namespace shardc::runtime::cli

#endif
