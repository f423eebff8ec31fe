// The plan's programs say what is in a pool besides gathered units.
#include "runtime/engine/CommonGathers.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

using Ranks = std::vector<int64_t>;

/// The ranks of the group around `rank` that are in its process.
Ranks ranksHere(const plan::Group &group, int64_t rank,
                int64_t ranksPerProcess) {
  Ranks here;
  if (group.stride() < 1 || group.size() < 1)
    return here; // an error of its own, elsewhere
  int64_t base = rank - rank / group.stride() % group.size() * group.stride();
  for (int64_t k = 0; k < group.size(); ++k)
    if (int64_t member = base + k * group.stride();
        member / ranksPerProcess == rank / ranksPerProcess)
      here.push_back(member);
  return here;
}

/// What a plan's gathers say of each of its buffers.
struct Uses {
  explicit Uses(const plan::Plan &plan)
      : groups(plan.buffers_size()), isKept(plan.buffers_size()) {
    for (const plan::Program *program : {&plan.train(), &plan.eval()})
      for (const plan::Entry &entry : program->entries())
        note(entry);
  }

  std::vector<std::vector<int64_t>> groups; // that gather into it
  std::vector<bool> isKept;

private:
  void note(const plan::Entry &entry) {
    if (entry.has_all_gather_start()) {
      const plan::AllGatherStart &start = entry.all_gather_start();
      if (start.gathered() < groups.size())
        groups[start.gathered()].push_back(start.group());
    }
    if (entry.has_keep() && entry.keep().kept().buffer() < isKept.size())
      isKept[entry.keep().kept().buffer()] = true;
  }
};

} // namespace

CommonGathers CommonGathers::none(const plan::Plan &plan,
                                  const SharedSlices &slices) {
  CommonGathers common;
  for (const plan::Buffer &buffer : plan.buffers())
    common.ownOffsets.push_back(buffer.offset());
  for (int pool = 0; pool < plan.pools_size(); ++pool)
    common.pools.push_back({-1, 0, slices.poolBytes(plan, pool)});
  return common;
}

void CommonGathers::drop(const plan::Plan &plan, const SharedSlices &slices,
                         int pool) {
  pools[pool] = {-1, 0, slices.poolBytes(plan, pool)};
  for (int i = 0; i < plan.buffers_size(); ++i)
    if (plan.buffers(i).pool() == uint32_t(pool))
      ownOffsets[i] = plan.buffers(i).offset();
}

CommonGathers CommonGathers::of(const plan::Plan &plan,
                                const SharedSlices &slices, int64_t rank,
                                int64_t ranksPerProcess) {
  CommonGathers common = none(plan, slices);
  Uses uses(plan);
  for (int pool = 0; pool < plan.pools_size(); ++pool) {
    Pool found;
    Ranks here;
    bool fits = true;
    std::vector<int64_t> offsets = common.ownOffsets;
    for (int i = 0; fits && i < plan.buffers_size(); ++i) {
      const plan::Buffer &buffer = plan.buffers(i);
      if (buffer.pool() != uint32_t(pool))
        continue;
      if (slices.gathered[i] >= 0 || slices.kept[i] >= 0)
        continue; // in a block, or not needed
      if (uses.isKept[i] && uses.groups[i].empty()) {
        offsets[i] = found.ownBytes;
        found.ownBytes += alignedBytes(buffer.bytes());
        continue;
      }
      fits = !uses.groups[i].empty();
      for (int64_t group : uses.groups[i]) {
        Ranks ranks =
            group < plan.groups_size()
                ? ranksHere(plan.groups(int(group)), rank, ranksPerProcess)
                : Ranks();
        if (found.group < 0)
          found.group = group, here = ranks;
        fits = fits && ranks == here;
      }
      offsets[i] = -1;
      found.commonBytes = std::max(
          found.commonBytes, alignedBytes(buffer.offset() + buffer.bytes()));
    }
    if (!fits || here.size() < 2)
      continue;
    found.ranks = std::ssize(here);
    found.isFirst = here.front() == rank;
    common.pools[pool] = found;
    common.ownOffsets = std::move(offsets);
  }
  return common;
}

} // namespace shardc::runtime
