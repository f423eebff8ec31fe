// Files of the ranks, then the manifest, then the name.
#include "runtime/checkpoint/Save.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/Hash.h"
#include "runtime/comm/GatherTexts.h"
#include "runtime/files/Descriptor.h"
#include "runtime/weights/Safetensors.h"

#include <cstdio>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace shardc::runtime {

/// Bytes that are read from the device and written at a time.
static constexpr int64_t pieceBytes = 4 << 20;

CheckpointSaver::CheckpointSaver(const plan::Plan &plan, Rank &rank,
                                 CheckpointFolder folder, int64_t keep,
                                 bool leads)
    : plan(plan), rank(rank), folder(std::move(folder)), keep(keep),
      leads(leads), chunks(chunksOf(plan, rank)) {}

namespace {

/// A file that is hashed as it is written.
class HashedFile {
public:
  HashedFile(const std::string &path)
      : path(path), file(::open(path.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)),
        hasher(CheckpointFile::blockBytes) {
    if (!file)
      failErrno("cannot write ", path);
  }
  void write(const void *data, size_t size) {
    file.write(data, size, path);
    hasher.add(data, size);
    bytes += size;
  }
  /// Brings it to the disk.
  CheckpointFile finish(const std::string &name) {
    if (fsync(file.get()) != 0)
      failErrno("cannot write ", path);
    file.close();
    return {name, bytes, hasher.finish()};
  }

private:
  std::string path;
  Descriptor file;
  BlockHasher hasher;
  uint64_t bytes = 0;
};

/// What PyTorch's reader asks of a file besides its tensors: where each lies in
/// the whole one.
std::string headerOf(const std::vector<Chunk> &chunks) {
  std::vector<SafetensorsEntry> entries;
  nlohmann::ordered_json sharding = nlohmann::ordered_json::object();
  for (const Chunk &chunk : chunks) {
    SafetensorsEntry &entry = entries.emplace_back();
    entry.name = chunk.key;
    entry.dtype = chunk.dtype;
    entry.shape = chunk.shape;
    sharding[chunk.key]["saved_offsets"] = chunk.offsets;
  }
  return safetensorsHeader(
      entries, {{"format", "pt"},
                {"DCP_VERSION", "1.0"},
                {"DCP_SHARDING_INFO",
                 sharding.dump(-1, ' ', false,
                               nlohmann::json::error_handler_t::replace)}});
}

} // namespace

CheckpointFile CheckpointSaver::writeFile(const std::string &where,
                                          const std::string &name,
                                          const std::vector<Chunk> &chunks,
                                          const Progress &progress) {
  HashedFile file(where + "/" + name);
  std::string header = headerOf(chunks);
  file.write(header.data(), header.size());
  std::vector<std::byte> piece(pieceBytes);
  for (const Chunk &chunk : chunks) {
    if (!chunk.slice) {
      float updates = float(progress.updates);
      file.write(&updates, sizeof(updates));
      continue;
    }
    auto size = int64_t(elementSize(chunk.dtype));
    int64_t end = chunk.begin + chunk.elements();
    for (int64_t at = chunk.begin; at < end;) {
      int64_t count = std::min(end - at, pieceBytes / size);
      rank.read(chunk.slice, at, count, piece.data());
      file.write(piece.data(), count * size);
      at += count;
    }
  }
  return file.finish(name);
}

std::vector<CheckpointFile>
CheckpointSaver::writeFiles(const Progress &progress) {
  char shard[64];
  std::snprintf(shard, sizeof(shard),
                "/shard-%05d-model-00001-of-00001.safetensors",
                rank.rank() + 1);
  std::string where = folder.temporaryPathOf(progress.step);
  std::vector<CheckpointFile> files;
  if (!chunks.model.empty())
    files.push_back(writeFile(where, modelFolder + std::string(shard),
                              chunks.model, progress));
  if (!chunks.optim.empty())
    files.push_back(writeFile(where, optimFolder + std::string(shard),
                              chunks.optim, progress));
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

SaveResult CheckpointSaver::save(Manifest manifest) {
  Communicator &communicator = rank.communicator();
  int64_t step = manifest.progress.step;
  auto attempt = [](auto &&body) -> std::string {
    try {
      body();
      return "";
    } catch (const Aborted &) {
      throw;
    } catch (const Error &error) {
      return error.what();
    }
  };
  std::string problem;
  if (leads)
    problem = attempt([&] { folder.begin(step); });
  // Nobody writes before the folders are there.
  problem = gatherTexts(communicator, problem)[0];
  std::vector<CheckpointFile> files;
  if (problem.empty()) {
    std::string own = attempt([&] { files = writeFiles(manifest.progress); });
    std::vector<std::string> all =
        gatherTexts(communicator, filesText(files, own));
    for (size_t rank = 0; rank < all.size(); ++rank) {
      auto json = nlohmann::json::parse(all[rank]);
      for (const auto &file : json["files"])
        manifest.files.push_back(
            {file[0], file[1], file[2].get<std::vector<uint64_t>>()});
      if (std::string said = json["problem"]; !said.empty() && problem.empty())
        problem = concat("rank ", rank, ": ", said);
    }
  }
  SaveResult result;
  if (leads) {
    if (problem.empty())
      problem = attempt([&] { commit(manifest); });
    if (!problem.empty())
      folder.discard(step);
    else if (keep > 0)
      result.warning = attempt([&] { folder.prune(keep); });
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
