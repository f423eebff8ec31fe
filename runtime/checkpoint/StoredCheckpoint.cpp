// The manifest, and all files compared with it.
#include "runtime/checkpoint/StoredCheckpoint.h"

#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Chunks.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/weights/ShardedParameters.h"

#include <algorithm>

namespace shardc::runtime {

static std::string textOf(const std::string &path) {
  Descriptor file = Descriptor::openForReading(path);
  uint64_t size = file.regularSize(path);
  constexpr uint64_t most = 1 << 30;
  if (size > most)
    fail(path, " is no manifest of a checkpoint: it has ", size, " bytes");
  std::string text(size, '\0');
  file.readAt(0, text.data(), size, path);
  return text;
}

/// Throws unless a file is as it was written.
static void compare(const CheckpointFile &expected, const std::string &path) {
  Descriptor file = Descriptor::openForReading(path);
  uint64_t size = file.regularSize(path);
  if (size != expected.bytes)
    fail(path, " is damaged: it has ", size, " bytes, and the manifest says ",
         expected.bytes);
  std::vector<std::byte> block(
      std::min<uint64_t>(size, CheckpointFile::blockBytes));
  size_t number = 0;
  for (uint64_t at = 0; at < size; at += block.size(), ++number) {
    block.resize(std::min<uint64_t>(size - at, block.size()));
    file.readAt(at, block.data(), block.size(), path);
    if (number >= expected.blocks.size() ||
        hashOf(block.data(), block.size()) != expected.blocks[number])
      fail(path, " is damaged: bytes ", at, " to ", at + block.size(),
           " are not those that were written");
  }
}

StoredCheckpoint::StoredCheckpoint(const std::string &path, Writer writer)
    : path(path) {
  if (writer == Writer::Shardc)
    openManifest();
  else
    openFolders();
}

/// What torch wrote has parameters, states and the number of updates, and says
/// nothing of samples.
void StoredCheckpoint::openFolders() {
  modelTensors =
      std::make_unique<StoredTensors>(shardFiles(path + "/" + modelFolder));
  optimTensors =
      std::make_unique<StoredTensors>(shardFiles(path + "/" + optimFolder));
  for (const std::string &key : optimTensors->keys())
    if (key.ends_with(concat(".", updatesState))) {
      float updates = 0;
      optimTensors->read(key, 0, 1, plan::FLOAT32,
                         reinterpret_cast<std::byte *>(&updates));
      read.progress.step = read.progress.updates = int64_t(updates);
    }
}

Manifest readManifest(const std::string &checkpoint) {
  std::string path = checkpoint + "/" + Manifest::fileName;
  return Manifest::parse(textOf(path), path);
}

void StoredCheckpoint::openManifest() {
  read = readManifest(path);
  std::vector<std::string> modelFiles, optimFiles;
  for (const CheckpointFile &file : read.files) {
    // Names in the manifest are relative, and without "..": its hash is its
    // own, and whoever writes one may name anything.
    bool isModel = file.path.starts_with(concat(modelFolder, "/"));
    bool isOptim = file.path.starts_with(concat(optimFolder, "/"));
    size_t slash = file.path.find('/');
    if ((!isModel && !isOptim) ||
        file.path.find('/', slash + 1) != std::string::npos)
      fail(path, "/", Manifest::fileName, ": '", file.path,
           "' is no file of a checkpoint");
    compare(file, path + "/" + file.path);
    (isModel ? modelFiles : optimFiles).push_back(path + "/" + file.path);
  }
  modelTensors = std::make_unique<StoredTensors>(modelFiles);
  optimTensors = std::make_unique<StoredTensors>(optimFiles);
}

namespace {

/// Parameters, or one of their states.
class CheckpointSource final : public ParameterSource {
public:
  CheckpointSource(const plan::Plan &plan, const StoredCheckpoint &checkpoint,
                   std::string state, const ParameterSource *others)
      : plan(plan), checkpoint(checkpoint), state(std::move(state)),
        others(others) {}

  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    const plan::Parameter &of = plan.parameters(parameter);
    if (!state.empty())
      checkpoint.optim().read(stateKey(of.name(), state), begin, end, dtype,
                              destination);
    else if (checkpoint.has(of))
      checkpoint.model().read(of.name(), begin, end, dtype, destination);
    else
      others->read(parameter, begin, end, dtype, destination);
  }

  bool has(int parameter) const override {
    return checkpoint.has(plan.parameters(parameter)) ||
           (others && others->has(parameter));
  }

private:
  const plan::Plan &plan;
  const StoredCheckpoint &checkpoint;
  std::string state; // empty: the parameter itself
  const ParameterSource *others;
};

} // namespace

std::unique_ptr<ParameterSource>
StoredCheckpoint::parameters(const plan::Plan &plan,
                             const ParameterSource &others) const {
  return std::make_unique<CheckpointSource>(plan, *this, "", &others);
}
std::unique_ptr<ParameterSource>
StoredCheckpoint::states(const plan::Plan &plan,
                         const std::string &state) const {
  return std::make_unique<CheckpointSource>(plan, *this, state, nullptr);
}

bool StoredCheckpoint::has(const plan::Parameter &parameter) const {
  if (!modelTensors->has(parameter.name()))
    return false;
  return parameter.trainable() || parameter.frozen() ||
         std::ranges::equal(modelTensors->shapeOf(parameter.name()),
                            parameter.shape());
}

void StoredCheckpoint::checkParameters(const plan::Plan &plan) const {
  for (const plan::Parameter &parameter : plan.parameters())
    if (parameter.trainable() || has(parameter))
      checkTensor(*modelTensors, parameter.name(), parameter, path);
}

void StoredCheckpoint::check(const plan::Plan &plan) const {
  checkParameters(plan);
  if (!read.optimizer.empty() && read.optimizer != plan.optimizer().kind())
    fail(path, " was saved by a run with --optimizer ", read.optimizer,
         ", and this trainer was compiled for ", plan.optimizer().kind(),
         "; compile it with shardc --optimizer ", read.optimizer,
         ", or take the parameters alone with --weights ", path);
  for (const plan::Parameter &parameter : plan.parameters()) {
    if (!parameter.trainable())
      continue;
    for (int i = 0; i < plan.optimizer().states_size(); ++i)
      if (std::string state = stateNameOf(plan, parameter, i); !state.empty())
        checkTensor(*optimTensors, stateKey(parameter.name(), state), parameter,
                    path);
  }
}

} // namespace shardc::runtime
