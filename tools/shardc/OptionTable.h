// Declares shardc's flags, all in one way: flag, what its value is, where it
// goes, and what --help says.
#ifndef SHARDC_TOOLS_SHARDC_OPTIONTABLE_H
#define SHARDC_TOOLS_SHARDC_OPTIONTABLE_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shardc {

/// `text` is what --help shows behind the flag: the kind of its value, in
/// brackets the default.
class OptionTable {
public:
  explicit OptionTable(CLI::App &app) : app(app) {}

  /// The heading of what is declared from now on.
  void group(const char *name) { currentGroup = name; }

  template <typename Target>
  CLI::Option *value(const char *flag, const char *text, Target &target,
                     const std::string &help) {
    return app.add_option(flag, target, help)
        ->option_text(text)
        ->group(currentGroup);
  }
  /// One of several words.
  void choice(const char *flag, const char *text, std::string &target,
              const std::vector<std::string> &words, const std::string &help) {
    value(flag, text, target, help)->check(CLI::IsMember(words));
  }
  /// A number within [low, high].
  void number(const char *flag, const char *text, int64_t &target, int low,
              int high, const std::string &help) {
    value(flag, text, target, help)->check(CLI::Range(low, high));
  }
  /// A flag that may be given several times, with one value each: what follows
  /// the value is not the flag's.
  void list(const char *flag, const char *text,
            std::vector<std::string> &target, const std::string &help) {
    value(flag, text, target, help)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  }
  void toggle(const char *flag, bool &target, const std::string &help) {
    app.add_flag(flag, target, help)->group(currentGroup);
  }

private:
  CLI::App &app;
  std::string currentGroup;
};

} // namespace shardc

#endif
