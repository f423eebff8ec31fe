// A collective between threads is a record that all ranks share, and its work
// is cut into chunks. Threads.cpp decides when a chunk is done and by whom.
#ifndef SHARDC_RUNTIME_COMM_THREADOPERATION_H
#define SHARDC_RUNTIME_COMM_THREADOPERATION_H

#include "runtime/comm/Contribution.h"
#include "runtime/comm/EventCount.h"

#include <atomic>
#include <vector>

namespace shardc::runtime {

/// Chunks whose results go to one rank (to all ranks, for an all-reduce and for
/// what they gather to one place).
struct alignas(64) ChunkGroup {
  std::atomic<int64_t> claimed{0};
  std::atomic<int64_t> done{0};
};

/// A collective that has been started. Records are used again and never freed
/// before the world ends, so that a late notify finds its event.
struct ThreadOperation {
  explicit ThreadOperation(int ranks) : contributions(ranks), groups(ranks) {}

  std::vector<Contribution> contributions; // by rank
  std::vector<ChunkGroup> groups;
  std::atomic<int> arrived{0};
  std::atomic<int> finished{0};
  EventCount event;

  void reset();
  int groupCount() const;
  int64_t chunksOfGroup() const;
  void runChunk(int group, int64_t chunk);

private:
  // All ranks' contributions agree, so the first stands for all.
  const Contribution &any() const { return contributions[0]; }
  void gatherChunk(int receiver, int64_t chunk);
  void scatterChunk(int receiver, int64_t chunk);
  void allReduceChunk(int64_t chunk);
  void parcelChunk(int receiver, int sender);
};

} // namespace shardc::runtime

#endif
