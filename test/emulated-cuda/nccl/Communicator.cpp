// Joining, agreeing, and noticing that others are gone.
#include "test/emulated-cuda/nccl/Communicator.h"

#include "test/emulated-cuda/nccl/Group.h"
#include "test/emulated-cuda/nccl/Windows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace shardc::test::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// Never destroyed: a process may end while streams still work.
struct Living {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<ncclComm>> all;
};
Living &communicators() {
  static Living &living = *new Living;
  return living;
}

thread_local std::string lastError;

double patience() {
  const char *text = std::getenv("SHARDC_EMULATED_NCCL_PATIENCE");
  return text ? std::atof(text) : 600;
}

bool isOneCall(const CallSummary &one, const CallSummary &other) {
  return one.position == other.position && one.kind == other.kind &&
         one.type == other.type && one.op == other.op &&
         one.count == other.count && one.offset == other.offset;
}

/// Calls on communicators that both ranks have: 0, or one of which one rank has
/// issued more before this call than the other.
uint64_t orderedOtherwise(const CallSummary &one, const CallSummary &other) {
  for (const CallSummary::Other &mine : one.others)
    for (const CallSummary::Other &theirs : other.others)
      if (mine.communicator && mine.communicator == theirs.communicator &&
          mine.issued != theirs.issued)
        return mine.communicator;
  return 0;
}

bool isSound(const ncclConfig_t &config) {
  auto oneOf = [](int value, std::initializer_list<int> values) {
    return value == ncclUndefined || std::ranges::count(values, value);
  };
  return config.size == sizeof(ncclConfig_t) && config.magic == 0xcafebeef &&
         config.version >= 22800 && config.version <= 22899 &&
         oneOf(config.blocking, {1}) &&
         oneOf(config.CTAPolicy,
               {NCCL_CTA_POLICY_DEFAULT, NCCL_CTA_POLICY_ZERO}) &&
         oneOf(config.splitShare, {0, 1}) && oneOf(config.shrinkShare, {0, 1});
}

} // namespace

ncclResult_t failed(ncclResult_t result, const std::string &text) {
  lastError = text;
  return result;
}

std::shared_ptr<ncclComm> living(ncclComm_t comm, const char *function) {
  std::lock_guard lock(communicators().mutex);
  auto found = communicators().all.find(comm);
  if (found == communicators().all.end())
    finding(std::string(function) +
            " is given a communicator that was destroyed or never made");
  return found->second;
}

std::shared_ptr<ncclComm> release(ncclComm_t comm, const char *function) {
  std::shared_ptr<ncclComm> released = living(comm, function);
  std::lock_guard lock(communicators().mutex);
  communicators().all.erase(comm);
  return released;
}

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  if (!version)
    return failed(ncclInvalidArgument, "ncclGetVersion: no place for it");
  *version = 22809;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclInternalError:
    return "internal error - please report this issue to the NCCL developers";
  case ncclInvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case ncclInvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(ncclComm_t comm) {
  if (comm)
    if (std::string text = living(comm, "ncclGetLastError")->asyncErrorText();
        !text.empty())
      lastError = text;
  return lastError.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (!id)
    return failed(ncclInvalidArgument, "ncclGetUniqueId: no place for it");
  static_assert(sizeof(Segment::Id) <= sizeof(ncclUniqueId));
  try {
    Segment::Id made = Segment::make();
    std::memset(id, 0, sizeof(*id));
    std::memcpy(id->internal, &made, sizeof(made));
  } catch (const std::runtime_error &error) {
    return failed(ncclSystemError, error.what());
  }
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (!comm || ranks < 1 || rank < 0 || rank >= ranks)
    return failed(ncclInvalidArgument, "ncclCommInitRankConfig: rank " +
                                           std::to_string(rank) + " of " +
                                           std::to_string(ranks));
  ncclConfig_t wanted;
  if (config)
    wanted = *config;
  if (!isSound(wanted))
    return failed(ncclInvalidArgument,
                  "ncclCommInitRankConfig: a field of the configuration has no "
                  "value that is known here");
  int device = currentDevice();
  if (device < 0)
    return failed(ncclUnhandledCudaError,
                  "ncclCommInitRankConfig: the thread has no device");
  char busId[32] = "";
  cuDeviceGetPCIBusId(busId, sizeof(busId), device);
  try {
    Segment::Id made;
    std::memcpy(&made, id.internal, sizeof(made));
    auto joined =
        std::make_shared<ncclComm>(made, ranks, rank, device, busId, wanted);
    {
      std::lock_guard lock(communicators().mutex);
      communicators().all[joined.get()] = joined;
    }
    *comm = joined.get();
    ncclResult_t result = whenGroupEnds([joined] { return joined->join(); });
    if (result != ncclSuccess) {
      release(*comm, "ncclCommInitRankConfig")->segment.markAborted();
      *comm = nullptr;
    }
    return result;
  } catch (const std::runtime_error &error) {
    return failed(ncclSystemError,
                  std::string("ncclCommInitRankConfig: ") + error.what());
  }
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  std::shared_ptr<ncclComm> self = release(comm, "ncclCommDestroy");
  while (self->inFlight && self->asyncError() == ncclSuccess)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  self->destroyed = true;
  forgetWindows(*self, /*wasAborted=*/self->asyncError() != ncclSuccess);
  self->segment.markLeft();
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  std::shared_ptr<ncclComm> self = release(comm, "ncclCommAbort");
  self->aborted = true;
  self->segment.markAborted();
  while (self->running)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  forgetWindows(*self, /*wasAborted=*/true);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  if (!result)
    return failed(ncclInvalidArgument,
                  "ncclCommGetAsyncError: no place for it");
  *result = living(comm, "ncclCommGetAsyncError")->asyncError();
  return ncclSuccess;
}

} // extern "C"

} // namespace shardc::test::cuda

