// The parser of what --units says.
#include "passes/options/UnitsOption.h"

#include "passes/options/ByteSize.h"
#include "passes/options/Selection.h"

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
    if (std::string problem = parseNames(rest, option.classes);
        !problem.empty())
      return complain(text + ": " + problem);
    return option;
  }
  if (name == "scope") {
    option.kind = Scope;
    option.pattern = rest.str();
    if (std::string problem = complaintOf(rest); !problem.empty())
      return complain(text + ": " + problem);
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
