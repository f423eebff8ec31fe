// Capture of streams, and graphs.
#include "DriverSuite.h"

#include <thread>

namespace shardc::test::cuda {
namespace {

class GraphSuite : public DriverSuite {
protected:
  void SetUp() override {
    DriverSuite::SetUp();
    if (!driver() || HasFatalFailure())
      return;
    add = kernel(wordKernels, "add1");
    words = allocate(4 * count);
    upload(words, std::vector<uint32_t>(count));
  }
  /// Enqueues that all words become one more.
  void addOne(CUstream in = nullptr) {
    launch(add, 1, count, {&words, &number}, in);
  }
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
    CHECK_CUDA(cuStreamBeginCapture(stream, mode));
  }
  CUstreamCaptureStatus status(CUstream of) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_CUDA(cuStreamIsCapturing(of, &status));
    return status;
  }
  size_t nodes(CUgraph graph) {
    size_t all = 0;
    EXPECT_CUDA(cuGraphGetNodes(graph, nullptr, &all));
    return all;
  }
  /// The end of a capture that came to nothing.
  void expectInvalid() {
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    // The stream works as before.
    addOne();
    EXPECT_EQ(download(words, 1)[0], 1u);
  }

  static constexpr unsigned count = 64;
  uint32_t number = count;
  CUfunction add = nullptr;
  CUdeviceptr words = 0;
};

TEST_F(GraphSuite, RunsWhatWasCaptured) {
  begin();
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  addOne();
  addOne();
  CUgraph graph = nullptr;
  CHECK_CUDA(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(nodes(graph), 2u);
  // Nothing has run.
  EXPECT_EQ(download(words, 1)[0], 0u);
  CUgraphExec exec = nullptr;
  CHECK_CUDA(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_CUDA(cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i)
    EXPECT_CUDA(cuGraphLaunch(exec, stream));
  EXPECT_EQ(download(words, count), std::vector<uint32_t>(count, 6));
  EXPECT_CUDA(cuGraphExecDestroy(exec));
}

TEST_F(GraphSuite, ForksAndJoins) {
  CUdeviceptr others = allocate(4 * count);
  CUfunction copy = kernel(wordKernels, "copyWords");
  CUfunction spin = kernel(wordKernels, "spin");
  CUstream other = newStream();
  CUevent fork = newEvent(), join = newEvent();
  begin();
  launch(spin, 1, count, {&words, &number});
  EXPECT_CUDA(cuEventRecord(fork, stream));
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  launch(copy, 1, count, {&others, &words, &number}, other);
  EXPECT_CUDA(cuEventRecord(join, other));
  EXPECT_CUDA(cuStreamWaitEvent(stream, join, 0));
  addOne();
  CUgraph graph = nullptr;
  CHECK_CUDA(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(nodes(graph), 3u);
  CUgraphExec exec = nullptr;
  CHECK_CUDA(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_CUDA(cuGraphLaunch(exec, stream));
  EXPECT_CUDA(cuGraphLaunch(exec, stream));
  EXPECT_EQ(download(words, count), std::vector<uint32_t>(count, 8));
  EXPECT_EQ(download(others, count), std::vector<uint32_t>(count, 7));
}

TEST_F(GraphSuite, CapturesCopiesAndHostFunctions) {
  pinned[0] = 41;
  uint32_t *result = pinned + 100;
  static int calls = 0;
  begin();
  EXPECT_CUDA(cuMemcpyHtoDAsync(words, pinned, 4, stream));
  addOne();
  EXPECT_CUDA(cuMemcpyDtoHAsync(result, words, 4, stream));
  EXPECT_CUDA(cuLaunchHostFunc(stream, [](void *) { ++calls; }, nullptr));
  CUgraph graph = nullptr;
  CHECK_CUDA(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(nodes(graph), 4u);
  CUgraphExec exec = nullptr;
  CHECK_CUDA(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_CUDA(cuGraphLaunch(exec, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(*result, 42u);
  pinned[0] = 1; // is read when the graph runs
  EXPECT_CUDA(cuGraphLaunch(exec, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(*result, 2u);
  EXPECT_EQ(calls, 2);
}

TEST_F(GraphSuite, AllocationBreaksCapture) {
  begin();
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda.cuMemAlloc(&address, 4),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
}

TEST_F(GraphSuite, SynchronisationBreaksCapture) {
  begin();
  EXPECT_EQ(cuda.cuStreamSynchronize(stream),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
}

TEST_F(GraphSuite, OthersBreakGlobalCaptureOnly) {
  auto allocateElsewhere = [&] {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      cuda.cuCtxSetCurrent(context);
      CUdeviceptr address = 0;
      result = cuda.cuMemAlloc(&address, 4);
    }).join();
    return result;
  };
  CUgraph graph = nullptr;
  begin();
  EXPECT_EQ(allocateElsewhere(), CUDA_SUCCESS);
  EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(allocateElsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
}

TEST_F(GraphSuite, UnjoinedForksAreRefused) {
  CUstream other = newStream();
  CUevent fork = newEvent();
  begin();
  addOne();
  EXPECT_CUDA(cuEventRecord(fork, stream));
  EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
  addOne(other);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph),
            CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(GraphSuite, AForkCannotEndACapture) {
  CUstream other = newStream();
  CUevent fork = newEvent();
  begin();
  EXPECT_CUDA(cuEventRecord(fork, stream));
  EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
  addOne(other);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuda.cuStreamEndCapture(other, &graph),
            CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  expectInvalid();
}

TEST_F(GraphSuite, WhatIsNotCapturedCannotBeAwaited) {
  CUevent before = newEvent();
  EXPECT_CUDA(cuEventRecord(before, stream));
  begin();
  EXPECT_EQ(cuda.cuStreamWaitEvent(stream, before, 0),
            CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  expectInvalid();
}

TEST_F(GraphSuite, EndsInItsThread) {
  begin();
  CUgraph graph = nullptr;
  std::thread([&] {
    cuda.cuCtxSetCurrent(context);
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph),
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
}

} // namespace
} // namespace shardc::test::cuda
