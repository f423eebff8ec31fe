// What the runtime relies on of NCCL, with ranks in threads, against whatever
// libnccl.so.2 the loader finds: on GPUs the real one, else the tests' own.
#include "test/emulated-cuda/nccl/NcclFixture.h"

#include <cmath>
#include <functional>

namespace shardc::test::cuda {
namespace {

using NcclSuite = NcclFixture;

TEST_F(NcclSuite, KnowsItsVersionAndItsErrors) {
  int version = 0;
  EXPECT_EQ(opened().ncclGetVersion(&version), ncclSuccess);
  EXPECT_GE(version, 22800);
  EXPECT_STREQ(opened().ncclGetErrorString(ncclRemoteError),
               "remote process exited or there was a network error");
}

TEST_F(NcclSuite, RefusesARankThatIsNone) {
  Device device;
  ncclUniqueId id = newId();
  ncclConfig_t config;
  ncclComm_t comm;
  for (int rank : {-1, 1})
    EXPECT_EQ(opened().ncclCommInitRankConfig(&comm, 1, id, rank, &config),
              ncclInvalidArgument);
}

TEST_F(NcclSuite, DoesEveryCollectiveInEveryType) {
  for (int ranks : rankCounts()) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      ncclComm_t comm = rank.join(id);
      for (ncclDataType_t type : allTypes)
        for (size_t count : {0, 1, 3, 1000})
          checkCollectives(rank, comm, type, count);
      SHARDC_CHECK(opened().ncclCommDestroy(comm));
    });
  }
}

TEST_F(NcclSuite, DoesLongCollectives) {
  for (int ranks : rankCounts()) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      ncclComm_t comm = rank.join(id);
      checkCollectives(rank, comm, ncclFloat32, 70003);
      checkCollectives(rank, comm, ncclBfloat16, 140001);
      SHARDC_CHECK(opened().ncclCommDestroy(comm));
    });
  }
}

TEST_F(NcclSuite, SumsToTheLastPlacesOfTheType) {
  for (int ranks : rankCounts(2)) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      ncclComm_t comm = rank.join(id);
      for (auto [type, unit] : {std::pair{ncclFloat64, 0x1p-53},
                                {ncclFloat32, 0x1p-24},
                                {ncclFloat16, 0x1p-11},
                                {ncclBfloat16, 0x1p-8}}) {
        size_t count = 777;
        std::vector<std::vector<double>> all(ranks);
        for (int other = 0; other < ranks; ++other) {
          for (size_t i = 0; i < count; ++i)
            all[other].push_back(std::sin(1.0 + i * 31 + other * 1009));
          all[other] = decode(encode(all[other], type), type);
        }
        CUdeviceptr data = rank.device.put(encode(all[rank.rank], type));
        SHARDC_CHECK(opened().ncclAllReduce(pointer(data), pointer(data), count,
                                            type, ncclSum, comm,
                                            rank.device.stream));
        std::vector<double> got = decode(
            rank.device.get<char>(data, count * elementBytes(type)), type);
        for (size_t i = 0; i < count; ++i) {
          double sum = 0, terms = 0;
          for (const std::vector<double> &theirs : all) {
            sum += theirs[i];
            terms += std::abs(theirs[i]);
          }
          if (std::abs(got[i] - sum) > ranks * terms * unit)
            throw std::runtime_error("a sum of type " + std::to_string(type) +
                                     " is " + std::to_string(got[i]) +
                                     ", expected " + std::to_string(sum));
        }
      }
      SHARDC_CHECK(opened().ncclCommDestroy(comm));
    });
  }
}

