// Files of the ranks, then their commit.
#include "runtime/checkpoint/Save.h"

#include "runtime/base/Error.h"
#include "runtime/checkpoint/Space.h"
#include "runtime/comm/GatherTexts.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

CheckpointSaver::CheckpointSaver(const plan::Plan &plan, Rank &rank,
                                 CheckpointFolder folder,
                                 const StoredCheckpoint *resumed,
                                 const SaveOptions &options)
    : rank(rank), folder(std::move(folder)), options(options),
      chunks(chunksOf(plan, rank, resumed)),
      copy(chunks, options.goesOn, isOffloaded(plan)) {}

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

/// The error that a body throws; empty: nothing. What ends the run goes on.
template <typename Body> static std::string errorOf(Body body) {
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
  if (options.leads)
    problem = errorOf([&] { folder.begin(progress.step); });
  // Nobody writes before the folders are there.
  problem = gatherTexts(rank.communicator(), problem)[0];
  writeSeconds = 0;
  if (problem.empty())
    writer.emplace(rank, files(progress.step), progress.updates, copy);
  active = true;
}

std::optional<SaveResult> CheckpointSaver::advance() {
  if (!isCommitting) {
    if (problem.empty())
      gatherFiles();
    if (options.leads)
      commit.emplace(folder, manifest, options.keep, options.keepsBest,
                     problem);
    isCommitting = true;
    return std::nullopt;
  }
  SaveResult result = gatherResult();
  isCommitting = active = false;
  return result;
}

/// Adds the files of all ranks to the manifest, or says why there is none.
void CheckpointSaver::gatherFiles() {
  nlohmann::json own = {{"files", nlohmann::json::array()}};
  own["problem"] = errorOf([&] {
    for (const CheckpointFile &file : writer->finish())
      own["files"].push_back({file.path, file.bytes, file.blocks});
  });
  own["seconds"] = writer->seconds();
  writer.reset();
  std::vector<std::string> all = gatherTexts(
      rank.communicator(),
      own.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  for (size_t of = 0; of < all.size(); ++of) {
    auto json = nlohmann::json::parse(all[of]);
    for (const auto &file : json["files"])
      manifest.files.push_back(
          {file[0], file[1], file[2].get<std::vector<uint64_t>>()});
    writeSeconds = std::max(writeSeconds, json["seconds"].get<double>());
    if (std::string said = json["problem"]; !said.empty() && problem.empty())
      problem = concat("rank ", of, ": ", said);
  }
}

SaveResult CheckpointSaver::gatherResult() {
  SaveResult result;
  std::string said;
  if (commit) {
    Commit::Result own = commit->finish();
    commit.reset();
    result.warning = own.warning;
    // The first letter says whether an older one stands.
    if (!own.failure.empty())
      said = (own.olderStands ? "+" : "-") + own.failure;
  }
  said = gatherTexts(rank.communicator(), said)[0];
  if (!said.empty()) {
    result.olderStands = said[0] == '+';
    result.failure = said.substr(1);
  }
  for (const CheckpointFile &file : manifest.files)
    result.bytes += file.bytes;
  result.writeSeconds = writeSeconds;
  return result;
}

} // namespace shardc::runtime
