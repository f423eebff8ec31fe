// What a checkpoint has, and whether it is whole.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/metrics/Print.h"
#include "tools/shardc-ckpt/Commands.h"

#include <filesystem>

namespace shardc::runtime {

namespace fs = std::filesystem;

std::string checkpointAt(const std::string &path) {
  std::error_code error;
  if (fs::exists(fs::path(path) / Manifest::fileName, error))
    return path;
  CheckpointFolder folder(path);
  if (std::vector<int64_t> steps = folder.steps(); !steps.empty())
    return folder.pathOf(steps.back());
  fail(path, " is no checkpoint: it has neither a ", Manifest::fileName,
       " nor folders step-00001000");
}

static void inspectTensors(const char *name, const StoredTensors &tensors,
                           bool each) {
  double elements = 0, bytes = 0;
  std::string lines;
  for (const std::string &key : tensors.keys()) {
    double count = 1;
    for (int64_t dim : tensors.shapeOf(key))
      count *= double(dim);
    elements += count;
    bytes += count * double(elementSize(tensors.dtypeOf(key)));
    if (each)
      lines += concat("  ", key, "  ", dtypeName(tensors.dtypeOf(key)), " ",
                      shapeText(tensors.shapeOf(key)), "\n");
  }
  print(concat(name, ": ", tensors.keys().size(), " tensors, ",
               countText(elements), " elements, ", bytesText(bytes), "\n",
               lines));
}

void inspect(const std::string &path, bool tensors) {
  StoredCheckpoint checkpoint(checkpointAt(path));
  const Manifest &manifest = checkpoint.manifest();
  const Progress &progress = manifest.progress;
  print(concat(checkpoint.where(), ": step ", progress.step, ", ",
               progress.updates, " updates; epoch ", progress.cursor.epoch,
               ", ", progress.cursor.position, " of its ", manifest.samples,
               " samples", manifest.order.shuffle ? ", shuffled" : "",
               "\nmesh ", manifest.mesh, ", strategy ", manifest.strategy, "; ",
               manifest.precision, "; ", manifest.optimizer, "; global batch ",
               progress.globalBatch, "\nmodel ", manifest.model,
               "\nnot trained: ", manifest.initialValues, "\n"));
  if (const auto &best = progress.best)
    print(concat("best ", best->metric, " so far: ", best->value,
                 ", after step ", best->step, "\n"));
  inspectTensors("model", checkpoint.model(), tensors);
  inspectTensors("optim", checkpoint.optim(), tensors);
}

static void verifyOne(const std::string &path) {
  StoredCheckpoint checkpoint(path);
  uint64_t bytes = 0;
  for (const CheckpointFile &file : checkpoint.manifest().files)
    bytes += file.bytes;
  print(concat(path, " is whole: ", checkpoint.manifest().files.size(),
               " files, ", bytesText(double(bytes)), "\n"));
}

void verify(const std::string &path) {
  std::error_code error;
  CheckpointFolder folder(path);
  bool isFolder =
      !fs::exists(fs::path(path) / Manifest::fileName, error) &&
      !CheckpointFolder::isCheckpointName(fs::path(path).filename().string());
  if (!isFolder)
    return verifyOne(path);
  std::vector<int64_t> steps = folder.steps();
  if (steps.empty())
    checkpointAt(path); // says so
  std::string problem;
  for (int64_t step : steps)
    try {
      verifyOne(folder.pathOf(step));
    } catch (const Error &error) {
      print(concat(error.what(), "\n"));
      problem = error.what();
    }
  if (!problem.empty())
    fail(path, " has checkpoints that are damaged");
}

void prune(const std::string &path, int64_t keep) {
  CheckpointFolder folder(path);
  std::vector<int64_t> steps = folder.steps();
  if (steps.empty())
    checkpointAt(path); // says so
  // What stays must be worth something.
  StoredCheckpoint last(folder.pathOf(steps.back()));
  folder.prune(keep);
  print(concat(path, ": ", folder.steps().size(), " of ", steps.size(),
               " checkpoints stay\n"));
}

} // namespace shardc::runtime
