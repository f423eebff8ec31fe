// Files of the ranks, then the manifest, then the name.
#include "runtime/checkpoint/Save.h"

#include "runtime/base/Error.h"
#include "runtime/checkpoint/HashedFile.h"
#include "runtime/comm/GatherTexts.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

CheckpointSaver::CheckpointSaver(const plan::Plan &plan, Rank &rank,
                                 CheckpointFolder folder, int64_t keep,
                                 bool keepsBest, bool leads)
    : plan(plan), rank(rank), folder(std::move(folder)), keep(keep),
      keepsBest(keepsBest), leads(leads), chunks(chunksOf(plan, rank)) {}

std::vector<ChunkWriter::File> CheckpointSaver::files(int64_t step) const {
  char shard[64];
  std::snprintf(shard, sizeof(shard),
                "/shard-%05d-model-00001-of-00001.safetensors",
                rank.rank() + 1);
  std::string where = folder.temporaryPathOf(step) + "/";
  std::vector<ChunkWriter::File> files;
  auto add = [&](const char *part, const std::vector<Chunk> &chunks) {
    std::string name = part + std::string(shard);
    if (!chunks.empty())
      files.push_back({where + name, name, &chunks});
  };
  add(modelFolder, chunks.model);
  add(optimFolder, chunks.optim);
  return files;
}

void CheckpointSaver::commit(Manifest &manifest) {
  int64_t step = manifest.progress.step;
  std::string path = folder.temporaryPathOf(step) + "/" + Manifest::fileName;
  HashedFile file(path);
  std::string text = manifest.text();
  file.write(text.data(), text.size());
  file.finish(Manifest::fileName);
  folder.commit(step);
}

/// A rank's files as a text, or why it has none.
static std::string filesText(const std::vector<CheckpointFile> &files,
                             const std::string &problem) {
  nlohmann::json json = {{"problem", problem},
                         {"files", nlohmann::json::array()}};
  for (const CheckpointFile &file : files)
    json["files"].push_back({file.path, file.bytes, file.blocks});
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

static bool hasCheckpoint(const CheckpointFolder &folder) {
  try {
    return !folder.steps().empty();
  } catch (const Error &) {
    return false;
  }
}

void CheckpointSaver::tidy() const {
  const std::optional<BestEvaluation> &best = manifest.progress.best;
  // Its own save may have failed: then the link leads where it led.
  if (keepsBest && best && folder.best() != best->step &&
      std::ranges::binary_search(folder.steps(), best->step))
    folder.markBest(best->step);
  if (keep > 0)
    folder.prune(keep);
}

/// What a body throws; empty: nothing.
template <typename Body> static std::string attempt(Body body) {
  try {
    body();
    return "";
  } catch (const Aborted &) {
    throw;
  } catch (const Error &error) {
    return error.what();
  }
}

void CheckpointSaver::start(const Manifest &of) {
  manifest = of;
  const Progress &progress = manifest.progress;
  problem.clear();
  if (leads)
    problem = attempt([&] { folder.begin(progress.step); });
  // Nobody writes before the folders are there.
  problem = gatherTexts(rank.communicator(), problem)[0];
  if (problem.empty())
    writer.emplace(rank, files(progress.step), progress.updates);
  active = true;
}

SaveResult CheckpointSaver::finish() {
  Communicator &communicator = rank.communicator();
  int64_t step = manifest.progress.step;
  active = false;
  if (problem.empty()) {
    std::vector<CheckpointFile> own;
    std::string failure = attempt([&] { own = writer->finish(); });
    writer.reset();
    std::vector<std::string> all =
        gatherTexts(communicator, filesText(own, failure));
    for (size_t of = 0; of < all.size(); ++of) {
      auto json = nlohmann::json::parse(all[of]);
      for (const auto &file : json["files"])
        manifest.files.push_back(
            {file[0], file[1], file[2].get<std::vector<uint64_t>>()});
      if (std::string said = json["problem"]; !said.empty() && problem.empty())
        problem = concat("rank ", of, ": ", said);
    }
  }
  SaveResult result;
  if (leads) {
    if (problem.empty())
      problem = attempt([&] { commit(manifest); });
    if (!problem.empty())
      folder.discard(step);
    else
      result.warning = attempt([&] { tidy(); });
  }
  // The first letter says whether an older one stands.
  if (leads && !problem.empty())
    problem.insert(0, hasCheckpoint(folder) ? "+" : "-");
  problem = gatherTexts(communicator, problem)[0];
  if (!problem.empty()) {
    result.olderStands = problem[0] == '+';
    result.failure = problem.substr(1);
  }
  for (const CheckpointFile &file : manifest.files)
    result.bytes += file.bytes;
  return result;
}

} // namespace shardc::runtime
