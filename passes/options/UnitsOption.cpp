// The parser of what --units says.
#include "passes/options/UnitsOption.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

#include <cmath>

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
    StringRef number = rest.take_while(
        [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    double unit = StringSwitch<double>(rest.drop_front(number.size()).trim())
                      .Case("", 1)
                      .Case("B", 1)
                      .Case("kB", 1e3)
                      .Case("MB", 1e6)
                      .Case("GB", 1e9)
                      .Case("KiB", 1024.0)
                      .Case("MiB", 1024.0 * 1024)
                      .Case("GiB", 1024.0 * 1024 * 1024)
                      .Default(0);
    double amount = 0;
    if (number.empty() || number.getAsDouble(amount) || unit == 0 ||
        amount * unit < 1)
      return complain(text + ": expects a number of bytes from 1 on, with kB, "
                             "MB, GB, KiB, MiB or GiB after it");
    option.bytes = amount * unit;
    return option;
  }
  return complain(text + ": unknown way to form units");
}

} // namespace shardc
