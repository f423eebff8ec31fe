// When a checkpoint is due, and what becomes of one that fails.
#include "runtime/train/RunSaver.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace shardc::runtime {

RunSaver::RunSaver(std::unique_ptr<CheckpointSaver> saver,
                   CheckpointFolder folder, Manifest manifest,
                   const CheckpointEvery &every, const Progress &start)
    : saver(std::move(saver)), folder(std::move(folder)),
      manifest(std::move(manifest)), every(every), before(start),
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

void RunSaver::start(const Progress &now) {
  before = now;
  clock = monotonicSeconds();
  manifest.progress = now;
  waited = longestWait = 0;
  waits([&] { saver->start(manifest); });
}

std::optional<RunSaver::Saved> RunSaver::advance() {
  std::optional<SaveResult> end;
  waits([&] { end = saver->advance(); });
  if (!end)
    return std::nullopt;
  const SaveResult &result = *end;
  Saved saved;
  saved.step = before.step;
  saved.seconds = monotonicSeconds() - clock;
  saved.waited = waited;
  saved.longestWait = longestWait;
  saved.writeSeconds = result.writeSeconds;
  saved.warning = result.warning;
  if (result.failure.empty()) {
    failures = 0;
    savedStep = before.step;
    saved.bytes = result.bytes;
    saved.path = folder.pathOf(before.step);
    return saved;
  }
  std::string what =
      concat("step ", before.step, " cannot be saved: ", result.failure);
  if (!result.olderStands)
    fail(what, "; there is no older checkpoint in ", folder.where());
  if (++failures >= mostFailures)
    fail(what, "; it is the ", mostFailures, "rd save in a row that failed");
  if (before.step == endStep)
    failureAtEnd = what;
  else
    saved.warning = what + "; the run goes on, older checkpoints stand";
  return saved;
}

void RunSaver::requireSaved() const {
  if (!failureAtEnd.empty())
    fail(failureAtEnd, "; the run ends there, older checkpoints stand");
}

} // namespace shardc::runtime
