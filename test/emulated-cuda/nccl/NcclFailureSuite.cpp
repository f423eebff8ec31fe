// Ranks in threads when something goes wrong: aborts, faults that are asked for,
// and misuse, which is a finding.
#include "test/emulated-cuda/nccl/NcclFixture.h"
#include "test/emulated-cuda/nccl/NcclParts.h"

#include <barrier>
#include <cstdlib>
#include <thread>

namespace shardc::test::cuda {
namespace {

using NcclFailureSuite = NcclFixture;

/// Sums ten floats of the rank's device.
ncclResult_t sum(TestedRank &rank, ncclComm_t comm, size_t count = 10) {
  CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
  return opened().ncclAllReduce(pointer(data), pointer(data), count,
                                ncclFloat32, ncclSum, comm, rank.device.stream);
}

TEST_F(NcclFailureSuite, AnAbortEndsWhatWaits) {
  if (opened().devices < 2)
    GTEST_SKIP() << "needs 2 devices";
  ncclUniqueId id = newId();
  std::barrier<> aborted(2);
  inThreads(2, [&](TestedRank &rank) {
    const OpenedLibraries &cuda = opened();
    ncclComm_t comm = rank.join(id);
    if (rank.rank == 0) {
      SHARDC_CHECK(sum(rank, comm));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(cuda.cuStreamQuery(rank.device.stream), CUDA_ERROR_NOT_READY);
      SHARDC_CHECK(cuda.ncclCommAbort(comm));
      rank.device.settle();
      aborted.arrive_and_wait();
    } else {
      aborted.arrive_and_wait();
      SHARDC_CHECK(cuda.ncclCommAbort(comm));
    }
  });
}

class EmulatedNcclFailures : public EmulatedNccl {
protected:
  void TearDown() override {
    unsetenv("SHARDC_EMULATED_NCCL_BREAK");
    unsetenv("SHARDC_EMULATED_NCCL_FAIL");
    unsetenv("SHARDC_EMULATED_NCCL_PATIENCE");
  }

