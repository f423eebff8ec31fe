// Why parameters, units and collectives are where they are.
#include "tools/shardc/explain/Answer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace shardc {

static const CompileReport::Unit *findUnit(const CompileReport &report,
                                           StringRef name) {
  auto found = find_if(report.units, [&](const CompileReport::Unit &unit) {
    return unit.name == name;
  });
  return found == report.units.end() ? nullptr : &*found;
}

void explainParameters(raw_ostream &os, StringRef name,
                       const Decisions &decisions) {
  for (const plan::Parameter &parameter : decisions.plan.parameters()) {
    if (parameter.name() != name)
      continue;
    int64_t elements = 1;
    for (int64_t size : parameter.shape())
      elements *= size;
    os << "parameter " << name << ": "
       << join(map_range(parameter.shape(),
                         [](int64_t size) { return std::to_string(size); }),
               "x")
       << ", " << elements << " elements, of the role " << parameter.role()
       << (parameter.trainable() ? ", trained"
           : parameter.frozen()  ? ", frozen (--freeze, --trainable)"
                                 : ", not trained")
       << "\n";
    const plan::Unit &unit = decisions.plan.units(int(parameter.unit()));
    int64_t begin = parameter.flat_offset(), end = begin + elements,
            slice = unit.elements() / std::max<int64_t>(1, unit.shards());
    os << formatv("  it is elements {0} to {1} of the flat buffer of unit {2}, "
                  "which is gathered as a whole\n",
                  begin, end - 1, unit.name());
    if (unit.shards() > 1)
      os << formatv("  a rank keeps one of {0} slices of {1} elements: this "
                    "parameter lies in slices {2} to {3} (strategy {4})\n",
                    unit.shards(), slice, begin / slice, (end - 1) / slice,
                    decisions.report.strategy);
    else
      os << "  every rank keeps all of it (strategy "
         << decisions.report.strategy << ", mesh "
         << decisions.report.meshText() << ")\n";
    if (const CompileReport::Unit *reported =
            findUnit(decisions.report, unit.name()))
      os << "  why it is in that unit: " << reported->reason << "\n";
  }
}

void explainUnits(raw_ostream &os, StringRef name, const Decisions &decisions) {
  const CompileReport::Unit *unit = findUnit(decisions.report, name);
  if (!unit)
    return;
  os << formatv("unit {0}: {1} parameters, {2} while it is gathered, {3}\n",
                name, unit->parameters.size(), bytesText(double(unit->bytes)),
                unit->dtype)
     << "  why: " << unit->reason << "\n"
     << formatv("  a rank keeps of it between steps: parameters {0}, master "
                "weights {1}, optimizer state {2}; until the optimizer "
                "gradients {3}\n",
                bytesText(double(unit->parameterBytes)),
                bytesText(double(unit->masterBytes)),
                bytesText(double(unit->optimizerBytes)),
                bytesText(double(unit->gradientBytes)));
  if (decisions.report.shards > 1)
    os << (unit->reshard == 1
               ? "  between forward and backward it stays gathered\n"
               : formatv("  between forward and backward it lies over {0} "
                         "ranks\n",
                         unit->reshard)
                     .str());
  for (const record::Collective &collective : decisions.step.collectives)
    if (collective.unit == name)
      explainCollectives(os, collective.what, decisions);
}

void explainCollectives(raw_ostream &os, StringRef name,
                        const Decisions &decisions) {
  for (const record::Collective &collective : decisions.step.collectives) {
    if (collective.what != name)
      continue;
    os << "collective " << collective.what << ", in the stream "
       << collective.stream << ": from " << timeText(collective.begin) << " to "
       << timeText(collective.end) << "\n"
       << "  started at " << placeOf(decisions.step, collective.start) << "\n";
    if (collective.wait >= 0)
      os << "  waited for at " << placeOf(decisions.step, collective.wait)
         << (collective.waited > 1e-12 ? ", where compute stands still for " +
                                             timeText(collective.waited)
                                       : ": it is over by then")
         << "\n";
  }
}

} // namespace shardc
