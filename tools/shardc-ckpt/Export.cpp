// Checkpoints in the forms that others read.
#include "runtime/TrainerFile.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/checkpoint/Chunks.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/files/FileUses.h"
#include "runtime/files/OutputFile.h"
#include "runtime/files/Safetensors.h"
#include "runtime/metrics/Print.h"
#include "runtime/weights/ExportOnnx.h"
#include "runtime/weights/StoredParameters.h"
#include "tools/shardc-ckpt/Commands.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

namespace shardc::runtime {

namespace fs = std::filesystem;

/// Tensors as they are written: in the type that they have, or as `dtype`.
struct Written {
  const StoredTensors &tensors;
  std::optional<plan::DType> dtype = {};

  plan::DType dtypeOf(const std::string &key) const {
    return dtype.value_or(tensors.dtypeOf(key));
  }
};

static uint64_t bytesOf(const Written &written, const std::string &key) {
  uint64_t bytes = elementSize(written.dtypeOf(key));
  for (int64_t dim : written.tensors.shapeOf(key))
    bytes *= uint64_t(dim);
  return bytes;
}

/// The tensors of each file, in order, none of more than `most` bytes but where
/// one tensor is.
static std::vector<std::vector<std::string>> shardsOf(const Written &written,
                                                      uint64_t most) {
  std::vector<std::vector<std::string>> shards;
  uint64_t bytes = 0;
  for (const std::string &key : written.tensors.keys()) {
    uint64_t own = bytesOf(written, key);
    if (shards.empty() || bytes + own > most) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(key);
    bytes += own;
  }
  return shards;
}

/// Writes these tensors behind a header, in its order.
static void writeShard(const Written &written,
                       const std::vector<std::string> &keys,
                       const std::string &path, const std::string &header) {
  OutputFile file(path);
  file.write(header.data(), header.size());
  std::vector<std::byte> chunk;
  for (const std::string &key : keys) {
    plan::DType dtype = written.dtypeOf(key);
    auto size = int64_t(elementSize(dtype));
    int64_t count = int64_t(bytesOf(written, key)) / size;
    for (int64_t at = 0; at < count; at += elementsAtOnce) {
      int64_t end = std::min(count, at + elementsAtOnce);
      chunk.resize((end - at) * size);
      written.tensors.read(key, at, end, dtype, chunk.data());
      file.write(chunk.data(), chunk.size());
    }
  }
  file.commit();
}

static std::string hfHeader(const Written &written,
                            const std::vector<std::string> &keys) {
  std::vector<SafetensorsEntry> entries;
  for (const std::string &key : keys) {
    SafetensorsEntry &entry = entries.emplace_back();
    entry.name = key;
    entry.dtype = written.dtypeOf(key);
    entry.shape = written.tensors.shapeOf(key);
  }
  return safetensorsHeader(entries);
}

/// Removes what an earlier export with other files left in a folder: readers
/// would take it for a part of this one.
static void removeEarlier(const std::string &folder, const std::regex &names,
                          const std::set<std::string> &written) {
  std::error_code error;
  std::vector<fs::path> earlier;
  for (const auto &each : fs::directory_iterator(folder, error)) {
    std::string name = each.path().filename().string();
    if (std::regex_match(name, names) && !written.contains(name))
      earlier.push_back(each.path());
  }
  for (const fs::path &path : earlier)
    if (!error)
      fs::remove(path, error);
  if (error)
    fail("cannot remove what an earlier export left in ", folder, ": ",
         error.message());
}

/// from_pretrained draws anew what it does not find, which nobody wants of a
/// model that was trained: compares names with those of the folder's own.
static void compareNames(const StoredTensors &tensors,
                         const std::string &like) {
  std::vector<std::string> missing;
  size_t all = 0;
  std::error_code error; // one that cannot be read is told of by who copies it
  for (const auto &each : fs::directory_iterator(like, error)) {
    if (each.path().extension() != ".safetensors" || !each.is_regular_file())
      continue;
    const std::string path = each.path().string();
    for (const auto &[name, entry] :
         readSafetensorsHeader(Descriptor::openForReading(path), path)) {
      ++all;
      if (!tensors.has(name))
        missing.push_back(name);
    }
  }
  if (missing.empty())
    return;
  const std::string text =
      concat(missing.size(), " of the ", all, " tensors of ", like,
             " are not in the checkpoint, the first is ", missing.front(),
             ", while that has ", tensors.keys().front());
  if (missing.size() == all)
    fail("--like: ", text, "; choose the folder that the model was made from");
  std::fprintf(stderr,
               "shardc-ckpt: warning: %s; from_pretrained draws them "
               "anew\n",
               printable(text).c_str());
}

/// As transformers' save_pretrained names them: model.safetensors, or
/// model-00001-of-00002.safetensors with an index.
static void exportHf(const StoredCheckpoint &checkpoint,
                     const ExportOptions &options) {
  const StoredTensors &tensors = checkpoint.model();
  std::error_code error;
  if (options.like && !fs::is_directory(*options.like, error))
    fail("--like ", *options.like, " is no folder");
  if (options.like)
    compareNames(tensors, *options.like);
  fs::create_directories(options.output, error);
  if (error)
    fail("cannot make the folder ", options.output, ": ", error.message());
  if (options.like)
    for (const auto &each : fs::directory_iterator(*options.like, error)) {
      std::string extension = each.path().extension().string();
      std::string name = each.path().filename().string();
      // All but weights of any kind, and their indices.
      if (!each.is_regular_file() || extension == ".safetensors" ||
          extension == ".bin" || extension == ".pt" || extension == ".onnx" ||
          name.ends_with(".index.json"))
        continue;
      fs::copy_file(each.path(), fs::path(options.output) / name,
                    fs::copy_options::overwrite_existing, error);
      if (error)
        fail("cannot copy ", each.path().string(), ": ", error.message());
    }
  if (error)
    fail("cannot read ", *options.like, ": ", error.message());

  const Written as{tensors, options.dtype};
  auto shards = shardsOf(as, options.shardBytes);
  nlohmann::ordered_json index;
  uint64_t total = 0;
  std::set<std::string> written;
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64] = "model.safetensors";
    if (shards.size() > 1)
      std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors",
                    i + 1, shards.size());
    writeShard(as, shards[i], options.output + "/" + name,
               hfHeader(as, shards[i]));
    written.insert(name);
    for (const std::string &key : shards[i]) {
      index["weight_map"][key] = name;
      total += bytesOf(as, key);
    }
  }
  if (shards.size() > 1) {
    index["metadata"]["total_size"] = total;
    std::string text = index.dump(2) + "\n";
    const std::string name = "model.safetensors.index.json";
    OutputFile file(options.output + "/" + name);
    file.write(text.data(), text.size());
    file.commit();
    written.insert(name);
  }
  static const std::regex names(
      R"(model(-\d+-of-\d+)?\.safetensors(\.index\.json)?)");
  removeEarlier(options.output, names, written);
  print(concat(options.output, ": ", tensors.keys().size(), " tensors in ",
               shards.size(), shards.size() == 1 ? " file\n" : " files\n"));
}