  /// The ranks' findings end a process that plays them in threads.
  static void expectFinding(const std::function<void(TestedRank &)> &body,
                            const char *text, int ranks = 2) {
    EXPECT_EXIT(inThreads(ranks, body), testing::ExitedWithCode(codeOfFindings),
                text);
  }
};

TEST_F(EmulatedNcclFailures, ParcelsThatNobodyTakesAreAFinding) {
  ncclUniqueId id = newId();
  auto sends = [&](size_t taken, bool inGroup) {
    return [=](TestedRank &rank) {
      const OpenedLibraries &cuda = opened();
      ncclComm_t comm = rank.join(id);
      CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
      int peer = 1 - rank.rank;
      if (inGroup)
        SHARDC_CHECK(cuda.ncclGroupStart());
      SHARDC_CHECK(cuda.ncclSend(pointer(data), 8, ncclFloat32, peer, comm,
                                 rank.device.stream));
      SHARDC_CHECK(cuda.ncclRecv(pointer(data + 32), taken, ncclFloat32, peer,
                                 comm, rank.device.stream));
      if (inGroup)
        SHARDC_CHECK(cuda.ncclGroupEnd());
      rank.device.settle();
    };
  };
  expectFinding(sends(7, true), "sends it 32 bytes, and it takes 28");
  expectFinding(sends(8, false), "ncclSend is called outside of a group");
}

TEST_F(EmulatedNcclFailures, AnAbortIsTheOthersError) {
  ncclUniqueId id = newId();
  inThreads(3, [&](TestedRank &rank) {
    const OpenedLibraries &cuda = opened();
    ncclComm_t comm = rank.join(id);
    SHARDC_CHECK(sum(rank, comm));
    rank.device.settle();
    if (rank.rank == 2) {
      SHARDC_CHECK(cuda.ncclCommAbort(comm));
      return;
    }
    ncclResult_t result = sum(rank, comm);
    EXPECT_TRUE(result == ncclSuccess || result == ncclRemoteError);
    rank.device.settle();
    EXPECT_EQ(awaitAsyncError(comm, 10), ncclRemoteError);
    EXPECT_NE(std::string(cuda.ncclGetLastError(comm)).find("has aborted"),
              std::string::npos)
        << cuda.ncclGetLastError(comm);
    EXPECT_EQ(sum(rank, comm), ncclRemoteError);
    SHARDC_CHECK(cuda.ncclCommAbort(comm));
  });
}

TEST_F(EmulatedNcclFailures, ALostRankIsAnErrorInsideAGraph) {
  ncclUniqueId id = newId();
  inThreads(2, [&](TestedRank &rank) {
    const OpenedLibraries &cuda = opened();
    CUstream stream = rank.device.stream;
    ncclComm_t comm = rank.join(id);
    CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
    CUgraph graph;
    CUgraphExec executable;
    SHARDC_CHECK(
        cuda.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    SHARDC_CHECK(cuda.ncclAllReduce(pointer(data), pointer(data), 16,
                                    ncclFloat32, ncclSum, comm, stream));
    SHARDC_CHECK(cuda.cuStreamEndCapture(stream, &graph));
    SHARDC_CHECK(cuda.cuGraphInstantiate(&executable, graph, 0));
    SHARDC_CHECK(cuda.cuGraphLaunch(executable, stream));
    rank.device.settle();
    if (rank.rank == 0) {
      SHARDC_CHECK(cuda.cuGraphLaunch(executable, stream));
      EXPECT_EQ(awaitAsyncError(comm, 10), ncclRemoteError);
    }
    SHARDC_CHECK(cuda.ncclCommAbort(comm));
    rank.device.settle();
    SHARDC_CHECK(cuda.cuGraphExecDestroy(executable));
    SHARDC_CHECK(cuda.cuGraphDestroy(graph));
  });
}

TEST_F(EmulatedNcclFailures, AreAskedForByTheEnvironment) {
  setenv("SHARDC_EMULATED_NCCL_FAIL", "1:3", 1);
  ncclUniqueId id = newId();
  inThreads(2, [&](TestedRank &rank) {
    ncclComm_t comm = rank.join(id);
    SHARDC_CHECK(sum(rank, comm));
    SHARDC_CHECK(sum(rank, comm));
    // Rank 1 may have aborted before the other one calls.
    ncclResult_t third = sum(rank, comm);
    if (rank.rank == 1)
      EXPECT_EQ(third, ncclSystemError);
    else
      EXPECT_TRUE(third == ncclSuccess || third == ncclRemoteError) << third;
    SHARDC_CHECK(opened().ncclCommAbort(comm));
    rank.device.settle();
  });
}

TEST_F(EmulatedNcclFailures, ACollectiveBreaksAsItRuns) {
  setenv("SHARDC_EMULATED_NCCL_BREAK", "1:2", 1);
  ncclUniqueId id = newId();
  inThreads(2, [&](TestedRank &rank) {
    ncclComm_t comm = rank.join(id);
    SHARDC_CHECK(sum(rank, comm));
    ncclResult_t second = sum(rank, comm);
    // The other rank waits until this one aborts, if it has not yet.
    if (rank.rank == 1)
      EXPECT_EQ(second, ncclSuccess);
    ncclResult_t error = awaitAsyncError(comm, 10);
    EXPECT_EQ(error, rank.rank == 1 ? ncclInternalError : ncclRemoteError);
    SHARDC_CHECK(opened().ncclCommAbort(comm));
    rank.device.settle();
  });
}

TEST_F(EmulatedNcclFailures, PatienceEnds) {
  setenv("SHARDC_EMULATED_NCCL_PATIENCE", "1", 1);
  ncclUniqueId id = newId();
  std::barrier<> over(2);
  inThreads(2, [&](TestedRank &rank) {
    const OpenedLibraries &cuda = opened();
    ncclComm_t comm = rank.join(id);
    if (rank.rank == 0) {
      SHARDC_CHECK(sum(rank, comm));
      rank.device.settle();
      EXPECT_EQ(awaitAsyncError(comm, 0.1), ncclRemoteError);
      EXPECT_NE(std::string(cuda.ncclGetLastError(comm)).find("waited 1 s"),
                std::string::npos);
    }
    over.arrive_and_wait();
    SHARDC_CHECK(cuda.ncclCommAbort(comm));
  });
}

TEST_F(EmulatedNcclFailures, TwoRanksOfOneDevice) {
  ncclUniqueId id = newId();
  inThreads(2, [&](TestedRank &rank) {
    Device same(0);
    ncclConfig_t config;
    ncclComm_t comm;
    EXPECT_EQ(opened().ncclCommInitRankConfig(&comm, 2, id, rank.rank, &config),
              ncclInvalidUsage);
    SHARDC_CHECK(opened().cuCtxSetCurrent(nullptr));
  });
}

TEST_F(EmulatedNcclFailures, CallsThatDiffer) {
  ncclUniqueId id = newId();
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        sum(rank, comm, rank.rank ? 10 : 12);
        rank.device.settle();
      },
      "differ in their call 1: rank . of 2 calls ncclAllReduce of 1. float32, "
      "rank . calls ncclAllReduce of 1. float32");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        CUdeviceptr data = rank.device.put(std::vector<float>(64, 1));
        sum(rank, comm);
        opened().ncclAllReduce(pointer(data), pointer(data), 8,
                               rank.rank ? ncclFloat32 : ncclInt32, ncclSum,
                               comm, rank.device.stream);
        rank.device.settle();
      },
      "differ in their call 2: .* of 8 int32");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        CUdeviceptr data = rank.device.put(std::vector<float>(64, 1));
        if (rank.rank)
          opened().ncclAllGather(pointer(data + 32), pointer(data), 8,
                                 ncclFloat32, comm, rank.device.stream);
        else
          opened().ncclReduceScatter(pointer(data), pointer(data), 8,
                                     ncclFloat32, ncclSum, comm,
                                     rank.device.stream);
        rank.device.settle();
      },
      "ncclReduceScatter of 8 float32");
}

