// A name, looked up among all nouns.
#include "tools/shardc/explain/Answer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace shardc {

std::string placeOf(const record::StepRecord &step, int64_t entry) {
  const record::Entry &at = step.entries[entry];
  return formatv("{0} ({1}{2}{3})", at.name, at.phase,
                 at.phase.empty() ? "" : ", ", timeText(at.begin))
      .str();
}

Expected<std::string> answer(StringRef what, const Decisions &decisions) {
  std::string text;
  raw_string_ostream os(text);
  if (what == "memory") {
    explainMemory(os, decisions);
    return text;
  }
  explainParameters(os, what, decisions);
  explainUnits(os, what, decisions);
  explainCollectives(os, what, decisions);
  explainBuffers(os, what, decisions);
  if (!text.empty())
    return text;
  std::string units =
      join(map_range(decisions.report.units,
                     [](const CompileReport::Unit &unit) { return unit.name; }),
           ", ");
  return createStringError(
      "explain " + what +
      ": the plan has no parameter, unit, collective or buffer of that name; "
      "units are " +
      units +
      "; buffers and collectives are named by explain UNIT and explain "
      "memory");
}

} // namespace shardc
