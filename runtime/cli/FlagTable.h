// Declares flags, and reads numbers the same way for all of them.
#ifndef SHARDC_RUNTIME_CLI_FLAGTABLE_H
#define SHARDC_RUNTIME_CLI_FLAGTABLE_H

#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime::cli {

/// The allowed values of a number, and how an error says it.
struct Range {
  double low, high;
  const char *text;
};
inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr Range notNegative{0, infinite, "a number of 0 or more"};
inline constexpr Range positive{std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(),
                                "a number above 0 in the range of float32"};
inline constexpr Range scaleRange{std::numeric_limits<float>::min(),
                                  std::numeric_limits<float>::max(),
                                  "dynamic or a number above 0"};
inline constexpr Range factor{0, 1, "a number from 0 to 1"};
inline constexpr Range belowOne{0, 0x1.fffffffffffffp-1,
                                "a number from 0 to less than 1"};

inline double parseNumber(const std::string &flag, const std::string &text,
                          const Range &range) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) ||
      value < range.low || value > range.high)
    fail(flag, " expects ", range.text, ", got '", text, "'");
  return value;
}

template <typename Integer>
Integer parseInteger(const std::string &flag, const std::string &text,
                     Integer low) {
  Integer value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low)
    fail(flag, " expects an integer of ", low, " or more, got '", text, "'");
  return value;
}

/// The value that a word stands for.
template <typename Value>
Value parseChoice(const std::string &flag, const std::string &text,
                  const std::vector<std::pair<std::string, Value>> &choices) {
  std::string all;
  std::vector<std::string> words;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].first == text)
      return choices[i].second;
    words.push_back(choices[i].first);
    all += (i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ") + words[i];
  }
  fail(flag, " expects ", all, ", got '", text, "'", suggestion(text, words));
}

/// Declares flags; every value comes as text and is checked by the functions
/// above, so that all errors read alike.
class FlagTable {
public:
  explicit FlagTable(CLI::App &app) : app(app) {}

  void group(const std::string &name) { currentGroup = name; }

  template <typename Use>
  CLI::Option *value(const std::string &flag, const std::string &type,
                     const std::string &help, Use use) {
    return app
        .add_option_function<std::string>(
            flag, [flag, use](const std::string &text) { use(flag, text); },
            help)
        ->type_name(type)
        ->group(currentGroup)
        ->take_last();
  }
  template <typename Target>
  void number(const std::string &flag, Target &target, const Range &range,
              const std::string &help) {
    value(flag, "NUMBER", help,
          [&](const std::string &name, const std::string &text) {
            target = parseNumber(name, text, range);
          });
  }
  template <typename Target>
  void integer(const std::string &flag, Target &target, int64_t low,
               const std::string &help) {
    value(flag, "N", help,
          [&target, low](const std::string &name, const std::string &text) {
            target = parseInteger<int64_t>(name, text, low);
          });
  }
  void path(const std::string &flag, std::optional<std::string> &target,
            const std::string &type, const std::string &help) {
    value(flag, type, help,
          [&](const std::string &name, const std::string &text) {
            if (text.empty())
              fail(name, " expects a path, got nothing");
            target = text;
          });
  }
  /// A flag that may be given several times; `use` gets each of its values.
  template <typename Use>
  void list(const std::string &flag, const std::string &type,
            const std::string &help, Use use) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [flag, use](const std::vector<std::string> &texts) {
             for (const std::string &text : texts)
               use(flag, text);
           },
           help)
        ->type_name(type)
        ->expected(1)
        ->take_all()
        ->group(currentGroup);
  }
  void toggle(const std::string &flag, bool &target, const std::string &help) {
    app.add_flag(flag, target, help)
        ->disable_flag_override()
        ->group(currentGroup);
  }

private:
  CLI::App &app;
  std::string currentGroup;
};

} // namespace shardc::runtime::cli

#endif
