// Settings as a file that says the same.
#include "runtime/flags/Settings.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Text.h"

#include <charconv>
#include <optional>

namespace shardc::runtime::cli {

/// The bytes of the character at `text[i]`, as its first byte says.
static size_t characterLength(const std::string &text, size_t i) {
  auto first = static_cast<unsigned char>(text[i]);
  size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(length, text.size() - i);
}

static uint32_t codeOf(std::string_view character) {
  uint32_t code = static_cast<unsigned char>(character[0]);
  if (character.size() > 1)
    code &= 0x7f >> character.size();
  for (char byte : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  return code;
}

/// In quotes, with escapes for what a terminal would obey. None where it is no
/// UTF-8, which TOML is.
static std::optional<std::string> quoted(const std::string &text) {
  std::string result = "\"";
  for (size_t i = 0, length; i < text.size(); i += length) {
    length = characterLength(text, i);
    std::string character = text.substr(i, length);
    std::string shown = printable(character);
    if (shown.starts_with("\\x") && static_cast<unsigned char>(text[i]) >= 0x80)
      return std::nullopt;
    if (character == "\"" || character == "\\")
      result += "\\" + character;
    else if (shown == character)
      result += character;
    else
      result += format("\\U%08X", codeOf(character));
  }
  return result + "\"";
}

/// Whether TOML reads the number and it stays what it is.
static bool isTomlNumber(const std::string &text) {
  double number;
  const char *begin = text.data(), *end = begin + text.size();
  if (std::from_chars(begin, end, number).ptr != end)
    return false;
  size_t first = text[0] == '-';
  bool isWhole =
      text.find_first_not_of("0123456789", first) == std::string::npos;
  // It has no 007 and .5, and integers of 64 bits with a sign.
  if (isWhole)
    return text.size() - first <= 18 &&
           (text[first] != '0' || text.size() == first + 1);
  size_t point = text.find('.');
  auto isDigit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  return isDigit(first) && (text[first] != '0' || !isDigit(first + 1)) &&
         (point == std::string::npos || isDigit(point + 1));
}

static std::optional<std::string> valueText(const Flag &flag,
                                            const std::string &text) {
  if (flag.kind == Flag::Kind::Switch ||
      (flag.isNumber && !text.empty() && isTomlNumber(text)))
    return text;
  return quoted(text);
}

/// What holds where nothing is said: --help has it in brackets at the end of a
/// type or of the text.
static std::string defaultOf(const Flag &flag) {
  if (!flag.standard.empty())
    return flag.standard;
  if (flag.kind == Flag::Kind::Switch)
    return "false";
  for (const std::string *text : {&flag.type, &flag.help}) {
    size_t begin = text->rfind('[');
    if (text->ends_with("]") && (begin == 0 || text->at(begin - 1) == ' '))
      return text->substr(begin + 1, text->size() - begin - 2);
  }
  return "";
}

std::string Settings::toml(const std::string &title) const {
  std::string text = "# " + printable(title) + "\n", group, nothing;
  if (!program.section.empty())
    text += concat("[", program.section, "]\n");
  for (const Flag &flag : table.flags()) {
    if (!flag.inFiles)
      continue;
    if (group != flag.group)
      text += concat("\n# ", group = flag.group, "\n");
    auto place = settings.find(&flag);
    if (place == settings.end()) {
      if (std::string value = defaultOf(flag); !value.empty())
        text += concat("# ", flag.key(), " = ", value, "  # default\n");
      else
        nothing += (nothing.empty() ? "" : ", ") + flag.key();
      continue;
    }
    auto add = [&](const Setting &setting, const std::string &before,
                   const std::string &behind) {
      std::string where = "  # " + printable(setting.where) + "\n";
      if (std::optional<std::string> value = valueText(flag, setting.text))
        text += before + *value + behind + where;
      else
        text += concat("# ", before, printable(setting.text),
                       ": bytes that are no UTF-8, which a file cannot have",
                       where);
    };
    if (flag.kind != Flag::Kind::List) {
      add(place->second[0], flag.key() + " = ", "");
      continue;
    }
    text += flag.key() + " = [\n";
    for (const Setting &setting : place->second)
      add(setting, "  ", ",");
    text += "]\n";
  }
  if (!nothing.empty())
    text += concat("\n# not given: ", nothing, "\n");
  return text;
}

} // namespace shardc::runtime::cli
