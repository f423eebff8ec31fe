// Chunks of all files, put together.
#include "runtime/weights/StoredTensors.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/JsonNumber.h"
#include "runtime/files/Safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

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
      for (const auto &each : info.at("saved_offsets"))
        offsets[key].push_back(wholeNumber<int64_t>(each));
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
    for (size_t dim = 1; dim < from.size(); ++dim)
      if (from[dim] != 0)
        fail(path, ": tensor ", key, " is cut along dim ", dim,
             "; only rows of whole tensors can be read");
    if (std::ranges::find(entry.shape, 0) != entry.shape.end())
      continue;
    int64_t elements = 1;
    for (int64_t dim : entry.shape)
      elements *= dim;
    Tensor &tensor = tensors[key];
    std::vector<int64_t> shape = entry.shape;
    int64_t begin = 0;
    if (!from.empty()) {
      if (from[0] < 0 || from[0] > (int64_t(1) << 40))
        fail(path, ": tensor ", key, " begins at row ", from[0]);
      begin = from[0] * (elements / entry.shape[0]);
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

std::vector<std::string> StoredTensors::keys() const {
  std::vector<std::string> all;
  for (const auto &[key, tensor] : tensors)
    all.push_back(key);
  return all;
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
    if (!isConvertible(piece->dtype, dtype))
      fail(piece->file->path, ": tensor ", key, " holds ",
           piece->dtype == plan::INVALID ? "numbers of an unknown type"
                                         : dtypeName(piece->dtype),
           ", which cannot be read as ", dtypeName(dtype));
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

} // namespace shardc::runtime
