// Ranks that are processes: collectives between them, and what the others see
// when one of them is gone.
#include "test/emulated-cuda/nccl/NcclFixture.h"
#include "test/emulated-cuda/nccl/NcclParts.h"
#include "test/emulated-cuda/nccl/TestedProcesses.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace shardc::test::cuda {
namespace {

void playCollectives(TestedRank &rank, const ncclUniqueId &id) {
  ncclComm_t comm = rank.join(id);
  for (ncclDataType_t type : allTypes)
    checkCollectives(rank, comm, type, 1000);
  checkCollectives(rank, comm, ncclFloat32, 70001);
  SHARDC_CHECK(opened().ncclCommDestroy(comm));
}

bool isRunning(int32_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string status;
  std::getline(file, status);
  size_t name = status.rfind(')');
  return name != std::string::npos && status.substr(name, 3) != ") Z";
}

/// The last rank kills itself; the others learn it while they wait in a
/// collective, or do nothing.
void loseTheLast(TestedRank &rank, const ncclUniqueId &id, bool waits) {
  const OpenedLibraries &cuda = opened();
  ncclComm_t comm = rank.join(id);
  CUdeviceptr ids = rank.device.put(std::vector<int32_t>(rank.ranks));
  CUdeviceptr own = rank.device.put(std::vector<int32_t>{getpid()});
  SHARDC_CHECK(cuda.ncclAllGather(pointer(own), pointer(ids), 1, ncclInt32,
                                  comm, rank.device.stream));
  int32_t last = rank.device.get<int32_t>(ids, rank.ranks).back();
  if (rank.rank == rank.ranks - 1)
    raise(SIGKILL);
  CUdeviceptr data = rank.device.put(std::vector<float>(10, 1));
  if (waits)
    // It may be refused: the other one is gone already.
    cuda.ncclAllReduce(pointer(data), pointer(data), 10, ncclFloat32, ncclSum,
                       comm, rank.device.stream);
  while (isRunning(last))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto begin = std::chrono::steady_clock::now();
  if (awaitAsyncError(comm, 10) != ncclRemoteError)
    throw std::runtime_error("a rank's death is not noticed");
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - begin;
  if (taken.count() > 1)
    throw std::runtime_error("a rank's death is noticed after " +
                             std::to_string(taken.count()) + " s");
  SHARDC_CHECK(cuda.ncclCommAbort(comm));
  rank.device.settle();
}
void loseTheLastInCollective(TestedRank &rank, const ncclUniqueId &id) {
  loseTheLast(rank, id, true);
}
void loseTheLastIdly(TestedRank &rank, const ncclUniqueId &id) {
  loseTheLast(rank, id, false);
}

/// Rank 1 sums one element more than the others.
void disagree(TestedRank &rank, const ncclUniqueId &id) {
  ncclComm_t comm = rank.join(id, "sums");
  CUdeviceptr data = rank.device.put(std::vector<float>(10, 1));
  SHARDC_CHECK(opened().ncclAllReduce(pointer(data), pointer(data),
                                      rank.rank == 1 ? 9 : 8, ncclFloat32,
                                      ncclSum, comm, rank.device.stream));
  rank.device.settle();
}

void joinAlone(TestedRank &rank, const ncclUniqueId &id) {
  if (rank.rank != 0)
    return;
  ncclConfig_t config;
  ncclComm_t comm;
  if (opened().ncclCommInitRankConfig(&comm, rank.ranks, id, 0, &config) !=
      ncclRemoteError)
    throw std::runtime_error("one rank of two has joined a communicator");
}

void joinWithoutMaker(TestedRank &rank, const ncclUniqueId &id) {
  if (rank.rank == 0)
    raise(SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ncclConfig_t config;
  ncclComm_t comm;
  if (opened().ncclCommInitRankConfig(&comm, rank.ranks, id, rank.rank,
                                      &config) != ncclSystemError)
    throw std::runtime_error("joined by an id whose process is gone");
}

using NcclProcessSuite = NcclFixture;
using EmulatedNcclProcesses = EmulatedNccl;

void expectAll(const std::vector<Ended> &all, int code, int codeOfLast) {
  for (size_t rank = 0; rank < all.size(); ++rank)
    EXPECT_EQ(all[rank].code, rank + 1 < all.size() ? code : codeOfLast)
        << "rank " << rank << ": " << all[rank].output;
}

TEST_F(NcclProcessSuite, DoesEveryCollectiveInEveryType) {
  for (int ranks : rankCounts(2))
    if (ranks != 3)
      expectAll(inProcesses(ranks, "collectives"), 0, 0);
}

TEST_F(EmulatedNcclProcesses, NoticeADeathWithinASecond) {
  for (int ranks : {2, 4})
    for (const char *part : {"death-in-collective", "death-idle"})
      expectAll(inProcesses(ranks, part), 0, -SIGKILL);
}

TEST_F(EmulatedNcclProcesses, NameBothCallsThatDiffer) {
  std::vector<Ended> all = inProcesses(2, "disagree");
  expectAll(all, codeOfFindings, codeOfFindings);
  EXPECT_NE(all[0].output.find("rank 0 of 2 (\"sums\") calls ncclAllReduce of "
                               "8 float32, rank 1 calls ncclAllReduce of 9 "
                               "float32"),
            std::string::npos)
      << all[0].output;
}

TEST_F(EmulatedNcclProcesses, DoNotWaitForeverToJoin) {
  expectAll(inProcesses(2, "alone", {{"SHARDC_EMULATED_NCCL_PATIENCE", "1"}}),
            0, 0);
  std::vector<Ended> all = inProcesses(2, "without-maker");
  EXPECT_EQ(all[1].code, 0) << all[1].output;
}

} // namespace

Part partOf(const std::string &name) {
  const std::pair<const char *, Part> parts[] = {
      {"collectives", playCollectives},
      {"death-in-collective", loseTheLastInCollective},
      {"death-idle", loseTheLastIdly},
      {"disagree", disagree},
      {"alone", joinAlone},
      {"without-maker", joinWithoutMaker},
  };
  for (auto &[known, part] : parts)
    if (name == known)
      return part;
  throw std::runtime_error("no part is named " + name);
}

ncclResult_t awaitAsyncError(ncclComm_t comm, double seconds) {
  auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  ncclResult_t result = ncclSuccess;
  while (result == ncclSuccess && std::chrono::steady_clock::now() < end) {
    SHARDC_CHECK(opened().ncclCommGetAsyncError(comm, &result));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return result;
}

} // namespace shardc::test::cuda
