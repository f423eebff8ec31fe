// From slices of flat buffers to rectangles of parameters.
#include "runtime/checkpoint/Chunks.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/files/Safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

int64_t Chunk::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

std::string stateKey(const std::string &parameter, std::string_view state) {
  return concat("state.", parameter, ".", state);
}

/// The rows of a parameter that lie in a slice of its unit's flat buffer; none
/// where no element does.
static std::optional<Chunk> chunkOf(const plan::Parameter &parameter,
                                    const Slice &slice) {
  Chunk chunk;
  chunk.shape.assign(parameter.shape().begin(), parameter.shape().end());
  chunk.offsets.assign(chunk.shape.size(), 0);
  int64_t first = parameter.flat_offset(), elements = chunk.elements();
  int64_t begin = std::max(first, slice.begin),
          end = std::min(first + elements, slice.begin + slice.elements);
  if (begin >= end)
    return std::nullopt;
  if (end - begin < elements) {
    int64_t row = elements / chunk.shape[0];
    if ((begin - first) % row != 0 || (end - first) % row != 0)
      fail("parameter ", parameter.name(), " is cut inside a row, at elements ",
           begin - first, " and ", end - first, " of rows of ", row);
    chunk.offsets[0] = (begin - first) / row;
    chunk.shape[0] = (end - begin) / row;
  }
  chunk.dtype = slice.dtype;
  chunk.slice = slice;
  chunk.begin = begin - slice.begin;
  return chunk;
}

/// A whole parameter of an earlier checkpoint.
static Chunk chunkOf(const plan::Parameter &parameter,
                     const StoredCheckpoint &earlier) {
  Chunk chunk;
  chunk.key = parameter.name();
  chunk.dtype = earlier.model().dtypeOf(chunk.key);
  chunk.shape.assign(parameter.shape().begin(), parameter.shape().end());
  chunk.offsets.assign(chunk.shape.size(), 0);
  chunk.earlier = &earlier.model();
  return chunk;
}

RankChunks chunksOf(const plan::Plan &plan, const Rank &rank,
                    const StoredCheckpoint *resumed) {
  RankChunks chunks;
  for (int i = rank.rank(); resumed && i < plan.parameters_size();
       i += rank.ranks())
    if (const plan::Parameter &parameter = plan.parameters(i);
        !parameter.trainable() && resumed->has(parameter))
      chunks.model.push_back(chunkOf(parameter, *resumed));
  for (int index = 0; index < plan.units_size(); ++index) {
    const plan::Unit &unit = plan.units(index);
    Slice master = rank.masterSlice(unit);
    Holders holders = rank.holders(unit);
    if (!master || index % holders.count != holders.own)
      continue;
    for (uint32_t member : unit.parameters()) {
      const plan::Parameter &parameter = plan.parameters(int(member));
      std::optional<Chunk> chunk = chunkOf(parameter, master);
      if (!chunk)
        continue;
      chunk->key = parameter.name();
      chunks.model.push_back(*chunk);
      for (int state = 0; state < plan.optimizer().states_size(); ++state) {
        std::string name = stateNameOf(plan, parameter, state);
        if (name.empty())
          continue;
        chunk = chunkOf(parameter, rank.stateSlice(unit, member, state));
        chunk->key = stateKey(parameter.name(), name);
        chunks.optim.push_back(*chunk);
      }
      // Once for each parameter: by the rank that has its first row.
      if (chunk->offsets.empty() || chunk->offsets[0] == 0) {
        Chunk updates;
        updates.key = stateKey(parameter.name(), updatesState);
        updates.dtype = plan::FLOAT32;
        chunks.optim.push_back(updates);
      }
    }
  }
  return chunks;
}

std::string headerOfChunks(const std::vector<Chunk> &chunks) {
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

} // namespace shardc::runtime
