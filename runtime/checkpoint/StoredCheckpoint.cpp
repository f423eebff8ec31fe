// Chunks of all files, put together.
#include "runtime/checkpoint/StoredCheckpoint.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Chunks.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Hash.h"
#include "runtime/data/Npy.h"
#include "runtime/weights/Safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

StoredTensors::StoredTensors(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    addFile(path);
  checkWhole();
}

/// The offsets of a file's tensors in the whole ones, by key; none for a file
/// that has whole ones.
static std::map<std::string, std::vector<int64_t>>
offsetsOf(const std::map<std::string, std::string> &metadata,
          const std::string &path) {
  std::map<std::string, std::vector<int64_t>> offsets;
  auto found = metadata.find("DCP_SHARDING_INFO");
  if (found == metadata.end())
    return offsets;
  try {
    auto json = nlohmann::json::parse(found->second);
    for (const auto &[key, info] : json.items())
      info.at("saved_offsets").get_to(offsets[key]);
  } catch (const nlohmann::json::exception &) {
    fail(path, ": its DCP_SHARDING_INFO is no list of saved_offsets");
  }
  return offsets;
}

void StoredTensors::addFile(const std::string &path) {
  auto file = std::make_unique<File>();
  file->path = path;
  file->descriptor = Descriptor::openForReading(path);
  std::map<std::string, std::string> metadata;
  auto entries = readSafetensorsHeader(file->descriptor, path, &metadata);
  auto offsets = offsetsOf(metadata, path);
  for (const auto &[key, entry] : entries) {
    std::vector<int64_t> from(entry.shape.size());
    if (auto known = offsets.find(key); known != offsets.end())
      from = known->second;
    if (from.size() != entry.shape.size())
      fail(path, ": tensor ", key, " has ", entry.shape.size(),
           " dims and saved_offsets of ", from.size());
    int64_t row = 1, elements = 1;
    for (size_t dim = 0; dim < from.size(); ++dim) {
      if (dim > 0 && from[dim] != 0)
        fail(path, ": tensor ", key, " is cut along dim ", dim,
             "; only rows of whole tensors can be read");
      row *= dim > 0 ? entry.shape[dim] : 1;
      elements *= entry.shape[dim];
    }
    if (elements == 0)
      continue;
    Tensor &tensor = tensors[key];
    std::vector<int64_t> shape = entry.shape;
    int64_t begin = 0;
    if (!from.empty()) {
      if (from[0] < 0 || from[0] > (int64_t(1) << 40))
        fail(path, ": tensor ", key, " begins at row ", from[0]);
      begin = from[0] * row;
      shape[0] += from[0];
    }
    // The whole is as long as its last chunk says.
    if (tensor.shape.empty() || (!shape.empty() && shape[0] > tensor.shape[0]))
      tensor.shape.swap(shape);
    if (!shape.empty() &&
        !std::equal(shape.begin() + 1, shape.end(), tensor.shape.begin() + 1,
                    tensor.shape.end()))
      fail(path, ": tensor ", key,
           " has rows of another size than in other files");
    tensor.pieces.push_back(
        {begin, begin + elements, file.get(), entry.offset, entry.dtype});
  }
  files.push_back(std::move(file));
}

void StoredTensors::checkWhole() {
  for (auto &[key, tensor] : tensors) {
    std::ranges::sort(tensor.pieces, {}, &Piece::begin);
    int64_t end = 0;
    for (const Piece &piece : tensor.pieces) {
      if (piece.begin > end)
        fail(piece.file->path, ": tensor ", key, " lacks its elements ", end,
             " to ", piece.begin, ": a file of the checkpoint is missing");
      if (piece.begin < end)
        fail(piece.file->path, ": tensor ", key, " has its elements from ",
             piece.begin, " on twice");
      end = piece.end;
    }
  }
}

const std::vector<int64_t> &
StoredTensors::shapeOf(const std::string &key) const {
  return tensors.at(key).shape;
}

