// The flags that are given, and those of them that change nothing.
#ifndef SHARDC_RUNTIME_FLAGS_GIVEN_H
#define SHARDC_RUNTIME_FLAGS_GIVEN_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime::cli {

/// Each flag that is given, but for switches that are off, and where:
/// "run.toml:3"; empty for the command line.
using Given = std::map<std::string, std::string, std::less<>>;

/// Where a flag was said, as the begin of an error: "run.toml:3: "; nothing for
/// the command line, which its user has before them.
std::string placeOf(const Given &given, std::string_view flag);

/// When a flag changes anything, and what is said where it does not.
struct Effect {
  const char *flag;
  bool there;
  std::string otherwise; // behind "FLAG has no effect"
};

/// Throws an Error for a flag that is given and changes nothing: whoever gives
/// it believes that it does something.
void refuseIdle(const Given &given, const std::vector<Effect> &effects);

} // namespace shardc::runtime::cli

#endif
