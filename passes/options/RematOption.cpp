// The parser of what --remat says.
#include "passes/options/RematOption.h"

#include "passes/options/ByteSize.h"
#include "passes/options/RematClasses.h"
#include "passes/options/Selection.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace shardc {

static Error refuseRemat(const Twine &what) {
  return createStringError(
      "--remat " + what +
      "; accepted are none, cheap, all, selective, unit, budget=SIZE "
      "(budget=20GB), time=PERCENT (time=5), class:NAME[,NAME] of " +
      rematClassesText() +
      ", scope:REGEX (scope:layers\\.\\d+\\.mlp), and pareto");
}

/// The words that stand alone.
static std::optional<RematOption::Kind> wordOf(StringRef text) {
  constexpr std::pair<StringLiteral, RematOption::Kind> words[] = {
      {"none", RematOption::None},
      {"cheap", RematOption::Cheap},
      {"all", RematOption::All},
      {"unit", RematOption::Unit},
      {"selective", RematOption::Selective},
      {"pareto", RematOption::Pareto}};
  for (auto [word, kind] : words)
    if (word == text)
      return kind;
  return std::nullopt;
}

static std::string parseClasses(StringRef list, RematOption &option) {
  std::string problem = parseNames(list, option.classes);
  for (const std::string &name : option.classes)
    if (problem.empty() && !is_contained(rematClasses, name))
      problem = "there is no class " + name;
  return problem;
}

Expected<RematOption> RematOption::parse(StringRef text) {
  RematOption option;
  if (std::optional<Kind> kind = wordOf(text)) {
    option.kind = *kind;
    return option;
  }
  StringRef rest = text;
  if (rest.consume_front("budget=")) {
    option.kind = Budget;
    std::optional<double> bytes = parseByteSize(rest);
    if (!bytes)
      return refuseRemat(text + ": expects " + byteSizeForms);
    option.bytes = *bytes;
    return option;
  }
  if (rest.consume_front("time=")) {
    option.kind = Time;
    rest.consume_back("%");
    double percent = 0;
    if (rest.trim().getAsDouble(percent) || !(percent >= 0) || percent > 1000)
      return refuseRemat(text + ": expects percent of the step's arithmetic, "
                                "from 0 to 1000");
    option.share = percent / 100;
    return option;
  }
  if (rest.consume_front("class:")) {
    option.kind = Class;
    if (std::string problem = parseClasses(rest, option); !problem.empty())
      return refuseRemat(text + ": " + problem);
    return option;
  }
  if (rest.consume_front("scope:")) {
    option.kind = Scope;
    option.pattern = rest.str();
    if (std::string problem = complaintOf(rest); !problem.empty())
      return refuseRemat(text + ": " + problem);
    return option;
  }
  return refuseRemat(text + ": unknown policy");
}

} // namespace shardc
