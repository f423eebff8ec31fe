// The parser of what --units says.
#include "passes/options/UnitsOption.h"

#include "passes/options/ByteSize.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace shardc {

static Error complain(const Twine &what) {
  return createStringError(
      "--units " + what +
      "; accepted are auto, block, one, class:NAME[,NAME], "
      "scope:REGEX and size:BYTES (size:100MB)");
}

Expected<UnitsOption> UnitsOption::parse(StringRef text) {
  UnitsOption option;
  auto [name, rest] = text.split(':');
  bool hasRest = text.contains(':');
  if (name == "auto" || name == "block" || name == "one") {
    if (hasRest)
      return complain(text + ": nothing may follow " + name);
    option.kind = name == "auto" ? Auto : name == "block" ? Block : One;
    return option;
  }
  if (name == "class") {
    option.kind = Class;
    SmallVector<StringRef> parts;
    rest.split(parts, ',');
    for (StringRef part : parts) {
      if (part.trim().empty())
        return complain(text + ": a class without a name");
      option.classes.push_back(part.trim().str());
    }
    return option;
  }
  if (name == "scope") {
    option.kind = Scope;
    option.pattern = rest.str();
    if (rest.empty())
      return complain(text + ": scope: is followed by no expression");
    std::string error;
    if (!Regex(translatePattern(rest)).isValid(error))
      return complain(text + ": " + error);
    return option;
  }
  if (name == "size") {
    option.kind = Size;
    std::optional<double> bytes = parseByteSize(rest);
    if (!bytes)
      return complain(text + ": expects " + byteSizeForms);
    option.bytes = *bytes;
    return option;
  }
  return complain(text + ": unknown way to form units");
}

} // namespace shardc
