// Text from files and command lines, as it may be shown on a terminal.
#include "tools/shardc/Printable.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

#include <algorithm>

using llvm::StringRef;

static constexpr size_t longestWord = 256, longestLine = 4096;

/// Its begin and its end, of which the former tells more.
static std::string cut(StringRef text, size_t most) {
  if (text.size() <= most)
    return text.str();
  constexpr StringRef between = "...";
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
  return (text.take_front(begin) + between + text.drop_front(tail)).str();
}

static std::string escape(uint32_t code) {
  if (code == '\n')
    return "\\n";
  if (code == '\t')
    return "\\t";
  std::string digits = llvm::utohexstr(code, /*LowerCase=*/true);
  return code < 0x100 ? "\\x" + std::string(2 - digits.size(), '0') + digits
                      : "\\u{" + digits + "}";
}

std::string shardc::printable(StringRef text) {
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ');
  std::string shortened =
      cut(llvm::join(
              llvm::map_range(
                  words, [](StringRef word) { return cut(word, longestWord); }),
              " "),
          longestLine);
  std::string result;
  auto *at = reinterpret_cast<const llvm::UTF8 *>(shortened.data());
  const llvm::UTF8 *end = at + shortened.size();
  while (at != end) {
    const llvm::UTF8 *next = at;
    llvm::UTF32 code = 0;
    if (llvm::convertUTF8Sequence(&next, end, &code, llvm::strictConversion) !=
        llvm::conversionOK) {
      result += escape(*at++);
      continue;
    }
    if (llvm::sys::unicode::isPrintable(static_cast<int>(code)))
      result.append(at, next);
    else
      result += escape(code);
    at = next;
  }
  return result;
}

std::string shardc::printableLines(StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  return llvm::join(llvm::map_range(lines, printable), "\n");
}
