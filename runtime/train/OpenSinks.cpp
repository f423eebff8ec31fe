// The outputs of a run's figures that its flags ask for.
#include "runtime/train/OpenSinks.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/HfLog.h"
#include "runtime/metrics/JsonLines.h"
#include "runtime/metrics/Print.h"
#include "runtime/metrics/Prometheus.h"
#include "runtime/metrics/TensorBoard.h"

#include <memory>
#include <optional>
#include <utility>

namespace shardc::runtime {

void openSinks(Run &run) {
  const Options &options = run.options;
  Metrics &metrics = run.metrics;
  Terminal &terminal = metrics.terminal();
  if (options.logFormat == LogFormat::Hf)
    metrics.add(std::make_unique<HfLog>(terminal, options.printEvery));
  else
    metrics.add(std::make_unique<Console>(terminal, options.printEvery));
  if (options.prometheus)
    metrics.add(std::make_unique<Prometheus>(terminal, *options.prometheus));
  if (options.dryRun)
    return;
  if (options.tensorboard)
    metrics.add(std::make_unique<TensorBoard>(terminal, *options.tensorboard));
  // Last: it stays, whatever becomes of the others.
  if (!options.metrics)
    return;
  auto lines = std::make_unique<JsonLines>(
      terminal, *options.metrics,
      run.resumed ? std::optional(run.settings.start.step) : std::nullopt);
  if (!lines->earlierRun().empty())
    print(concat("metrics: the earlier run's are in ",
                 printable(lines->earlierRun()), " now\n"));
  metrics.add(std::move(lines));
}

} // namespace shardc::runtime
