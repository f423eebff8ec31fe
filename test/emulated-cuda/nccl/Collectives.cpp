// The four collectives, and what a group sends and receives: what a call must
// hold to, and its work in the stream.
#include "test/emulated-cuda/nccl/Group.h"
#include "test/emulated-cuda/nccl/Windows.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace shardc::test::cuda {
namespace {

/// Whether the variable, RANK:N, names what this device does as rank RANK of any
/// communicator: the N-th time, from 1, that it does so.
bool isToFail(const ncclComm &comm, const char *variable) {
  const char *text = std::getenv(variable);
  int rank = 0;
  unsigned long number = 0;
  if (!text || std::sscanf(text, "%d:%lu", &rank, &number) != 2 ||
      rank != comm.rank)
    return false;
  static std::mutex mutex;
  static auto &times =
      *new std::map<std::pair<std::string, int>, unsigned long>();
  std::lock_guard lock(mutex);
  return ++times[{variable, comm.device}] == number;
}

/// Where the operation allows one buffer to be a part of the other.
bool isInPlace(const ncclComm &comm, const Collective &call) {
  size_t own = comm.rank * call.count * bytesOf(call.type);
  switch (call.kind) {
  case Kind::AllGather:
    return call.send == call.receive + own;
  case Kind::ReduceScatter:
    return call.receive == call.send + own;
  case Kind::AllReduce:
    return call.receive == call.send;
  default:
    return false;
  }
}

void requireSound(const ncclComm &comm, const Collective &call,
                  CUstream stream) {
  std::string who = comm.describe() + ": " + call.describe();
  if (currentDevice() != comm.device)
    finding(who + " is called with device " + std::to_string(currentDevice()) +
            ", its communicator is on device " + std::to_string(comm.device));
  if (!stream && comm.ctaPolicy == NCCL_CTA_POLICY_ZERO)
    finding(who + " without CTAs cannot run in the default stream");
  auto require = [&](CUdeviceptr address, size_t bytes, const char *what) {
    if (!isDeviceMemory(address, bytes))
      finding(who + ": the " + std::to_string(bytes) + " bytes that it " +
              what + " are not all in one allocation of the device's memory");
    if (address % bytesOf(call.type))
      finding(who + ": what it " + what + " is not aligned");
  };
  for (const Parcel &parcel : call.parcels) {
    if (parcel.peer < 0 || parcel.peer >= comm.ranks)
      finding(who + ": there is no rank " + std::to_string(parcel.peer));
    if (parcel.bytes)
      require(parcel.address, parcel.bytes,
              parcel.isSent ? "sends" : "receives");
  }
  if (!call.count)
    return;
  size_t sent = call.sendBytes(comm.ranks);
  size_t received = call.receiveBytes(comm.ranks);
  require(call.send, sent, "sends");
  require(call.receive, received, "receives");
  if (call.send < call.receive + received && call.receive < call.send + sent &&
      !isInPlace(comm, call))
    finding(who + ": the buffers overlap in a way that is not in place");
}

CUresult execute(ncclComm &comm, const Collective &call, CallSummary summary) {
  std::string who = comm.describe() + ": " + call.describe();
  if (comm.destroyed)
    finding(who + " runs after its communicator was destroyed");
  if (comm.running.exchange(true))
    finding(who + " runs while another one of its communicator does, in "
                  "another stream");
  // What runs in a stream, or in a graph that is replayed, has nobody to answer.
  if (isToFail(comm, "SHARDC_EMULATED_NCCL_BREAK"))
    comm.setAsyncError(ncclInternalError,
                       call.describe() + " breaks, as it was told to");
  summary.position = ++comm.ran;
  if (!comm.aborted && comm.asyncError() == ncclSuccess &&
      comm.agree(Lane::Stream, summary))
    exchange(comm, call);
  comm.running = false;
  return CUDA_SUCCESS;
}

/// Counts a collective that was enqueued until it has run, or the driver has
/// dropped it because of an error.
struct InFlight {
  explicit InFlight(std::shared_ptr<ncclComm> comm) : comm(std::move(comm)) {
    ++this->comm->inFlight;
  }
  ~InFlight() { end(); }
  void end() {
    if (!ended.exchange(true))
      --comm->inFlight;
  }

