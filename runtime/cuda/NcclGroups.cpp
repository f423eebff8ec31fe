// Communicators of NCCL are made through the ranks' own.
#include "runtime/cuda/NcclGroups.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/CudaDevice.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace shardc::runtime::cuda {

NcclGroups::NcclGroups(CudaDevice &device) : device(device) {
  device.context.driver.cuEventCreate(&begun, CU_EVENT_DISABLE_TIMING);
}

static bool hasAborted(Communicator &communicator) {
  try {
    communicator.throwIfAborted();
    return false;
  } catch (const Aborted &) {
    return true;
  }
}

void NcclGroups::release() {
  if (!hasAborted(device.communicator))
    return;
  for (auto &[host, group] : groups)
    for (CommStream *of : {&group->gathers, &group->reductions})
      if (of->comm)
        device.context.libraries.nccl().ncclCommAbort(
            std::exchange(of->comm, nullptr));
}

NcclGroups::~NcclGroups() {
  release();
  const Driver &driver = device.context.driver;
  bool isIdle = driver.cuStreamQuery.function(device.compute) == CUDA_SUCCESS;
  // Before any stream: a graph that is on its way has collectives of all.
  for (auto &[host, group] : groups)
    for (CommStream *of : {&group->gathers, &group->reductions})
      if (of->comm) {
        const Nccl &nccl = device.context.libraries.nccl();
        isIdle ? nccl.ncclCommDestroy(of->comm) : nccl.ncclCommAbort(of->comm);
      }
  for (auto &[host, group] : groups)
    for (CommStream *of : {&group->gathers, &group->reductions})
      if (of->stream)
        driver.cuStreamDestroy.function(of->stream);
  for (auto &[id, event] : ends)
    driver.cuEventDestroy.function(event);
  driver.cuEventDestroy.function(begun);
}

/// The first rank makes an id, which the others get as the sum of it and of
/// their zeros.
static ncclUniqueId commonId(const Nccl &nccl, Communicator &host) {
  std::array<int64_t, sizeof(ncclUniqueId) / sizeof(int64_t)> words = {};
  if (host.rank() == 0) {
    ncclUniqueId id;
    nccl.check(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId");
    std::memcpy(words.data(), &id, sizeof(id));
  }
  Segment all{words.data(), int64_t(words.size()), plan::INT64};
  host.allReduce({&all, 1});
  ncclUniqueId id;
  std::memcpy(&id, words.data(), sizeof(id));
  return id;
}

void NcclGroups::connect(CommStream &of, NcclGroup &group, const char *use) {
  const Driver &driver = device.context.driver;
  int least = 0, greatest = 0;
  driver.cuCtxGetStreamPriorityRange(&least, &greatest);
  driver.cuStreamCreateWithPriority(&of.stream, CU_STREAM_NON_BLOCKING,
                                    greatest);
  if (group.size == 1)
    return;
  const Nccl &nccl = device.context.libraries.nccl();
  ncclConfig_t config;
  config.blocking = 1;
  std::string name = concat("shardc ", use, " of ", group.size);
  config.commName = name.c_str();
  // Gathers go by copy engines where that is possible, and leave the
  // multiprocessors to compute.
  if (&of == &group.gathers)
    config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  ncclUniqueId id = commonId(nccl, *group.host);
  // Here it waits for the others, and does not hear that they are gone.
  RankNote &note = group.host->note();
  note.waits(true);
  ncclResult_t result = nccl.ncclCommInitRankConfig(&of.comm, group.size, id,
                                                    group.rank, &config);
  note.waits(false);
  try {
    nccl.check(result, "ncclCommInitRankConfig");
  } catch (const NcclError &) {
    device.hearOthers();
    throw;
  }
}

NcclGroup &NcclGroups::of(Communicator &host) {
  std::unique_ptr<NcclGroup> &group = groups[&host];
  if (!group) {
    // Several communicators are used by one thread, in the plan's order on all
    // ranks: NCCL then keeps that order among them.
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
    group = std::make_unique<NcclGroup>();
    group->host = &host;
    group->rank = host.rank();
    group->size = host.size();
    connect(group->gathers, *group, "gathers");
    connect(group->reductions, *group, "reductions");
  }
  return *group;
}

void NcclGroups::know(uint32_t id) {
  if (!ends.contains(id))
    device.context.driver.cuEventCreate(&ends[id], CU_EVENT_DISABLE_TIMING);
}

void NcclGroups::begin(const CommStream &of) {
  const Driver &driver = device.context.driver;
  driver.cuEventRecord(begun, device.compute);
  driver.cuStreamWaitEvent(of.stream, begun, 0);
}
void NcclGroups::end(const CommStream &of, uint32_t id) {
  device.context.driver.cuEventRecord(ends[id], of.stream);
}
void NcclGroups::await(uint32_t id) {
  device.context.driver.cuStreamWaitEvent(device.compute, ends[id], 0);
}

bool NcclGroups::haveOthers() const {
  return std::ranges::any_of(
      groups, [](const auto &each) { return each.second->size > 1; });
}

void NcclGroups::check() {
  for (auto &[host, group] : groups)
    for (const CommStream *of : {&group->gathers, &group->reductions}) {
      if (!of->comm)
        continue;
      const Nccl &nccl = device.context.libraries.nccl();
      ncclResult_t result = ncclSuccess;
      nccl.check(nccl.ncclCommGetAsyncError(of->comm, &result),
                 "ncclCommGetAsyncError", of->comm);
      if (result != ncclInProgress)
        nccl.check(result, "a collective of NCCL", of->comm);
    }
}

} // namespace shardc::runtime::cuda
