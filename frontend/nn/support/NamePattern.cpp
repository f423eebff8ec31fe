// What POSIX regular expressions lack, in their words.
#include "frontend/nn/support/NamePattern.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace shardc {

std::string translatePattern(StringRef pattern) {
  std::string result;
  bool inBrackets = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      char escaped = pattern[++i];
      StringRef set;
      switch (toLower(escaped)) {
      case 'd':
        set = "0-9";
        break;
      case 'w':
        set = "A-Za-z0-9_";
        break;
      case 's':
        set = " \t";
        break;
      }
      bool negated = isUpper(escaped);
      if (!set.empty() && !inBrackets)
        result += (Twine(negated ? "[^" : "[") + set + "]").str();
      else if (!set.empty() && !negated)
        result += set;
      else
        (result += c) += escaped;
      continue;
    }
    if (c == '[' && !inBrackets) {
      inBrackets = true;
      // A bracket right after the opening one is a member of the set.
      result += c;
      if (i + 1 < pattern.size() && pattern[i + 1] == '^')
        result += pattern[++i];
      if (i + 1 < pattern.size() && pattern[i + 1] == ']')
        result += pattern[++i];
      continue;
    }
    if (c == ']')
      inBrackets = false;
    result += c;
  }
  return result;
}

} // namespace shardc