static std::string dcpHeader(const StoredTensors &tensors,
                             const std::vector<std::string> &keys) {
  std::vector<Chunk> chunks;
  for (const std::string &key : keys) {
    Chunk &chunk = chunks.emplace_back();
    chunk.key = key;
    chunk.dtype = tensors.dtypeOf(key);
    chunk.shape = tensors.shapeOf(key);
    chunk.offsets.resize(chunk.shape.size());
  }
  return headerOfChunks(chunks);
}

/// Parameters in model/ and state in optim/, named as torch's writer names the
/// files of one rank.
static void exportDcp(const StoredCheckpoint &checkpoint,
                      const ExportOptions &options) {
  size_t files = 0, count = 0;
  for (const char *part : {"model", "optim"}) {
    const StoredTensors &tensors = part == std::string_view("model")
                                       ? checkpoint.model()
                                       : checkpoint.optim();
    std::string folder = options.output + "/" + part;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      fail("cannot make the folder ", folder, ": ", error.message());
    auto shards = shardsOf({tensors}, options.shardBytes);
    std::set<std::string> written;
    for (size_t i = 0; i < shards.size(); ++i) {
      char name[64];
      std::snprintf(name, sizeof(name),
                    "shard-00001-model-%05zu-of-%05zu.safetensors", i + 1,
                    shards.size());
      writeShard({tensors}, shards[i], folder + "/" + name,
                 dcpHeader(tensors, shards[i]));
      written.insert(name);
      count += shards[i].size();
    }
    static const std::regex names(R"(shard-\d+-model-\d+-of-\d+\.safetensors)");
    removeEarlier(folder, names, written);
    files += shards.size();
  }
  print(concat(options.output, ": ", count, " tensors in ", files, " files\n"));
}

static void exportOnnx(const StoredCheckpoint &checkpoint,
                       const ExportOptions &options) {
  if (!options.trainer)
    fail("--to onnx needs --trainer, whose graph it is");
  TrainerFile trainer(*options.trainer);
  if (trainer.plans().empty())
    fail(*options.trainer, " is no trainer that shardc wrote");
  trainer.checkLargeSections(1);
  // What is exported is the model's, and the same for every target.
  const plan::Plan &plan = trainer.plans().front();
  checkpoint.checkParameters(plan);
  auto others =
      StoredParameters::recorded(plan, trainer.embeddedWeights(), true,
                                 [&](const plan::Parameter &parameter) {
                                   return !checkpoint.has(parameter);
                                 });
  OnnxExport file(plan, trainer.exportTemplate(), trainer.embeddedWeights(),
                  options.output);
  FileUses uses;
  uses.reads("--trainer " + *options.trainer, *options.trainer);
  readModel(uses, plan);
  for (const std::string &path : file.outputs())
    uses.writes("-o " + path, path);
  uses.check();
  file.write(*checkpoint.parameters(plan, *others));
  print(concat(file.written(), ": written\n"));
}

/// Throws an Error where what is written lies in what is read.
static void checkOutput(const StoredCheckpoint &checkpoint,
                        const std::string &output) {
  std::error_code error;
  auto whole = [&](const std::string &path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  fs::path inside = whole(output).lexically_relative(whole(checkpoint.where()));
  if (!inside.empty() && *inside.begin() != "..")
    fail("-o ", output, " lies in the checkpoint that is read, ",
         checkpoint.where(), "; choose another path");
}

void exportTo(const ExportOptions &options) {
  StoredCheckpoint checkpoint(checkpointAt(options.checkpoint));
  checkOutput(checkpoint, options.output);
  if (options.to == "hf")
    exportHf(checkpoint, options);
  else if (options.to == "dcp")
    exportDcp(checkpoint, options);
  else
    exportOnnx(checkpoint, options);
}

} // namespace shardc::runtime