void StoredTensors::read(const std::string &key, int64_t begin, int64_t end,
                         plan::DType dtype, std::byte *destination) const {
  const Tensor &tensor = tensors.at(key);
  auto piece = std::ranges::upper_bound(tensor.pieces, begin, {}, &Piece::end);
  std::vector<std::byte> stored;
  for (; begin < end; ++piece) {
    int64_t last = std::min(end, piece->end);
    auto size = int64_t(elementSize(piece->dtype));
    stored.resize((last - begin) * size);
    piece->file->descriptor.readAt(
        piece->offset + (begin - piece->begin) * size, stored.data(),
        stored.size(), piece->file->path);
    convertElements(stored.data(), piece->dtype, destination, dtype,
                    last - begin);
    destination += (last - begin) * int64_t(elementSize(dtype));
    begin = last;
  }
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

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

StoredCheckpoint::StoredCheckpoint(const std::string &path) : path(path) {
  std::string manifest = path + "/" + Manifest::fileName;
  read = Manifest::parse(textOf(manifest), manifest);
  std::vector<std::string> modelFiles, optimFiles;
  for (const CheckpointFile &file : read.files) {
    // Names in the manifest are relative, and without "..": its hash is its
    // own, and whoever writes one may name anything.
    bool isModel = file.path.starts_with(concat(modelFolder, "/"));
    bool isOptim = file.path.starts_with(concat(optimFolder, "/"));
    size_t slash = file.path.find('/');
    if ((!isModel && !isOptim) ||
        file.path.find('/', slash + 1) != std::string::npos)
      fail(manifest, ": '", file.path, "' is no file of a checkpoint");
    compare(file, path + "/" + file.path);
    (isModel ? modelFiles : optimFiles).push_back(path + "/" + file.path);
  }
  model = std::make_unique<StoredTensors>(modelFiles);
  optim = std::make_unique<StoredTensors>(optimFiles);
}

namespace {

/// Trained parameters, or one of their states.
class CheckpointSource final : public ParameterSource {
public:
  CheckpointSource(const plan::Plan &plan, const StoredTensors &tensors,
                   std::string state, const ParameterSource *others)
      : plan(plan), tensors(tensors), state(std::move(state)), others(others) {}

  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    const plan::Parameter &of = plan.parameters(parameter);
    if (!of.trainable())
      return others->read(parameter, begin, end, dtype, destination);
    tensors.read(state.empty() ? of.name() : stateKey(of.name(), state), begin,
                 end, dtype, destination);
  }

private:
  const plan::Plan &plan;
  const StoredTensors &tensors;
  std::string state; // empty: the parameter itself
  const ParameterSource *others;
};

} // namespace

std::unique_ptr<ParameterSource>
StoredCheckpoint::parameters(const plan::Plan &plan,
                             const ParameterSource &others) const {
  return std::make_unique<CheckpointSource>(plan, *model, "", &others);
}
std::unique_ptr<ParameterSource>
StoredCheckpoint::states(const plan::Plan &plan,
                         const std::string &state) const {
  return std::make_unique<CheckpointSource>(plan, *optim, state, nullptr);
}

void StoredCheckpoint::check(const plan::Plan &plan) const {
  if (read.optimizer != plan.optimizer().kind())
    fail(path, " was saved by a run with --optimizer ", read.optimizer,
         ", and this trainer was compiled for ", plan.optimizer().kind(),
         "; compile it with shardc --optimizer ", read.optimizer,
         ", or take the parameters alone with --weights ", path);
  for (const plan::Parameter &parameter : plan.parameters()) {
    if (!parameter.trainable())
      continue;
    std::vector<int64_t> shape(parameter.shape().begin(),
                               parameter.shape().end());
    auto expect = [&](const StoredTensors &tensors, const std::string &key) {
      if (!tensors.has(key))
        fail(path, " has no ", key,
             ", which this trainer trains; it is a checkpoint of ", read.model);
      if (tensors.shapeOf(key) != shape)
        fail(path, ": ", key, " has the shape ",
             shapeText(tensors.shapeOf(key)), ", and this trainer expects ",
             shapeText(shape));
    };
    expect(*model, parameter.name());
    for (const std::string &state : plan.optimizer().states())
      expect(*optim, stateKey(parameter.name(), state));
  }
}

} // namespace shardc::runtime
