// What the emulated driver finds, where a real one goes on with anything.
#include "DriverSuite.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace shardc::test::cuda {
namespace {

class Findings : public DriverSuite {
protected:
  void SetUp() override {
    DriverSuite::SetUp();
    if (driver() && !isEmulated())
      GTEST_SKIP() << "a real driver finds nothing";
    if (!driver() || HasFatalFailure())
      return;
    a = allocate(4 * count);
    b = allocate(4 * count);
    copies = kernel(wordKernels, "copyWords");
    adds = kernel(wordKernels, "add1");
  }
  void copy(CUstream in = nullptr) {
    launch(copies, 1, count, {&b, &a, &number}, in);
  }
  void add(CUdeviceptr words, CUstream in = nullptr) {
    launch(adds, 1, count, {&words, &number}, in);
  }
  void fill(CUdeviceptr words, CUstream in = nullptr) {
    EXPECT_CUDA(cuMemsetD8Async(words, 1, 4 * count, in ? in : stream));
  }
  void synchronize(CUstream in = nullptr) {
    EXPECT_CUDA(cuStreamSynchronize(in ? in : stream));
  }

  static constexpr unsigned count = 64;
  uint32_t number = count;
  CUdeviceptr a = 0, b = 0;
  CUfunction copies = nullptr, adds = nullptr;
};

#define EXPECT_FINDING(statement, text)                                        \
  EXPECT_EXIT(                                                                 \
      {                                                                        \
        statement;                                                             \
        std::_Exit(0);                                                         \
      },                                                                       \
      ::testing::ExitedWithCode(86), text)

TEST_F(Findings, UnorderedReadAfterWrite) {
  EXPECT_FINDING(
      {
        fill(a);
        synchronize();
        CUstream other = newStream();
        add(a);
        copy(other);
        synchronize();
        synchronize(other);
      },
      "race: '(copyWords|add1)' in stream . of device 0 (reads|writes) 256 "
      "bytes "
      "that '(add1|copyWords)' in stream . of device 0 (reads|writes), and "
      "nothing orders them: allocation 1 of device 0 \\(256 bytes\\) at 0");
}

TEST_F(Findings, UnorderedWrites) {
  EXPECT_FINDING(
      {
        CUstream other = newStream();
        fill(a);
        fill(a, other);
        synchronize();
        synchronize(other);
      },
      "race: 'cuMemsetD8Async of 256 bytes .*' in stream . of device 0 writes");
}

TEST_F(Findings, OneOfManyReadersIsNotAwaited) {
  auto run = [&] {
    fill(a);
    synchronize();
    CUstream late = nullptr;
    for (int i = 0; i < 3; ++i) {
      CUstream reader = newStream();
      CUevent end = newEvent();
      EXPECT_CUDA(cuMemcpyDtoHAsync(pinned + i * count, a, 4 * count, reader));
      EXPECT_CUDA(cuEventRecord(end, reader));
      if (i != 1)
        EXPECT_CUDA(cuStreamWaitEvent(stream, end, 0));
      else
        late = reader;
    }
    fill(a);
    synchronize();
    synchronize(late); // the process would be gone before it has read
  };
  EXPECT_FINDING(run(),
                 "race: 'cuMem.*' in stream . of device 0 (reads|writes)");
}

TEST_F(Findings, OrderIsNoRace) {
  fill(a);
  CUstream other = newStream();
  CUevent filled = newEvent(), copied = newEvent();
  EXPECT_CUDA(cuEventRecord(filled, stream));
  EXPECT_CUDA(cuStreamWaitEvent(other, filled, 0));
  copy(other);
  EXPECT_CUDA(cuEventRecord(copied, other));
  // Both read at the same time.
  EXPECT_CUDA(cuMemcpyDtoHAsync(pinned, a, 4 * count, stream));
  EXPECT_CUDA(cuStreamWaitEvent(stream, copied, 0));
  add(a);
  synchronize();
  fill(a, other); // the host has waited
  synchronize(other);
}

TEST_F(Findings, MissingEdgeInAGraph) {
  EXPECT_FINDING(
      {
        fill(a);
        synchronize();
        CUstream other = newStream();
        CUevent fork = newEvent();
        CUevent join = newEvent();
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        EXPECT_CUDA(
            cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        EXPECT_CUDA(cuEventRecord(fork, stream)); // too early
        add(a);
        EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
        copy(other);
        EXPECT_CUDA(cuEventRecord(join, other));
        EXPECT_CUDA(cuStreamWaitEvent(stream, join, 0));
        EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
        EXPECT_CUDA(cuGraphInstantiate(&exec, graph, 0));
        EXPECT_CUDA(cuGraphLaunch(exec, stream));
        synchronize();
      },
      "race: '(copyWords|add1)'");
}

TEST_F(Findings, UnwrittenBytes) {
  EXPECT_FINDING(
      {
        copy();
        synchronize();
      },
      "'copyWords' in stream 0 of device 0 reads what nobody has written: "
      "allocation 1 of device 0 \\(256 bytes\\) at 0 .copyWords: "
      "ld.global.b32");
  EXPECT_FINDING(
      {
        EXPECT_CUDA(cuMemsetD8Async(a, 0, 255, stream));
        EXPECT_CUDA(cuMemcpyDtoHAsync(pinned, a, 256, stream));
        synchronize();
      },
      "reads what nobody has written: allocation 1 .* at 252");
}

TEST_F(Findings, OutOfBounds) {
  EXPECT_FINDING(
      {
        fill(a);
        number = count + 1;
        launch(adds, 1, number, {&a, &number});
        synchronize();
      },
      "'add1' .* touches what is not allocated: allocation 1 of device 0 .256 "
      "bytes. at 0 behind its end");
}

TEST_F(Findings, UseAfterFree) {
  EXPECT_FINDING(
      {
        fill(a);
        EXPECT_CUDA(cuMemFree(a));
        add(a);
        synchronize();
      },
      "'add1' .* touches what is not allocated: allocation 1 of device 0 .256 "
      "bytes, freed.");
}

TEST_F(Findings, Misalignment) {
  EXPECT_FINDING(
      {
        fill(a);
        CUdeviceptr inside = a + 2;
        number = 1;
        launch(adds, 1, 1, {&inside, &number});
        synchronize();
      },
      "misaligned access: add1: ld.global.b32 .*'add1' in stream 0");
}

TEST_F(Findings, HostAddressesInKernels) {
  EXPECT_FINDING(
      {
        static uint32_t words[count];
        auto address = reinterpret_cast<CUdeviceptr>(&words);
        add(address);
        synchronize();
      },
      "'add1' .* reads what is not its device's memory");
}

TEST_F(Findings, TheHostTouchesDeviceMemory) {
  EXPECT_FINDING(
      { *reinterpret_cast<volatile uint32_t *>(a) = 1; },
      "the host touches a device's memory: allocation 1 of device 0 .256 "
      "bytes. at 0; copy it");
}

TEST_F(Findings, PageableCopies) {
  EXPECT_FINDING(
      {
        uint32_t words[count] = {};
        cuda.cuMemcpyHtoDAsync(a, words, sizeof words, stream);
      },
      "cuMemcpyHtoDAsync of 256 bytes of the host that are not pinned");
}

TEST_F(Findings, PinnedMemoryOfCopies) {
  fill(a);
  EXPECT_FINDING(
      {
        EXPECT_CUDA(cuMemcpyDtoHAsync(pinned, a, 4 * count, stream));
        *static_cast<volatile uint32_t *>(pinned + 3);
      },
      "the host touches pinned memory of 'cuMemcpyDtoHAsync of 256 bytes at "
      "allocation 1 .*', and has not waited for it");
  EXPECT_FINDING(
      {
        EXPECT_CUDA(cuMemcpyHtoDAsync(a, pinned, 4 * count, stream));
        pinned[count] = 1; // lies beside
        pinned[count - 1] = 1;
      },
      "the host touches pinned memory of 'cuMemcpyHtoDAsync of 256 bytes");
}

TEST_F(Findings, PinnedMemoryThatIsTheHosts) {
  pinned[5] = 77;
  EXPECT_CUDA(cuMemcpyHtoDAsync(a, pinned, 4 * count, stream));
  EXPECT_EQ(pinned[5], 77u); // may be read
  pinned[count] = 1;         // lies beside
  pinned[count] = 2;
  CUevent end = newEvent();
  EXPECT_CUDA(cuEventRecord(end, stream));
  EXPECT_CUDA(cuEventSynchronize(end));
  pinned[5] = 78;
  EXPECT_CUDA(cuMemcpyDtoHAsync(pinned, a, 4 * count, stream));
  while (cuda.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
  }
  EXPECT_EQ(pinned[5], 77u);
}

TEST_F(Findings, AllocationsBehindGraphs) {
  EXPECT_FINDING(
      {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        EXPECT_CUDA(
            cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        fill(a);
        EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
        EXPECT_CUDA(cuGraphInstantiate(&exec, graph, 0));
        EXPECT_CUDA(cuGraphLaunch(exec, stream));
        allocate(512);
      },
      "cuMemAlloc of 512 bytes after a graph was launched");
}

TEST_F(Findings, MutantsThatAreNone) {
  auto with = [&](const char *mutant) {
    setenv("SHARDC_EMULATED_MUTANT", mutant, 1);
    // Whatever part of the tests this process runs.
    unsetenv("GTEST_TOTAL_SHARDS"), unsetenv("GTEST_SHARD_INDEX");
    const char *words[] = {"cuda-driver-tests", "--gtest_filter=*OrderIsNoRace",
                           "--gtest_brief=1", nullptr};
    execv("/proc/self/exe", const_cast<char **>(words));
  };
  EXPECT_FINDING(with("break|cuLaunchKernel|1|0"), "give KIND.CALL.N.DEVICE");
  EXPECT_FINDING(with("drop|cuLaunchKernel|0|0"), "counts no calls");
}

TEST_F(Findings, TheLegacyDefaultStream) {
  EXPECT_FINDING(
      { cuda.cuMemsetD8Async(a, 0, 4, nullptr); }, "legacy default stream");
}

TEST_F(Findings, ThreadsThatDoNotMeet) {
  const char *body = ".visible .entry k()\n{\n.reg .pred %p<2>;\n.reg .b32 "
                     "%r<2>;\nmov.u32 %r0, %tid.x;\nsetp.eq.b32 %p0, %r0, 3;\n"
                     "@%p0 bra $end;\nbar.sync 0;\n$end:\nret;\n}\n";
  EXPECT_FINDING(
      {
        launch(kernel(body, "k"), 1, 32, {});
        synchronize();
      },
      "thread 3 does not wait where thread 0 does: k: bar.sync 0");
}

} // namespace
} // namespace shardc::test::cuda
