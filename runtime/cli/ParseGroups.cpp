// The values of --group and --no-decay.
#include "runtime/cli/ParseGroups.h"

#include "runtime/base/Error.h"
#include "runtime/base/Regex.h"
#include "runtime/flags/ParseValue.h"

#include <algorithm>

namespace shardc::runtime::cli {

static const char *const keys[] = {"match", "lr-scale", "weight-decay"};

/// Where the value that begins at `begin` ends: at a comma with a key behind.
static size_t valueEnd(const std::string &text, size_t begin) {
  size_t end = text.size();
  for (const char *key : keys)
    end = std::min(end, text.find(concat(",", key, "="), begin));
  return end;
}

static void checkRegex(const std::string &flag, const std::string &match) {
  if (match.empty())
    fail(flag, " expects match=REGEX, got an empty regex");
  try {
    Regex compiled(match);
  } catch (const Error &error) {
    fail(flag, " match=", match, " is no regex: ", error.what());
  }
}

GroupOption parseGroup(const std::string &flag, const std::string &text) {
  GroupOption group;
  std::vector<std::string> given;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = valueEnd(text, begin), equals = text.find('=', begin);
    if (equals == std::string::npos || equals >= end)
      fail(flag, " expects match=REGEX,lr-scale=F,weight-decay=F, got '", text,
           "'");
    std::string key = text.substr(begin, equals - begin);
    std::string value = text.substr(equals + 1, end - equals - 1);
    if (std::find(given.begin(), given.end(), key) != given.end())
      fail(flag, " has ", key, " twice: '", text, "'");
    given.push_back(key);
    if (key == "match")
      checkRegex(flag, group.match = value);
    else if (key == "lr-scale")
      group.learningRateScale =
          parseNumber(flag + " lr-scale", value, notNegative);
    else if (key == "weight-decay")
      group.weightDecay =
          parseNumber(flag + " weight-decay", value, notNegative);
    else
      fail(flag, " has the keys match, lr-scale and weight-decay, got '", key,
           "'", suggestion(key, {std::begin(keys), std::end(keys)}));
    begin = end + 1;
  }
  if (group.match.empty())
    fail(flag, " needs match=REGEX, got '", text, "'");
  if (!group.learningRateScale && !group.weightDecay)
    fail(flag, " match=", group.match,
         " changes nothing; give lr-scale or weight-decay");
  return group;
}

std::vector<std::string> parseRoles(const std::string &flag,
                                    const std::string &text) {
  std::vector<std::string> roles;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string role = text.substr(begin, end - begin);
    parseChoice<int>(flag, role, {{"norm", 0}, {"bias", 1}, {"embedding", 2}});
    if (std::find(roles.begin(), roles.end(), role) == roles.end())
      roles.push_back(role);
    begin = end + 1;
  }
  return roles;
}

} // namespace shardc::runtime::cli
