// The outputs of a run's figures that its flags ask for.
#include "runtime/train/OpenSinks.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/JsonLines.h"
#include "runtime/metrics/Print.h"

#include <memory>
#include <optional>
#include <utility>

namespace shardc::runtime {

void openSinks(Run &run) {
  const Options &options = run.options;
  Metrics &metrics = run.metrics;
  metrics.add(
      std::make_unique<Console>(metrics.terminal(), options.printEvery));
  // Last: it stays, whatever becomes of the others.
  if (!options.metrics || options.dryRun)
    return;
  auto lines = std::make_unique<JsonLines>(
      metrics.terminal(), *options.metrics,
      run.resumed ? std::optional(run.settings.start.step) : std::nullopt);
  if (!lines->earlierRun().empty())
    print(concat("metrics: the earlier run's are in ",
                 printable(lines->earlierRun()), " now\n"));
  metrics.add(std::move(lines));
}

} // namespace shardc::runtime
