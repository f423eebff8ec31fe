// What is selected by name or by expression.
#include "passes/options/Selection.h"

#include "frontend/nn/support/NamePattern.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace shardc {

std::string parseNames(StringRef list, std::vector<std::string> &names) {
  SmallVector<StringRef> parts;
  list.split(parts, ',');
  for (StringRef part : parts) {
    if (part.trim().empty())
      return "a class without a name";
    names.push_back(part.trim().str());
  }
  return "";
}

std::string complaintOf(StringRef pattern) {
  if (pattern.empty())
    return "scope: is followed by no expression";
  std::string problem;
  if (!Regex(translatePattern(pattern)).isValid(problem))
    return problem;
  return "";
}

} // namespace shardc
