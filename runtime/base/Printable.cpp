// Text from files and command lines, as it may be shown on a terminal.
#include "runtime/base/Printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace shardc::runtime {

namespace {

constexpr size_t longestWord = 256, longestLine = 4096;

struct Character {
  uint32_t code;
  size_t bytes; // 0: no UTF-8 begins here
};

/// The first character of a text that is not empty, as RFC 3629 has it: nothing
/// overlong, no surrogates.
Character decode(std::string_view text) {
  auto byteAt = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  uint8_t first = byteAt(0);
  if (first < 0x80)
    return {first, 1};
  size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes)
    return {first, 0};
  uint32_t code = first & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byteAt(i) & 0xc0) != 0x80)
      return {first, 0};
    code = code << 6 | (byteAt(i) & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff ||
      (code >= 0xd800 && code < 0xe000))
    return {first, 0};
  return {code, bytes};
}

/// Whether a terminal shows the character instead of doing something else:
/// controls of both sets, and marks that order, hide or divide text.
bool isShown(uint32_t code) {
  constexpr uint32_t hidden[][2] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
      {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
      {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::ranges::none_of(hidden, [&](const auto &range) {
    return code >= range[0] && code <= range[1];
  });
}

std::string escape(Character character) {
  uint32_t code = character.code;
  if (character.bytes && code == '\n')
    return "\\n";
  if (character.bytes && code == '\t')
    return "\\t";
  char text[16];
  std::snprintf(text, sizeof(text), code < 0x100 ? "\\x%02x" : "\\u{%x}", code);
  return text;
}

/// Its begin and its end, of which the former tells more.
std::string cut(std::string_view text, size_t most) {
  if (text.size() <= most)
    return std::string(text);
  constexpr std::string_view between = "...";
  auto isInside = [&](size_t at) {
    return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80;
  };
  size_t end = most / 4, begin = most - end - between.size();
  size_t tail = text.size() - end;
  // No character is cut in two; four bytes are the longest.
  for (int i = 0; i < 3 && begin > 0 && isInside(begin); ++i)
    --begin;
  for (int i = 0; i < 3 && tail < text.size() && isInside(tail); ++i)
    ++tail;
  return std::string(text.substr(0, begin)).append(between) +
         std::string(text.substr(tail));
}

} // namespace

std::string printable(std::string_view text) {
  std::string shortened;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(' ', begin), text.size());
    shortened += cut(text.substr(begin, end - begin), longestWord);
    if (end < text.size())
      shortened += ' ';
    begin = end + 1;
  }
  shortened = cut(shortened, longestLine);
  std::string result;
  for (std::string_view rest = shortened; !rest.empty();) {
    Character character = decode(rest);
    size_t bytes = std::max<size_t>(character.bytes, 1);
    if (character.bytes && isShown(character.code))
      result += rest.substr(0, bytes);
    else
      result += escape(character);
    rest.remove_prefix(bytes);
  }
  return result;
}

std::string printableLines(std::string_view text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    result += printable(text.substr(begin, end - begin));
    if (end < text.size())
      result += '\n';
    begin = end + 1;
  }
  return result;
}

} // namespace shardc::runtime
