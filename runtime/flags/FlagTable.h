// The flags of a program: what they are called, what --help says about them,
// and what is done with their values, whether those come from a command line or
// from a file.
#ifndef SHARDC_RUNTIME_FLAGS_FLAGTABLE_H
#define SHARDC_RUNTIME_FLAGS_FLAGTABLE_H

#include "runtime/flags/ParseValue.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardc::runtime::cli {

struct Flag {
  enum class Kind {
    Value,
    List,   // may be given several times
    Switch, // has no value; in a file true or false
  };
  /// Takes a value; `name` is what errors call the flag. A switch gets "true"
  /// or "false".
  using Use =
      std::function<void(const std::string &name, const std::string &text)>;

  Kind kind;
  std::string name; // "--lr"; "model" stands on a command line without it
  std::string type; // what --help shows behind it
  std::string help;
  std::string group;
  Use use;
  std::string standard;    // what holds else; empty: what help has in brackets
  std::string shortName;   // "-o"
  bool isNumber = false;   // its values are numbers
  bool isJoined = false;   // a list in a file is its values, commas between
  bool inFiles = true;     // else for command lines alone
  bool isRequired = false; // of what has no dashes
  bool isLocal = false;    // processes of one run may have other values
  bool isQuestion = false; // is answered at once, whatever else is given

  bool isPositional() const { return !name.starts_with("-"); }
  /// Whether it is a list of names with values: a table in a file.
  bool hasNames() const {
    return kind == Kind::List && type.starts_with("NAME=");
  }
  /// What a file calls it: its name without dashes.
  std::string key() const { return isPositional() ? name : name.substr(2); }
};

/// Declares flags; every value comes as text and is checked by the functions of
/// ParseValue.h.
class FlagTable {
public:
  /// The heading of what is declared from now on. `isLocal`: as Flag says.
  void group(const std::string &name, bool isLocal = false) {
    currentGroup = name;
    isGroupLocal = isLocal;
  }

  Flag &value(const std::string &flag, const std::string &type,
              const std::string &help, Flag::Use use) {
    return add(Flag::Kind::Value, flag, type, help, std::move(use));
  }
  template <typename Target>
  Flag &number(const std::string &flag, Target &target, const Range &range,
               const std::string &help) {
    Flag &added = value(flag, "NUMBER", help,
                        [&](const std::string &name, const std::string &text) {
                          target = parseNumber(name, text, range);
                        });
    added.isNumber = true;
    return added;
  }
  template <typename Target>
  Flag &integer(const std::string &flag, Target &target, int64_t low,
                const std::string &help) {
    Flag &added =
        value(flag, "N", help,
              [&target, low](const std::string &name, const std::string &text) {
                target = parseInteger<int64_t>(name, text, low);
              });
    added.isNumber = true;
    return added;
  }
  Flag &path(const std::string &flag, std::optional<std::string> &target,
             const std::string &type, const std::string &help);
  /// A flag that may be given several times; `use` gets each of its values. In
  /// a file it may be a table: of names, where the type begins with NAME=, and
  /// else of the keys of one value.
  Flag &list(const std::string &flag, const std::string &type,
             const std::string &help, Flag::Use use) {
    return add(Flag::Kind::List, flag, type, help, std::move(use));
  }
  Flag &toggle(const std::string &flag, bool &target, const std::string &help);
  /// A switch that asks for something to be printed; see Settings::question().
  void question(const std::string &flag, const std::string &help);

  const std::deque<Flag> &flags() const { return all; }
  /// Of the flags that files have; null: there is none of that name.
  const Flag *findKey(std::string_view key) const;
  std::vector<std::string> keys() const;

private:
  Flag &add(Flag::Kind kind, const std::string &flag, const std::string &type,
            const std::string &help, Flag::Use use);

  /// Stay where they are when others are added.
  std::deque<Flag> all;
  std::string currentGroup;
  bool isGroupLocal = false;
};

} // namespace shardc::runtime::cli

#endif