TEST_F(EmulatedNcclFailures, CallsInAnotherOrderOnTwoCommunicators) {
  ncclUniqueId ids[] = {newId(), newId()};
  expectFinding(
      [&](TestedRank &rank) {
        const OpenedLibraries &cuda = opened();
        ncclComm_t comms[] = {rank.join(ids[0]), rank.join(ids[1])};
        CUstream streams[] = {rank.device.stream, nullptr};
        SHARDC_CHECK(cuda.cuStreamCreateWithPriority(
            &streams[1], CU_STREAM_NON_BLOCKING, 0));
        CUdeviceptr data[2];
        for (CUdeviceptr &one : data)
          one = rank.device.put(std::vector<float>(16, 1));
        for (int which : {rank.rank, 1 - rank.rank})
          SHARDC_CHECK(cuda.ncclAllReduce(
              pointer(data[which]), pointer(data[which]), 16, ncclFloat32,
              ncclSum, comms[which], streams[which]));
        for (CUstream stream : streams)
          SHARDC_CHECK(cuda.cuStreamSynchronize(stream));
      },
      "has issued more, or less, on another communicator");
}

TEST_F(EmulatedNcclFailures, WindowsThatAreNotSymmetric) {
  ncclUniqueId id = newId();
  auto registers = [&](int rankThatDiffers, size_t offset) {
    return [&id, rankThatDiffers, offset](TestedRank &rank) {
      ncclComm_t comm = rank.join(id);
      void *memory;
      ncclWindow_t window;
      SHARDC_CHECK(opened().ncclMemAlloc(&memory, 64 << 10));
      auto begin = reinterpret_cast<CUdeviceptr>(memory);
      if (rankThatDiffers < 0 || rank.rank == rankThatDiffers)
        begin += offset;
      opened().ncclCommWindowRegister(comm, pointer(begin), 8192, &window,
                                      NCCL_WIN_COLL_SYMMETRIC);
    };
  };
  expectFinding(registers(1, 4096), "at offset 4096");
  expectFinding(registers(-1, 256), "no multiple of 4096");
  expectFinding(registers(-1, 60 << 10), "not all in one allocation");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        ncclWindow_t window;
        opened().ncclCommWindowRegister(comm,
                                        pointer(rank.device.allocate(8192)),
                                        4096, &window, NCCL_WIN_COLL_SYMMETRIC);
      },
      "not all in one allocation of ncclMemAlloc");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        void *memory;
        ncclWindow_t window;
        SHARDC_CHECK(opened().ncclMemAlloc(&memory, 4096));
        SHARDC_CHECK(opened().ncclCommWindowRegister(
            comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
        opened().ncclMemFree(memory);
      },
      "memory that a window is registered on");
}

