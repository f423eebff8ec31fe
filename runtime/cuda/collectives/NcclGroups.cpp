// Communicators of NCCL are made through the ranks' own.
#include "runtime/cuda/collectives/NcclGroups.h"

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
      close(*of, /*isIdle=*/false);
}

void NcclGroups::close(CommStream &of, bool isIdle) {
  if (!of.comm)
    return;
  const Nccl &nccl = device.context.libraries.nccl();
  ncclComm_t comm = std::exchange(of.comm, nullptr);
  if (!isIdle) {
    nccl.ncclCommAbort(comm);
    return;
  }
  for (ncclWindow_t window : of.windows)
    nccl.ncclCommWindowDeregister(comm, window);
  nccl.ncclCommDestroy(comm);
}

NcclGroups::~NcclGroups() {
  release();
  const Driver &driver = device.context.driver;
  bool isIdle = driver.cuStreamQuery.function(device.compute) == CUDA_SUCCESS;
  // Before any stream: a graph that is on its way has collectives of all.
  for (auto &[host, group] : groups)
    for (CommStream *of : {&group->gathers, &group->reductions})
      close(*of, isIdle);
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
    openWindows(of, group);
  } catch (const NcclError &) {
    device.hearOthers();
    throw;
  }
}

/// The plan has a pool's buffers at the same offsets on all ranks.
void NcclGroups::openWindows(CommStream &of, NcclGroup &group) {
  const Nccl &nccl = device.context.libraries.nccl();
  RankNote &note = group.host->note();
  for (const NcclMemory &memory : device.communicated) {
    ncclWindow_t window = nullptr;
    note.waits(true);
    ncclResult_t result = nccl.ncclCommWindowRegister(
        of.comm, memory.begin, memory.bytes, &window, NCCL_WIN_COLL_SYMMETRIC);
    note.waits(false);
    nccl.check(result, "ncclCommWindowRegister", of.comm);
    if (window)
      of.windows.push_back(window);
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
