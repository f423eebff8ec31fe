// When a checkpoint is due, and what becomes of one that fails.
#include "runtime/train/RunSaver.h"

#include "runtime/base/Error.h"
#include "runtime/metrics/Process.h"

#include <algorithm>

namespace shardc::runtime {

RunSaver::RunSaver(CheckpointSaver saver, CheckpointFolder folder,
                   Manifest manifest, const CheckpointEvery &every,
                   const Progress &start, bool leads)
    : saver(std::move(saver)), folder(std::move(folder)),
      manifest(std::move(manifest)), every(every), leads(leads), before(start),
      clock(monotonicSeconds()) {
  if (std::ranges::binary_search(this->folder.steps(), start.step))
    savedStep = start.step;
}

bool RunSaver::isDue(const Progress &now) const {
  return now.step > before.step &&
         every.isDue(now.step, before.step, now.cursor, before.cursor);
}

bool RunSaver::isDueByClock() const {
  return every.seconds > 0 && monotonicSeconds() - clock >= every.seconds;
}

RunSaver::Saved RunSaver::save(const Progress &now) {
  Saved saved;
  double begin = monotonicSeconds();
  manifest.progress = now;
  SaveResult result = saver.save(manifest);
  before = now;
  clock = monotonicSeconds();
  saved.seconds = clock - begin;
  saved.warning = result.warning;
  if (result.failure.empty()) {
    failures = 0;
    savedStep = now.step;
    saved.bytes = result.bytes;
    saved.path = folder.pathOf(now.step);
    return saved;
  }
  std::string what =
      concat("step ", now.step, " cannot be saved: ", result.failure);
  if (!result.olderStands)
    fail(what, "; there is no older checkpoint in ", folder.where());
  if (++failures >= mostFailures)
    fail(what, ", the ", mostFailures, "rd time in a row");
  saved.warning = what + "; the run goes on, older checkpoints stand";
  return saved;
}

} // namespace shardc::runtime
