// One rank of one communicator.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_COMMUNICATOR_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_COMMUNICATOR_H

#include "test/emulated-cuda/driver/Work.h"
#include "test/emulated-cuda/nccl/Segment.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace shardc::test::cuda {

extern "C" {
#define SHARDC_EXPORT(result, name, arguments)                                 \
  __attribute__((visibility("default"))) result name arguments;
SHARDC_CUDA_NCCL(SHARDC_EXPORT)
#undef SHARDC_EXPORT
#define SHARDC_IMPORT(name, symbol, arguments) CUresult symbol arguments;
SHARDC_CUDA_DRIVER(SHARDC_IMPORT)
#undef SHARDC_IMPORT
}

/// The calling thread's last error in words, and the result that says so.
ncclResult_t failed(ncclResult_t result, const std::string &text);

} // namespace shardc::test::cuda

namespace shardc::cuda {

/// A window: memory that a communicator has registered.
struct ncclWindow_vidmem {
  ncclComm_t comm;
  CUdeviceptr begin;
  size_t bytes;
};

struct ncclComm : std::enable_shared_from_this<ncclComm> {
  ncclComm(const test::cuda::Segment::Id &id, int ranks, int rank, int device,
           const std::string &busId, const ncclConfig_t &config);

  /// Waits for all ranks to have joined, on devices of their own.
  ncclResult_t join();
  /// "rank 1 of 4 ("reductions")".
  std::string describe() const;
  /// Looks after the other ranks: one that has aborted, or whose process has
  /// ended, is this rank's asynchronous error from then on.
  ncclResult_t asyncError();
  std::string asyncErrorText();
  void setAsyncError(ncclResult_t result, const std::string &text);
  /// Meets the others. False: this rank was aborted, or has an asynchronous
  /// error.
  bool meet(test::cuda::Lane lane);
  /// The same, and it is a finding if others are about to call something else.
  bool agree(test::cuda::Lane lane, const test::cuda::CallSummary &call);
  /// How many calls this device has issued on other communicators.
  void countOthers(test::cuda::CallSummary &call) const;

  test::cuda::Segment segment;
  const int rank, ranks, device;
  const std::string name;
  const int ctaPolicy;
  /// Collectives that were called, in captures as well; and that have run.
  std::atomic<uint64_t> issued{0}, ran{0};
  std::atomic<uint64_t> hostCalls{0};
  /// Enqueued outside of captures, and not yet done.
  std::atomic<int> inFlight{0};
  std::atomic<bool> running{false}, aborted{false}, destroyed{false};

private:
  bool peersAreWell();

  std::mutex mutex;
  ncclResult_t error = ncclSuccess;
  std::string errorText;
  std::chrono::steady_clock::time_point lastLook{};
};

} // namespace shardc::cuda

namespace shardc::test::cuda {

/// A finding where it does not live.
std::shared_ptr<ncclComm> living(ncclComm_t comm, const char *function);
/// Forgets it: its pointer is of no use from then on.
std::shared_ptr<ncclComm> release(ncclComm_t comm, const char *function);

} // namespace shardc::test::cuda

#endif
