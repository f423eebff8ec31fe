// The manifest, then the name, then what it replaces.
#include "runtime/checkpoint/Commit.h"

#include "runtime/base/Error.h"
#include "runtime/checkpoint/HashedFile.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {

Commit::Commit(CheckpointFolder folder, Manifest manifest, int64_t keep,
               bool keepsBest, std::string problem)
    : folder(std::move(folder)), manifest(std::move(manifest)), keep(keep),
      keepsBest(keepsBest), result{std::move(problem)} {
  thread = std::thread([this] { run(); });
}

Commit::~Commit() {
  if (thread.joinable())
    thread.join();
}

Commit::Result Commit::finish() {
  thread.join();
  return std::move(result);
}

/// What a body throws; empty: nothing.
template <typename Body> static std::string attempt(Body body) {
  try {
    body();
    return "";
  } catch (const std::exception &error) {
    return error.what();
  }
}

void Commit::run() {
  int64_t step = manifest.progress.step;
  if (result.failure.empty())
    result.failure = attempt([&] {
      writeManifest();
      folder.commit(step);
    });
  if (result.failure.empty())
    result.warning = attempt([&] { tidy(); });
  else {
    folder.discard(step);
    std::string ignored =
        attempt([&] { result.olderStands = !folder.steps().empty(); });
  }
  done = true;
}

void Commit::writeManifest() const {
  HashedFile file(folder.temporaryPathOf(manifest.progress.step) + "/" +
                  Manifest::fileName);
  std::string text = manifest.text();
  file.write(text.data(), text.size());
  file.finish(Manifest::fileName);
}

void Commit::tidy() const {
  const std::optional<BestEvaluation> &best = manifest.progress.best;
  // Its own save may have failed: then the link leads where it led.
  if (keepsBest && best && folder.best() != best->step &&
      std::ranges::binary_search(folder.steps(), best->step))
    folder.markBest(best->step);
  if (keep > 0)
    folder.prune(keep, manifest.progress.step);
}

} // namespace shardc::runtime