// Rank r sends rank p two parcels of r + p and of `more` numbers, also to itself
// and also of none.
TEST_F(NcclSuite, SendsParcelsOfAGroupInTheirOrder) {
  for (int ranks : rankCounts())
    for (size_t more : {0, 3, 150001}) {
      ncclUniqueId id = newId();
      inThreads(ranks, [&](TestedRank &rank) {
        const OpenedLibraries &cuda = opened();
        ncclComm_t comm = rank.join(id);
        auto valueOf = [](int from, int to, size_t i) {
          return float(100 * from + 10 * to) + float(i % 7);
        };
        std::vector<std::function<void()>> checks;
        SHARDC_CHECK(cuda.ncclGroupStart());
        for (int peer = 0; peer < ranks; ++peer) {
          size_t first = rank.rank + peer, count = first + more;
          std::vector<float> own;
          for (size_t i = 0; i < count; ++i)
            own.push_back(valueOf(rank.rank, peer, i));
          own.push_back(-1);
          CUdeviceptr from = rank.device.put(own);
          CUdeviceptr to = rank.device.allocate(count * 4 + 4);
          for (auto [at, part] : {std::pair{size_t(0), first}, {first, more}}) {
            SHARDC_CHECK(cuda.ncclSend(pointer(from + at * 4), part,
                                       ncclFloat32, peer, comm,
                                       rank.device.stream));
            SHARDC_CHECK(cuda.ncclRecv(pointer(to + at * 4), part, ncclFloat32,
                                       peer, comm, rank.device.stream));
          }
          checks.push_back([&rank, valueOf, peer, to, count] {
            std::vector<float> got = rank.device.get<float>(to, count);
            for (size_t i = 0; i < count; ++i)
              if (got[i] != valueOf(peer, rank.rank, i))
                throw std::runtime_error("number " + std::to_string(i) +
                                         " from rank " + std::to_string(peer) +
                                         " is " + std::to_string(got[i]));
          });
        }
        SHARDC_CHECK(cuda.ncclGroupEnd());
        for (auto &check : checks)
          check();
        SHARDC_CHECK(cuda.ncclCommDestroy(comm));
      });
    }
}

TEST_F(NcclSuite, MakesTheCallsOfAGroupAtItsEnd) {
  for (int ranks : rankCounts()) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      const OpenedLibraries &cuda = opened();
      ncclComm_t comm = rank.join(id);
      std::vector<float> ones(64, 1), more(64 * ranks, 2);
      CUdeviceptr one = rank.device.put(ones), two = rank.device.put(more);
      CUdeviceptr sum = rank.device.allocate(64 * 4);
      SHARDC_CHECK(cuda.ncclGroupStart());
      SHARDC_CHECK(cuda.ncclAllReduce(pointer(one), pointer(one), 64,
                                      ncclFloat32, ncclSum, comm,
                                      rank.device.stream));
      SHARDC_CHECK(cuda.ncclGroupStart());
      SHARDC_CHECK(cuda.ncclReduceScatter(pointer(two), pointer(sum), 64,
                                          ncclFloat32, ncclSum, comm,
                                          rank.device.stream));
      SHARDC_CHECK(cuda.ncclGroupEnd());
      SHARDC_CHECK(cuda.ncclGroupEnd());
      if (rank.device.get<float>(one, 64) != std::vector<float>(64, ranks) ||
          rank.device.get<float>(sum, 64) != std::vector<float>(64, 2 * ranks))
        throw std::runtime_error("a group's collectives are wrong");
      SHARDC_CHECK(cuda.ncclCommDestroy(comm));
    });
  }
}

