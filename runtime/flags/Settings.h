// All that the users of a program said, from the weakest to the strongest: the
// file of --config, that of HYPERPARAMETERS_PATH, --set, the command line. What
// is said later takes the place of all earlier values of the same flag.
#ifndef SHARDC_RUNTIME_FLAGS_SETTINGS_H
#define SHARDC_RUNTIME_FLAGS_SETTINGS_H

#include "runtime/flags/CommandLine.h"
#include "runtime/flags/ConfigFile.h"
#include "runtime/flags/FlagTable.h"
#include "runtime/flags/Given.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime::cli {

/// Where the keys of shardc stand in a file, which a trainer leaves alone.
inline constexpr const char *compileSection = "compile";

struct Setting {
  std::string text;
  std::string where; // "run.toml:3", "--set", "command line"
  std::string name;  // what errors call the flag: "run.toml:3: lr", "--lr"
};

class Settings {
public:
  /// Reads all of them, and declares --config, --set and --print-config. Throws
  /// an Error of one line for keys that are not there, and for flags that are
  /// given twice in one place and have one meaning. Values are looked at by
  /// apply().
  Settings(FlagTable &table, const Program &program, int argc,
           const char *const *argv);

  /// "--help", "--version" or another question, before all else; empty: none.
  /// Of the settings none are there then.
  const std::string &question() const { return line.question; }
  const std::string &help() const { return line.help; }
  /// Whether --print-config is given.
  bool arePrinted() const { return printed; }

  /// Hands every value to its flag, in the order of the flags. Throws what those
  /// throw, and an Error where what is required is not there.
  void apply() const;

  Given given() const;
  /// The same as the words of a command line.
  std::vector<std::string> words() const;
  /// Every flag that processes of one run must have alike, and its values.
  std::vector<std::pair<std::string, std::string>> shared() const;
  /// A file with the same settings: TOML with where each is from, and what
  /// holds where nothing is said, in comments. `title`: its first line.
  std::string toml(const std::string &title) const;

private:
  void addFile(const std::string &path, const std::string &source);
  void addKeys(const ConfigNode &keys, const std::string &path,
               const std::string &suffix);
  void addSet(const std::vector<std::string> &texts);
  void addCommandLine();
  const Flag &findSet(const std::string &text, std::string &key,
                      std::string &value) const;
  bool isOff(const Flag &flag) const;

  const FlagTable &table;
  Program program;
  CommandLine line;
  bool printed = false;
  std::map<const Flag *, std::vector<Setting>> settings;
};

} // namespace shardc::runtime::cli

#endif