  std::shared_ptr<ncclComm> comm;
  std::atomic<bool> ended{false};
};

ncclResult_t enqueue(const std::shared_ptr<ncclComm> &comm,
                     const Collective &call, CUstream stream) {
  CallSummary summary;
  summary.kind = uint32_t(call.kind), summary.type = call.type;
  summary.op = call.op, summary.count = call.count;
  // Who sends directly asks nothing of windows.
  summary.offset = call.kind == Kind::Parcels ? 0 : placeInWindows(*comm, call);
  std::string text = call.describe();
  std::string placed = text;
  if (summary.offset)
    placed += " at byte " + std::to_string(summary.offset - 1) + " of memory";
  if (call.kind == Kind::Parcels) // whose number differs from rank to rank
    placed = "ncclSend and ncclRecv";
  std::strncpy(summary.text, placed.c_str(), sizeof(summary.text) - 1);
  comm->countOthers(summary);
  ++comm->issued;

  Work work;
  work.name = comm->describe() + ": " + text;
  if (call.count) {
    work.accesses.push_back(
        {call.send, call.sendBytes(comm->ranks), 1, 0, false});
    work.accesses.push_back(
        {call.receive, call.receiveBytes(comm->ranks), 1, 0, true});
  }
  for (const Parcel &parcel : call.parcels)
    if (parcel.bytes)
      work.accesses.push_back(
          {parcel.address, parcel.bytes, 1, 0, !parcel.isSent});
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  cuStreamIsCapturing(stream, &capture);
  std::shared_ptr<InFlight> inFlight;
  if (capture == CU_STREAM_CAPTURE_STATUS_NONE)
    inFlight = std::make_shared<InFlight>(comm);
  work.run = [comm, call, summary, inFlight] {
    CUresult result = execute(*comm, call, summary);
    if (inFlight)
      inFlight->end();
    return result;
  };
  if (CUresult result = enqueueWork(stream, std::move(work)))
    return failed(ncclUnhandledCudaError,
                  text + ": the driver answers " + std::to_string(result));
  return ncclSuccess;
}

ncclResult_t start(Kind kind, const void *send, void *receive, size_t count,
                   ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                   CUstream stream) {
  Collective call{kind,
                  reinterpret_cast<CUdeviceptr>(send),
                  reinterpret_cast<CUdeviceptr>(receive),
                  count,
                  type,
                  op};
  if (!bytesOf(type) || (op != ncclSum && op != ncclMax) || !comm ||
      (count && (!send || !receive)))
    return failed(ncclInvalidArgument,
                  call.describe() + ": a null pointer, or a type or operation "
                                    "that is not known here");
  std::shared_ptr<ncclComm> self = living(comm, call.describe().c_str());
  // The call itself.
  if (isToFail(*self, "SHARDC_EMULATED_NCCL_FAIL"))
    return failed(ncclSystemError, self->describe() + ": " + call.describe() +
                                       " fails, as it was told to");
  if (ncclResult_t error = self->asyncError())
    return failed(error, self->asyncErrorText());
  // A mutant of this call.
  std::string what = self->describe() + ": " + call.describe();
  uint64_t given[] = {call.send, call.receive, call.count};
  shiftArguments(what, given, sizeof(given));
  call.send = given[0], call.receive = given[1], call.count = given[2];
  requireSound(*self, call, stream);
  auto begin = [self, call, stream] {
    return whenGroupEnds(
        [self, call, stream] { return enqueue(self, call, stream); });
  };
  static thread_local std::function<ncclResult_t()> held;
  if (isMutated("swap", what)) {
    held = begin;
    return ncclSuccess;
  }
  ncclResult_t result = begin();
  if (held)
    std::exchange(held, nullptr)();
  return result;
}

/// The calls of an open group become one piece of work: all ranks take part, and
/// what goes to a rank comes there in the order in which it was sent.
ncclResult_t post(const Parcel &parcel, ncclDataType_t type, ncclComm_t comm,
                  CUstream stream) {
  struct Posted {
    std::shared_ptr<ncclComm> comm;
    CUstream stream;
    std::shared_ptr<Collective> call;
  };
  static thread_local std::vector<Posted> open;
  const char *name = parcel.isSent ? "ncclSend" : "ncclRecv";
  if (!bytesOf(type) || !comm || (parcel.bytes && !parcel.address))
    return failed(ncclInvalidArgument,
                  std::string(name) + ": a null pointer, or a type that is "
                                      "not known here");
  std::shared_ptr<ncclComm> self = living(comm, name);
  if (!isGroupOpen())
    finding(self->describe() + ": " + name +
            " is called outside of a group, where it waits for its peer");
  if (ncclResult_t error = self->asyncError())
    return failed(error, self->asyncErrorText());
  for (Posted &posted : open)
    if (posted.comm == self && posted.stream == stream) {
      posted.call->parcels.push_back(parcel);
      return ncclSuccess;
    }
  auto call = std::make_shared<Collective>(
      Collective{Kind::Parcels, 0, 0, 0, ncclUint8, ncclSum, {parcel}});
  open.push_back({self, stream, call});
  return whenGroupEnds([self, call, stream] {
    std::erase_if(open,
                  [&](const Posted &posted) { return posted.call == call; });
    if (isToFail(*self, "SHARDC_EMULATED_NCCL_FAIL"))
      return failed(ncclSystemError, self->describe() + ": " +
                                         call->describe() +
                                         " fails, as it was told to");
    requireSound(*self, *call, stream);
    return enqueue(self, *call, stream);
  });
}

} // namespace

extern "C" {

ncclResult_t ncclAllGather(const void *send, void *receive, size_t sendCount,
                           ncclDataType_t type, ncclComm_t comm,
                           CUstream stream) {
  return start(Kind::AllGather, send, receive, sendCount, type, ncclSum, comm,
               stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *receive,
                               size_t receiveCount, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm,
                               CUstream stream) {
  return start(Kind::ReduceScatter, send, receive, receiveCount, type, op, comm,
               stream);
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           CUstream stream) {
  return start(Kind::AllReduce, send, receive, count, type, op, comm, stream);
}

ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count,
                          ncclDataType_t type, ncclComm_t comm,
                          CUstream stream) {
  return start(Kind::AlltoAll, send, receive, count, type, ncclSum, comm,
               stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, CUstream stream) {
  return post(
      {peer, true, reinterpret_cast<CUdeviceptr>(send), count * bytesOf(type)},
      type, comm, stream);
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, CUstream stream) {
  return post({peer, false, reinterpret_cast<CUdeviceptr>(receive),
               count * bytesOf(type)},
              type, comm, stream);
}

} // extern "C"

} // namespace shardc::test::cuda
