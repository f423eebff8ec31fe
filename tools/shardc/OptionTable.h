// Declares shardc's flags, all in one way: flag, what its value is, where it
// goes, and what --help says.
#ifndef SHARDC_TOOLS_SHARDC_OPTIONTABLE_H
#define SHARDC_TOOLS_SHARDC_OPTIONTABLE_H

#include "runtime/flags/FlagTable.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc {

/// `text` is what --help shows behind the flag: the kind of its value, in
/// brackets the default.
struct OptionTable {
  runtime::cli::FlagTable flags;

  /// The heading of what is declared from now on.
  void group(const char *name) { flags.group(name); }
  void question(const char *flag, const char *help) {
    flags.question(flag, help);
  }

  runtime::cli::Flag &value(const char *flag, const char *text,
                            std::string &target, const std::string &help) {
    return flags.value(
        flag, text, help,
        [&target](const std::string &name, const std::string &given) {
          target = runtime::cli::parseText(name, given);
        });
  }
  /// Stands on the command line without a name.
  void required(const char *name, const char *text, std::string &target,
                const std::string &help) {
    value(name, text, target, help).isRequired = true;
  }
  /// One of several words.
  void choice(const char *flag, const char *text, std::string &target,
              const std::vector<std::string> &words, const std::string &help);
  /// A number within [low, high].
  void number(const char *flag, const char *text, int64_t &target, int64_t low,
              int64_t high, const std::string &help);
  /// A flag that may be given several times, with one value each.
  void list(const char *flag, const char *text,
            std::vector<std::string> &target, const std::string &help) {
    flags.list(flag, text, help,
               [&target](const std::string &name, const std::string &given) {
                 target.push_back(runtime::cli::parseText(name, given));
               });
  }
  void toggle(const char *flag, bool &target, const std::string &help) {
    flags.toggle(flag, target, help);
  }
};

inline void OptionTable::choice(const char *flag, const char *text,
                                std::string &target,
                                const std::vector<std::string> &words,
                                const std::string &help) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string &word : words)
    choices.emplace_back(word, word);
  flags.value(
      flag, text, help,
      [&target, choices](const std::string &name, const std::string &given) {
        target = runtime::cli::parseChoice(name, given, choices);
      });
}

inline void OptionTable::number(const char *flag, const char *text,
                                int64_t &target, int64_t low, int64_t high,
                                const std::string &help) {
  runtime::cli::Flag &added = flags.value(
      flag, text, help,
      [=, &target](const std::string &name, const std::string &given) {
        target = runtime::cli::parseInteger<int64_t>(name, given, low, high);
      });
  added.isNumber = true;
}

} // namespace shardc

#endif
