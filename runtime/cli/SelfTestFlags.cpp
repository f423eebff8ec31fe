// The flags of --selftest.
#include "runtime/cli/SelfTestFlags.h"

#include "runtime/base/Error.h"
#include "runtime/flags/Given.h"

namespace shardc::runtime::cli {

static constexpr const char *groupName = "Self-test";

/// "5GB/s", "800MB/s".
static double parseRate(const std::string &flag, const std::string &text) {
  static constexpr Range range{0, 1e6, "a rate such as 5GB/s or 800MB/s"};
  double unit = text.ends_with("GB/s") ? 1e9 : text.ends_with("MB/s") ? 1e6 : 0;
  // Without a unit the whole text is what is wrong.
  return parseNumber(flag,
                     unit > 0 ? text.substr(0, text.size() - 4) : text + " ",
                     range) *
         unit;
}

void declareSelfTest(FlagTable &flags, Options &options) {
  SelfTestOptions &own = options.selfTest;
  flags.group(groupName);
  flags.toggle("--selftest", own.wanted,
               "train nothing: measure all-gathers, reduce-scatters and "
               "all-reduces of the ranks, in a process, between processes of a "
               "host and between hosts, and check what they bring");
  flags.value("--selftest-min", "RATE",
              "of --selftest: the exit code is 44 where a collective of 64 MB "
              "has less bandwidth, as in 5GB/s or 800MB/s",
              [&](const std::string &name, const std::string &text) {
                own.least = parseRate(name, text);
              });
  flags
      .path("--selftest-cluster", own.cluster, "FILE.toml",
            "of --selftest: what was measured, for shardc --cluster FILE.toml")
      .isLocal = true;
}

void checkSelfTest(const FlagTable &flags, const Options &options) {
  auto isGiven = [&](const Flag &flag) {
    return options.given.contains(flag.name);
  };
  for (const Flag &flag : flags.flags()) {
    if (!isGiven(flag) || flag.name == "--selftest")
      continue;
    bool isOwn = flag.group == groupName;
    bool places = flag.group == "Processes" || flag.name == "--threads" ||
                  flag.name == "--device";
    if (!options.selfTest.wanted && isOwn)
      fail(placeOf(options.given, flag.name), flag.name,
           " has no effect without --selftest");
    if (options.selfTest.wanted && !isOwn && !places)
      fail(placeOf(options.given, flag.name), flag.name,
           " has no effect with --selftest, which trains nothing");
  }
}

} // namespace shardc::runtime::cli
