// What of a rank goes into a checkpoint: the rectangles of parameters and of
// optimizer state that it holds.
#ifndef SHARDC_RUNTIME_CHECKPOINT_CHUNKS_H
#define SHARDC_RUNTIME_CHECKPOINT_CHUNKS_H

#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/engine/Executor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Rows of a tensor: dim 0 from `offsets[0]` on, all of the others.
struct Chunk {
  /// What PyTorch calls the tensor: a parameter's name, or state.NAME.STATE.
  std::string key;
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape, offsets; // of the rectangle; as many dims
  /// Where its elements lie: from the slice's element `begin` on, or in an
  /// earlier checkpoint. Without either it is one float32, the number of
  /// updates.
  Slice slice;
  int64_t begin = 0;
  const StoredTensors *earlier = nullptr;

  int64_t elements() const;
};

/// The key of a parameter's optimizer state, as
/// torch.distributed.checkpoint.state_dict.get_optimizer_state_dict names it
/// with flatten_optimizer_state_dict=True.
std::string stateKey(const std::string &parameter, std::string_view state);
/// The state that counts a parameter's updates: one float32 without dims.
inline constexpr std::string_view updatesState = "step";

struct RankChunks {
  std::vector<Chunk> model, optim;
};

/// Those that this rank writes: together the ranks write every trained element
/// once. Ranks that hold equal slices share the units out among them. What is
/// frozen goes from the checkpoint that the run goes on from (null: none) to
/// those that it writes: nothing else may have these values. Throws an Error
/// where a slice cuts a row.
RankChunks chunksOf(const plan::Plan &plan, const Rank &rank,
                    const StoredCheckpoint *resumed = nullptr);

/// The begin of a safetensors file of these chunks. Besides its tensors it has
/// what PyTorch's HuggingFaceStorageReader asks for: where each lies in the
/// whole one.
std::string headerOfChunks(const std::vector<Chunk> &chunks);

} // namespace shardc::runtime

#endif
