// The values of --data and --eval-data.
#include "runtime/cli/ParseData.h"

#include "runtime/flags/ParseValue.h"

#include <algorithm>
#include <functional>

namespace shardc::runtime::cli {

namespace {

constexpr int64_t anyId = std::numeric_limits<int64_t>::min();

struct Key {
  const char *name;
  /// Takes the value; `what` is the flag with the key.
  std::function<void(SourceKeys &, const std::string &what,
                     const std::string &value)>
      set;
  bool isToggle = false; // has no value
};

Key integer(const char *name, std::optional<int64_t> SourceKeys::*target,
            int64_t low) {
  return {name, [=](SourceKeys &keys, const std::string &what,
                    const std::string &value) {
            keys.*target = parseInteger<int64_t>(what, value, low);
          }};
}

const std::vector<Key> &allKeys() {
  static const std::vector<Key> keys = {
      integer("window", &SourceKeys::window, 1),
      integer("stride", &SourceKeys::stride, 1),
      integer("pad", &SourceKeys::pad, anyId),
      integer("ignore", &SourceKeys::ignore, anyId),
      integer("padding", &SourceKeys::padding, anyId),
      {"causal",
       [](SourceKeys &keys, const std::string &, const std::string &) {
         keys.causal = true;
       },
       true},
      {"weight",
       [](SourceKeys &keys, const std::string &what, const std::string &value) {
         keys.weight = parseNumber(what, value, positive);
       }},
      {"column", [](SourceKeys &keys, const std::string &,
                    const std::string &value) { keys.column = value; }},
      {"documents",
       [](SourceKeys &keys, const std::string &what, const std::string &value) {
         keys.storedDocuments = value == "stored";
         if (!keys.storedDocuments)
           keys.documents = parseInteger<int64_t>(what, value, anyId);
       }},
      {"dtype",
       [](SourceKeys &keys, const std::string &what, const std::string &value) {
         keys.dtype = parseChoice<TokenType>(
             what, value,
             {{"uint16", TokenType::UInt16}, {"uint32", TokenType::UInt32}});
       }},
  };
  return keys;
}

/// Where the next key begins: at a comma with a word and '=' behind it, for
/// there may be commas in a path. Behind the name of an input there are none.
size_t nextKey(const std::string &text, size_t begin, bool isReference) {
  if (isReference)
    return std::min(text.find(',', begin), text.size());
  for (size_t comma = text.find(',', begin); comma != std::string::npos;
       comma = text.find(',', comma + 1)) {
    size_t end =
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", comma + 1);
    if (end != std::string::npos && end > comma + 1 && text[end] == '=')
      return comma;
  }
  return text.size();
}

const Key &findKey(const std::string &flag, const std::string &name) {
  auto key = std::ranges::find(allKeys(), name, &Key::name);
  if (key != allKeys().end())
    return *key;
  std::vector<std::string> names;
  std::string all;
  for (const Key &each : allKeys()) {
    names.push_back(each.name);
    all += concat(all.empty() ? "" : ", ", each.name);
  }
  fail(flag, " has no key '", name, "'", suggestion(name, names),
       "; its keys are ", all);
}

} // namespace

NamedFile parseNamedFile(const std::string &flag, const std::string &text) {
  constexpr std::string_view synthetic = "synthetic:";
  if (text.starts_with(synthetic)) {
    NamedFile file{"", text};
    file.syntheticSeed = parseInteger<uint64_t>(
        flag + " synthetic:SEED", text.substr(synthetic.size()), 0);
    return file;
  }
  size_t equals = text.find('=');
  bool isReference =
      equals != std::string::npos && text.substr(equals + 1).starts_with('@');
  size_t end =
      equals == std::string::npos ? 0 : nextKey(text, equals + 1, isReference);
  if (equals == std::string::npos || equals == 0 || equals + 1 >= end)
    fail(flag, " expects NAME=PATH or synthetic:SEED, got '", text, "'");
  NamedFile file{text.substr(0, equals),
                 text.substr(equals + 1, end - equals - 1)};
  std::string what = concat(flag, " ", file.name);
  std::vector<std::string> &given = file.keys.given;
  while (end < text.size()) {
    size_t begin = end + 1;
    end = nextKey(text, begin, isReference);
    size_t middle = std::min(text.find('=', begin), end);
    bool hasValue = middle < end;
    std::string name = text.substr(begin, middle - begin);
    const Key &key = findKey(what, name);
    if (key.isToggle == hasValue)
      fail(what, " expects ", name, key.isToggle ? "" : "=VALUE", ", got '",
           text.substr(begin, end - begin), "'");
    if (std::ranges::find(given, name) != given.end())
      fail(what, " has ", name, " twice: '", text, "'");
    given.push_back(name);
    key.set(file.keys, concat(what, " ", name),
            hasValue ? text.substr(middle + 1, end - middle - 1) : "");
  }
  return file;
}

} // namespace shardc::runtime::cli
