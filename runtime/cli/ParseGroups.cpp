// The values of --group, --init-group and --no-decay.
#include "runtime/cli/ParseGroups.h"

#include "runtime/base/Error.h"
#include "runtime/base/Regex.h"
#include "runtime/flags/ParseValue.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace shardc::runtime::cli {

static const char *const keys[] = {"match", "lr-scale", "weight-decay"};

/// Where the value that begins at `begin` ends: at a comma with a word and = behind,
/// which no name of a parameter has.
static size_t valueEnd(const std::string &text, size_t begin) {
  for (size_t comma = text.find(',', begin); comma != std::string::npos;
       comma = text.find(',', comma + 1)) {
    size_t end = comma + 1;
    while (end < text.size() &&
           (std::isalpha(static_cast<unsigned char>(text[end])) ||
            text[end] == '-' || text[end] == '_'))
      ++end;
    if (end > comma + 1 && end < text.size() && text[end] == '=')
      return comma;
  }
  return text.size();
}

/// `what`: the flag and the regex as it is given with it.
static void requireRegex(const std::string &what, const std::string &text) {
  try {
    Regex compiled(text);
  } catch (const Error &error) {
    fail(what, " is no regex: ", error.what());
  }
}

std::string parseRegex(const std::string &flag, const std::string &text) {
  requireRegex(concat(flag, " ", text), text);
  return text;
}

static void checkRegex(const std::string &flag, const std::string &match) {
  if (match.empty())
    fail(flag, " expects match=REGEX, got an empty regex");
  requireRegex(concat(flag, " match=", match), match);
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

DropoutRateOption parseDropoutRate(const std::string &flag,
                                   const std::string &text) {
  static const std::string prefix = "match=", key = ",p=";
  const size_t at = text.rfind(key);
  if (!text.starts_with(prefix) || at == std::string::npos ||
      at < prefix.size())
    fail(flag, " expects match=REGEX,p=RATE, got '", text, "'");
  DropoutRateOption option;
  checkRegex(flag,
             option.match = text.substr(prefix.size(), at - prefix.size()));
  option.rate = parseNumber(flag + " p", text.substr(at + key.size()),
                            {0, 1, "a rate in [0, 1]"});
  return option;
}

namespace {

/// A distribution of --init-group, and how many numbers it may have.
struct Named {
  const char *name;
  size_t least, most;
};
constexpr Named distributions[] = {
    {"normal", 2, 2},         {"uniform", 2, 2},
    {"trunc_normal", 2, 4},   {"xavier_uniform", 0, 1},
    {"xavier_normal", 0, 1},  {"kaiming_uniform", 0, 1},
    {"kaiming_normal", 0, 1}, {"constant", 1, 1},
    {"zeros", 0, 0},          {"ones", 0, 0}};

constexpr Range anyFloat{-std::numeric_limits<float>::max(),
                         std::numeric_limits<float>::max(),
                         "a number in the range of float32"};

/// The distribution whose name is the last behind a comma, and where; null:
/// there is none.
const Named *findDistribution(const std::string &text, size_t &at) {
  const Named *found = nullptr;
  for (const Named &each : distributions) {
    std::string name = concat(",", each.name);
    size_t place = text.rfind(name + "=");
    if (place == std::string::npos && text.ends_with(name))
      place = text.size() - name.size();
    if (place != std::string::npos && (!found || place > at)) {
      found = &each;
      at = place;
    }
  }
  return found;
}

std::string allDistributions() {
  std::string text;
  for (const Named &each : distributions)
    text += concat(text.empty() ? "" : ", ", each.name);
  return text;
}

/// What a distribution cannot be with these numbers; empty: nothing.
std::string problemOf(const InitGroupOption &group) {
  const std::vector<double> &n = group.numbers;
  bool isNormal = group.distribution.ends_with("normal") && n.size() >= 2;
  if (isNormal && n[1] < 0)
    return concat("a standard deviation of 0 or more, got ", n[1]);
  if (group.distribution == "uniform" && n[0] > n[1])
    return concat("LOW,HIGH, got ", n[0], " above ", n[1]);
  if (group.distribution != "trunc_normal")
    return "";
  if (n.size() == 3)
    return "both LOW and HIGH, or none of them";
  double low = n.size() > 2 ? n[2] : -2, high = n.size() > 2 ? n[3] : 2;
  auto below = [&](double x) {
    return n[1] > 0 ? 0.5 * std::erfc((n[0] - x) / (n[1] * std::sqrt(2.0)))
                    : double(x >= n[0]);
  };
  double inside =
      n[1] > 0 ? below(high) - below(low) : double(low <= n[0] && n[0] <= high);
  if (inside < 0.1)
    return concat("LOW and HIGH with at least a tenth of the normal "
                  "distribution between them, got ",
                  low, " and ", high);
  return "";
}

} // namespace

InitGroupOption parseInitGroup(const std::string &flag,
                               const std::string &text) {
  static const std::string prefix = "match=";
  size_t at = 0;
  const Named *named = findDistribution(text, at);
  if (!text.starts_with(prefix) || !named)
    fail(flag, " expects match=REGEX,DISTRIBUTION with one of ",
         allDistributions(), ", got '", text, "'");
  InitGroupOption group;
  group.distribution = named->name;
  checkRegex(flag,
             group.match = text.substr(prefix.size(), at - prefix.size()));
  std::string what = flag + " " + named->name;
  std::string rest = text.substr(at + 1 + group.distribution.size());
  bool isKaiming = group.distribution.starts_with("kaiming");
  for (bool first = true; !rest.empty(); first = false) {
    size_t end = std::min(rest.find(',', 1), rest.size());
    std::string word = rest.substr(1, end - 1);
    rest = rest.substr(end);
    if (isKaiming && first)
      group.countsOutputs =
          parseChoice<bool>(what, word, {{"fan_in", false}, {"fan_out", true}});
    else
      group.numbers.push_back(parseNumber(what, word, anyFloat));
  }
  size_t count = group.numbers.size();
  if (count < named->least || count > named->most)
    fail(what, " expects ", named->least,
         named->least == named->most ? "" : concat(" to ", named->most),
         named->most == 1 ? " number, got " : " numbers, got ", count);
  if (std::string problem = problemOf(group); !problem.empty())
    fail(what, " expects ", problem);
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