namespace shardc::cuda {

using namespace test::cuda;

ncclComm::ncclComm(const Segment::Id &id, int ranks, int rank, int device,
                   const std::string &busId, const ncclConfig_t &config)
    : segment(id, ranks, rank, busId), rank(rank), ranks(ranks), device(device),
      name(config.commName ? config.commName : ""),
      ctaPolicy(config.CTAPolicy) {}

std::string ncclComm::describe() const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
         (name.empty() ? std::string() : " (\"" + name + "\")");
}

ncclResult_t ncclComm::join() {
  if (!meet(Lane::Host)) {
    if (aborted)
      return failed(ncclInvalidUsage, describe() + " was aborted as it joined");
    return failed(asyncError(), asyncErrorText());
  }
  segment.allHaveJoined();
  for (int other = 0; other < ranks; ++other)
    if (other != rank && segment.deviceOf(other) == segment.deviceOf(rank))
      return failed(ncclInvalidUsage, "ranks " + std::to_string(rank) +
                                          " and " + std::to_string(other) +
                                          " have one device, " +
                                          segment.deviceOf(rank));
  return ncclSuccess;
}

void ncclComm::setAsyncError(ncclResult_t result, const std::string &text) {
  std::lock_guard lock(mutex);
  if (error == ncclSuccess)
    error = result, errorText = describe() + ": " + text;
}

ncclResult_t ncclComm::asyncError() {
  {
    std::lock_guard lock(mutex);
    if (error != ncclSuccess)
      return error;
    if (Clock::now() - lastLook < std::chrono::milliseconds(20))
      return error;
    lastLook = Clock::now();
  }
  peersAreWell();
  std::lock_guard lock(mutex);
  return error;
}

std::string ncclComm::asyncErrorText() {
  std::lock_guard lock(mutex);
  return errorText;
}

bool ncclComm::peersAreWell() {
  bool allJoined = true;
  for (int other = 0; other < ranks; ++other) {
    if (!segment.hasJoined(other)) {
      allJoined = false;
      continue;
    }
    ProcessId process = segment.processOf(other);
    std::string who = "rank " + std::to_string(other);
    if (other != rank && segment.hasAborted(other))
      setAsyncError(ncclRemoteError, who + " has aborted");
    else if (!segment.hasLeft(other) && !process.isAlive())
      setAsyncError(ncclRemoteError, "process " + std::to_string(process.id) +
                                         " of " + who + " has ended");
  }
  if (!allJoined && !segment.id.maker.isAlive())
    setAsyncError(ncclRemoteError,
                  "the process that made the unique id has ended");
  std::lock_guard lock(mutex);
  return error == ncclSuccess;
}

bool ncclComm::meet(Lane lane) {
  auto begin = Clock::now();
  auto lastTick = begin - std::chrono::seconds(1);
  return segment.meet(lane, [&] {
    if (aborted)
      return false;
    auto now = Clock::now();
    if (now - lastTick < std::chrono::milliseconds(40))
      return true;
    lastTick = now;
    for (int other = 0; other < ranks; ++other)
      if (segment.hasLeft(other) && !segment.hasCome(lane, other))
        setAsyncError(ncclRemoteError, "rank " + std::to_string(other) +
                                           " has destroyed its communicator");
    std::chrono::duration<double> waited = now - begin;
    if (waited.count() > patience())
      setAsyncError(ncclRemoteError, "waited " +
                                         std::to_string(int(waited.count())) +
                                         " s for the others");
    return peersAreWell();
  });
}

bool ncclComm::agree(Lane lane, const CallSummary &call) {
  segment.say(lane, call);
  if (!meet(lane))
    return false;
  for (int other = 0; other < ranks; ++other) {
    const CallSummary &theirs = segment.said(lane, other);
    const char *difference =
        !isOneCall(call, theirs) ? " calls "
        : orderedOtherwise(call, theirs)
            ? " has issued more, or less, on another communicator of both "
              "before "
            : nullptr;
    if (difference)
      finding("ranks of a communicator differ in their call " +
              std::to_string(call.position) + ": " + describe() + " calls " +
              call.text + ", rank " + std::to_string(other) + difference +
              theirs.text);
  }
  return true;
}

void ncclComm::countOthers(CallSummary &call) const {
  std::lock_guard lock(communicators().mutex);
  size_t count = 0;
  for (auto &[comm, other] : communicators().all)
    if (comm != this && other->device == device &&
        count < std::size(call.others))
      call.others[count++] = {other->segment.id.nonce, other->issued};
}

} // namespace shardc::cuda
