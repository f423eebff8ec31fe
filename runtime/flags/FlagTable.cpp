// The flags of a program.
#include "runtime/flags/FlagTable.h"

namespace shardc::runtime::cli {

Flag &FlagTable::path(const std::string &flag,
                      std::optional<std::string> &target,
                      const std::string &type, const std::string &help) {
  return value(flag, type, help,
               [&](const std::string &name, const std::string &text) {
                 if (text.empty())
                   fail(name, " expects a path, got nothing");
                 target = text;
               });
}

Flag &FlagTable::toggle(const std::string &flag, bool &target,
                        const std::string &help) {
  return add(Flag::Kind::Switch, flag, "", help,
             [&](const std::string &name, const std::string &text) {
               target = parseChoice<bool>(name, text,
                                          {{"true", true}, {"false", false}});
             });
}

void FlagTable::question(const std::string &flag, const std::string &help) {
  Flag &added = add(Flag::Kind::Switch, flag, "", help, {});
  added.isQuestion = true;
  added.inFiles = false;
}

const Flag *FlagTable::findKey(std::string_view key) const {
  for (const Flag &flag : all)
    if (flag.inFiles && flag.key() == key)
      return &flag;
  return nullptr;
}

std::vector<std::string> FlagTable::keys() const {
  std::vector<std::string> keys;
  for (const Flag &flag : all)
    if (flag.inFiles)
      keys.push_back(flag.key());
  return keys;
}

Flag &FlagTable::add(Flag::Kind kind, const std::string &flag,
                     const std::string &type, const std::string &help,
                     Flag::Use use) {
  Flag added{kind, flag, type, help, currentGroup, std::move(use)};
  // "-o,--output"
  if (size_t comma = flag.find(','); comma != std::string::npos) {
    added.shortName = flag.substr(0, comma);
    added.name = flag.substr(comma + 1);
  }
  added.isLocal = isGroupLocal;
  all.push_back(std::move(added));
  return all.back();
}

} // namespace shardc::runtime::cli
