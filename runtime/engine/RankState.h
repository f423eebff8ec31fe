// The entries of a rank's programs work on its pools, at places that follow
// from where it stands in the mesh. Only the engine includes this.
#ifndef SHARDC_RUNTIME_ENGINE_RANKSTATE_H
#define SHARDC_RUNTIME_ENGINE_RANKSTATE_H

#include "runtime/device/Device.h"
#include "runtime/engine/CommonGathers.h"
#include "runtime/engine/Holders.h"
#include "runtime/engine/SharedSlices.h"

#include <memory>
#include <span>
#include <vector>

namespace shardc::runtime {

struct RankOptions;

struct RankState {
  RankState(const plan::Plan &plan, std::unique_ptr<Device> device,
            Communicator &communicator, const RankOptions &options);

  const plan::Plan &plan;
  Communicator &communicator;                     // of the world
  std::vector<Communicator *> groups;             // of the plan
  std::vector<ParameterNumbers> parameterNumbers; // by parameter
  const bool accumulates;
  std::unique_ptr<Device> device;
  std::vector<std::byte *> buffers; // of the device
  /// It names the units whose slices lie in blocks that the ranks of a group
  /// share.
  SharedSlices shared;
  /// What it names of pools is memory of several ranks.
  CommonGathers common;
  /// By pool: slices in blocks are included, memory that ranks of the process
  /// have in common is counted for the first of them.
  std::vector<int64_t> allocatedBytes;

  /// This rank's slice of a unit's parameters begins here in the flat buffer,
  /// and has that length, in elements.
  int64_t sliceBegin(const plan::Unit &unit) const;
  int64_t sliceElements(const plan::Unit &unit) const;
  Tensor parameterSlice(const plan::Unit &unit) const;
  /// The rank's optimizer updates this part of the slice. It is empty for a
  /// unit that is not trained.
  int64_t optimizerIndex(const plan::Unit &unit) const;
  /// Returns which of the mesh's optimizer slices a rank has.
  int64_t optimizerShardOf(int64_t rank) const;
  int64_t optimizerBegin(const plan::Unit &unit) const;
  int64_t optimizerElements(const plan::Unit &unit) const;
  Holders holders(const plan::Unit &unit) const;
  /// Return that part in parameter_buffer, and its master weights, which are
  /// the same memory where the types are the same, or the masters are split.
  Tensor ownParameters(const plan::Unit &unit) const;
  Tensor masterSlice(const plan::Unit &unit) const;
  /// Returns what is missing to masters that are that part, in bytes; it is empty
  /// where they are not split.
  Tensor remainder(const plan::Unit &unit) const;
  /// Returns whether a unit's slices lie in a block.
  bool isInBlock(int unit) const { return blockOf[unit] != nullptr; }

  /// Returns whether an address is one of the pool host.
  bool isOnHost(const std::byte *address) const;

  const plan::Unit &unit(uint32_t index) const;
  Communicator &group(uint32_t index) const;

  /// Returns the tensor with its address. Throws an Error where it leaves its
  /// buffer.
  Tensor resolve(const plan::Tensor &tensor, const char *name) const;
  /// Returns a whole buffer as a vector of `elements` elements.
  Tensor vectorOf(uint32_t buffer, int64_t elements, plan::DType dtype,
                  const char *name) const;

private:
  void bindMesh();
  void checkUnits() const;
  int64_t ranksPerProcess() const;
  void makeBlocks();
  std::byte *allocateCommon(int pool);
  void allocate();
  void writeConstants();

  int64_t shardIndex = 0, optimizerShardIndex = 0; // see plan.Mesh
  std::vector<std::byte *> blockOf;                // by unit; null: not shared
  std::span<const std::byte> hostPool;
};

} // namespace shardc::runtime

#endif
