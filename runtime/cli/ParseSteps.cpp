// Intervals that flags name: steps, epochs and durations.
#include "runtime/cli/ParseSteps.h"

#include "runtime/flags/ParseValue.h"

namespace shardc::runtime::cli {

void parseStepsOrEpochs(const std::string &flag, const std::string &text,
                        int64_t &steps, int64_t &epochs) {
  bool isEpochs = text.ends_with('e');
  (isEpochs ? epochs : steps) =
      parseInteger<int64_t>(flag, text.substr(0, text.size() - isEpochs), 1);
}

double parseDuration(const std::string &flag, const std::string &text) {
  static constexpr Range range{0x1p-20, 1e9,
                               "a duration such as 90, 90s, 30m or 12h"};
  char unit = text.empty() ? ' ' : text.back();
  bool hasUnit = unit == 's' || unit == 'm' || unit == 'h';
  double number = parseNumber(
      flag, hasUnit ? text.substr(0, text.size() - 1) : text, range);
  return number * (unit == 'm' ? 60 : unit == 'h' ? 3600 : 1);
}

} // namespace shardc::runtime::cli