TEST_F(NcclSuite, HasSeveralCommunicatorsAtOnce) {
  if (opened().devices < 4)
    GTEST_SKIP() << "needs 4 devices";
  // A mesh of 2 x 2: rank r is in row r / 2 and in column r % 2.
  ncclUniqueId rows[] = {newId(), newId()}, columns[] = {newId(), newId()};
  inThreads(4, [&](TestedRank &rank) {
    const OpenedLibraries &cuda = opened();
    int row = rank.rank / 2, column = rank.rank % 2;
    ncclComm_t inRow = rank.join(rows[row], 2, column);
    ncclComm_t inColumn = rank.join(columns[column], 2, row);
    CUstream other;
    SHARDC_CHECK(
        cuda.cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
    std::vector<int32_t> mine(100, 1 << rank.rank);
    CUdeviceptr a = rank.device.put(mine), b = rank.device.put(mine);
    for (int i = 0; i < 3; ++i) {
      SHARDC_CHECK(cuda.ncclAllReduce(pointer(a), pointer(a), 100, ncclInt32,
                                      ncclMax, inRow, rank.device.stream));
      SHARDC_CHECK(cuda.ncclAllReduce(pointer(b), pointer(b), 100, ncclInt32,
                                      ncclMax, inColumn, other));
    }
    SHARDC_CHECK(cuda.cuStreamSynchronize(other));
    if (rank.device.get<int32_t>(a, 100) !=
            std::vector<int32_t>(100, 1 << (row * 2 + 1)) ||
        rank.device.get<int32_t>(b, 100) !=
            std::vector<int32_t>(100, 1 << (2 + column)))
      throw std::runtime_error("a row or a column has another one's values");
    SHARDC_CHECK(cuda.cuStreamDestroy(other));
    SHARDC_CHECK(cuda.ncclCommDestroy(inRow));
    SHARDC_CHECK(cuda.ncclCommDestroy(inColumn));
  });
}

TEST_F(NcclSuite, CanBeCaptured) {
  for (int ranks : rankCounts()) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      const OpenedLibraries &cuda = opened();
      CUstream stream = rank.device.stream;
      ncclComm_t comm = rank.join(id);
      CUdeviceptr data = rank.device.put(std::vector<double>(50, 1));
      CUgraph graph;
      CUgraphExec executable;
      SHARDC_CHECK(cuda.cuStreamBeginCapture(
          stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
      SHARDC_CHECK(cuda.ncclAllReduce(pointer(data), pointer(data), 50,
                                      ncclFloat64, ncclSum, comm, stream));
      SHARDC_CHECK(cuda.cuStreamEndCapture(stream, &graph));
      SHARDC_CHECK(cuda.cuGraphInstantiate(&executable, graph, 0));
      for (int i = 0; i < 3; ++i)
        SHARDC_CHECK(cuda.cuGraphLaunch(executable, stream));
      if (rank.device.get<double>(data, 50) !=
          std::vector<double>(50, ranks * ranks * ranks))
        throw std::runtime_error("a graph's sums are wrong");
      SHARDC_CHECK(cuda.cuGraphExecDestroy(executable));
      SHARDC_CHECK(cuda.cuGraphDestroy(graph));
      SHARDC_CHECK(cuda.ncclCommDestroy(comm));
    });
  }
}

TEST_F(NcclSuite, GathersInWindows) {
  for (int ranks : rankCounts()) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      const OpenedLibraries &cuda = opened();
      ncclComm_t comm = rank.join(id, "gathers", NCCL_CTA_POLICY_ZERO);
      void *memory;
      SHARDC_CHECK(cuda.ncclMemAlloc(&memory, 64 << 10));
      auto base = reinterpret_cast<CUdeviceptr>(memory);
      EXPECT_EQ(base % 4096, 0u);
      ncclWindow_t window;
      SHARDC_CHECK(cuda.ncclCommWindowRegister(comm, pointer(base + 4096),
                                               32 << 10, &window,
                                               NCCL_WIN_COLL_SYMMETRIC));
      std::vector<int32_t> mine(500, rank.rank), all;
      for (int other = 0; other < ranks; ++other)
        all.insert(all.end(), 500, other);
      CUdeviceptr begin = base + 4096;
      rank.device.upload(begin, mine.data(), 2000);
      SHARDC_CHECK(cuda.ncclAllGather(pointer(begin), pointer(begin + 8192),
                                      500, ncclInt32, comm,
                                      rank.device.stream));
      if (rank.device.get<int32_t>(begin + 8192, 500 * ranks) != all)
        throw std::runtime_error("a gather in a window is wrong");
      SHARDC_CHECK(cuda.ncclCommWindowDeregister(comm, window));
      SHARDC_CHECK(cuda.ncclMemFree(memory));
      SHARDC_CHECK(cuda.ncclCommDestroy(comm));
    });
  }
}