TEST_F(EmulatedNcclFailures, GathersWithWindowsThatAreNotInThem) {
  ncclUniqueId id = newId();
  auto gathers = [&](size_t sent, size_t received, int rankThatDiffers) {
    return [=, &id](TestedRank &rank) {
      ncclComm_t comm = rank.join(id, "gathers", NCCL_CTA_POLICY_ZERO);
      void *memory;
      ncclWindow_t window;
      SHARDC_CHECK(opened().ncclMemAlloc(&memory, 64 << 10));
      auto begin = reinterpret_cast<CUdeviceptr>(memory);
      SHARDC_CHECK(
          opened().cuMemsetD8Async(begin, 0, 64 << 10, rank.device.stream));
      SHARDC_CHECK(opened().ncclCommWindowRegister(
          comm, memory, 32 << 10, &window, NCCL_WIN_COLL_SYMMETRIC));
      size_t further = rank.rank == rankThatDiffers ? 16 : 0;
      opened().ncclAllGather(pointer(begin + sent),
                             pointer(begin + received + further), 256, ncclInt8,
                             comm, rank.device.stream);
      rank.device.settle();
    };
  };
  expectFinding(gathers(48 << 10, 0, -1), "what it sends lies in no window");
  expectFinding(gathers(0, 48 << 10, -1), "what it receives lies in no window");
  expectFinding(gathers(0, 4096, 1), "at byte 41.. of memory");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        void *memory;
        ncclWindow_t window;
        SHARDC_CHECK(opened().ncclMemAlloc(&memory, 4096));
        SHARDC_CHECK(opened().ncclCommWindowRegister(
            comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
        opened().ncclCommDestroy(comm);
      },
      "is destroyed, and has windows");
}

TEST_F(EmulatedNcclFailures, BuffersThatAreNotTheCalls) {
  ncclUniqueId id = newId();
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
        opened().ncclAllGather(pointer(data), pointer(data), 12, ncclFloat32,
                               comm, rank.device.stream);
      },
      "receives are not all in one allocation");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
        opened().ncclAllReduce(pointer(data), pointer(data + 4), 12,
                               ncclFloat32, ncclSum, comm, rank.device.stream);
      },
      "overlap in a way that is not in place");
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
        opened().ncclAllReduce(pointer(data + 2), pointer(data + 2), 12,
                               ncclFloat32, ncclSum, comm, rank.device.stream);
      },
      "is not aligned");
}

TEST_F(EmulatedNcclFailures, BuffersThatAnotherStreamStillWrites) {
  ncclUniqueId id = newId();
  expectFinding(
      [&](TestedRank &rank) {
        const OpenedLibraries &cuda = opened();
        ncclComm_t comm = rank.join(id);
        CUstream other;
        SHARDC_CHECK(
            cuda.cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
        CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
        SHARDC_CHECK(
            cuda.cuMemsetD8Async(data + 32, 0, 16, rank.device.stream));
        SHARDC_CHECK(cuda.ncclAllReduce(pointer(data), pointer(data), 16,
                                        ncclFloat32, ncclSum, comm, other));
        SHARDC_CHECK(cuda.cuStreamSynchronize(other));
      },
      "ncclAllReduce of 16 float32");
}

TEST_F(EmulatedNcclFailures, CommunicatorsThatAreGone) {
  ncclUniqueId id = newId();
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        SHARDC_CHECK(opened().ncclCommDestroy(comm));
        sum(rank, comm);
      },
      "communicator that was destroyed", 1);
  expectFinding(
      [&](TestedRank &rank) {
        ncclComm_t comm = rank.join(id);
        CUdeviceptr data = rank.device.put(std::vector<float>(16, 1));
        Device other(1);
        opened().ncclAllReduce(pointer(data), pointer(data), 16, ncclFloat32,
                               ncclSum, comm, other.stream);
      },
      "is called with device 1", 1);
  expectFinding([&](TestedRank &rank) { rank.join(id, 2, 0); },
                "is taken twice");
}

} // namespace
} // namespace shardc::test::cuda