TEST_F(NcclSuite, RepeatsItsBits) {
  for (int ranks : rankCounts(2)) {
    ncclUniqueId id = newId();
    inThreads(ranks, [&](TestedRank &rank) {
      ncclComm_t comm = rank.join(id);
      std::vector<float> values(5000), before;
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(float(i * ranks + rank.rank));
      for (int round = 0; round < 5; ++round) {
        CUdeviceptr data = rank.device.put(values);
        SHARDC_CHECK(opened().ncclAllReduce(pointer(data), pointer(data),
                                            values.size(), ncclFloat32, ncclSum,
                                            comm, rank.device.stream));
        std::vector<float> got = rank.device.get<float>(data, values.size());
        if (round && got != before)
          throw std::runtime_error("a sum has other bits than before");
        before = got;
      }
      SHARDC_CHECK(opened().ncclCommDestroy(comm));
    });
  }
}

using EmulatedNcclSums = EmulatedNccl;

TEST_F(EmulatedNcclSums, GoAroundTheRing) {
  int ranks = 3;
  size_t count = 4;
  ncclUniqueId id = newId();
  // In float32, 2^24 + 1 is 2^24: rank r's sum begins with the next rank.
  std::vector<std::vector<float>> have = {std::vector<float>(12, 0x1p24f),
                                          std::vector<float>(12, 1),
                                          std::vector<float>(12, 1)};
  float expected[] = {0x1p24f + 2, 0x1p24f, 0x1p24f};
  inThreads(ranks, [&](TestedRank &rank) {
    const OpenedLibraries &cuda = opened();
    ncclComm_t comm = rank.join(id);
    CUdeviceptr send = rank.device.put(have[rank.rank]);
    CUdeviceptr receive = rank.device.allocate(12 * 4);
    SHARDC_CHECK(cuda.ncclReduceScatter(pointer(send), pointer(receive), count,
                                        ncclFloat32, ncclSum, comm,
                                        rank.device.stream));
    EXPECT_EQ(rank.device.get<float>(receive, count),
              std::vector<float>(count, expected[rank.rank]));
    SHARDC_CHECK(cuda.ncclAllReduce(pointer(send), pointer(receive), 12,
                                    ncclFloat32, ncclSum, comm,
                                    rank.device.stream));
    std::vector<float> all = rank.device.get<float>(receive, 12);
    for (int part = 0; part < ranks; ++part)
      EXPECT_EQ(all[part * count], expected[part]);
    SHARDC_CHECK(cuda.ncclCommDestroy(comm));
  });
}

TEST_F(EmulatedNcclSums, AreRoundedAtEachHop) {
  ncclUniqueId id = newId();
  // In bfloat16, 256 + 1 is 256, and so is that + 1; at once it would be 258.
  inThreads(3, [&](TestedRank &rank) {
    ncclComm_t comm = rank.join(id);
    CUdeviceptr data = rank.device.put(
        encode(std::vector<double>(3, rank.rank == 1 ? 256 : 1), ncclBfloat16));
    SHARDC_CHECK(opened().ncclAllReduce(pointer(data), pointer(data), 3,
                                        ncclBfloat16, ncclSum, comm,
                                        rank.device.stream));
    std::vector<double> got =
        decode(rank.device.get<char>(data, 6), ncclBfloat16);
    EXPECT_EQ(got, (std::vector<double>{256, 258, 256}));
    SHARDC_CHECK(opened().ncclCommDestroy(comm));
  });
}

} // namespace
} // namespace shardc::test::cuda
