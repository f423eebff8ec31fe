// Shares of a host's processors.
#include "runtime/launch/Affinity.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/TemporaryFolder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace shardc::runtime;
using Ids = std::vector<int>;

TEST(Affinity, SharesAreWholeCoresWhereThereAreEnough) {
  const Cores cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_EQ(shareOf(cores, 0, 2), (Ids{0, 4, 1, 5}));
  EXPECT_EQ(shareOf(cores, 1, 2), (Ids{2, 6, 3, 7}));
  EXPECT_EQ(shareOf(cores, 1, 3), (Ids{1, 5}));
  EXPECT_EQ(shareOf(cores, 2, 3), (Ids{2, 6, 3, 7}));
  EXPECT_EQ(shareOf(cores, 5, 8), (Ids{6}));
  EXPECT_EQ(shareOf(cores, 0, 9), Ids{});
  // Each processor is in one share.
  for (int count = 1; count <= 8; ++count) {
    Ids all;
    for (int index = 0; index < count; ++index) {
      Ids share = shareOf(cores, index, count);
      EXPECT_FALSE(share.empty());
      all.insert(all.end(), share.begin(), share.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (Ids{0, 1, 2, 3, 4, 5, 6, 7})) << count;
  }
}

TEST(Affinity, WhatALauncherHasBoundStays) {
  const Cores cores = {{0}, {1}, {2}, {3}};
  EXPECT_EQ(maskText({{3, 7}, {0, 4}, {1, 5}}), "0-1,3-5,7");
  EXPECT_EQ(chosenShare(cores, {"0-3", "0-3"}, 1), (Ids{2, 3}));
  EXPECT_EQ(chosenShare(cores, {"0-3", "4-7"}, 0), Ids{});
  EXPECT_EQ(chosenShare(cores, {"0-3"}, 0), Ids{});
}

TEST(Affinity, ProcessesWithoutAShareOfTheirOwnAreCounted) {
  const Cores cores = {{0}, {1}};
  EXPECT_EQ(sharersOf(cores, {"0-1"}, 0), 1);
  EXPECT_EQ(sharersOf(cores, {"0-1", "0-1"}, 1), 1);
  EXPECT_EQ(sharersOf(cores, {"0-1", "0-1", "0-1"}, 1), 3);
  EXPECT_EQ(sharersOf(cores, {"0-1", "2-3", "0-1"}, 0), 2);
  EXPECT_EQ(sharersOf({{2}, {3}}, {"0-1", "2-3", "0-1"}, 1), 1);
}

TEST(Affinity, CoresAreReadFromTheSystem) {
  Cores own = usableCoreList();
  size_t processors = 0;
  for (const std::vector<int> &core : own)
    processors += core.size();
  EXPECT_EQ(processors, static_cast<size_t>(usableCores()));
  // All of them threads of one core, as it is said here.
  TemporaryFolder folder;
  for (const std::vector<int> &core : own)
    for (int id : core) {
      std::string topology = folder / concat("cpu", id, "/topology");
      std::filesystem::create_directories(topology);
      std::ofstream(topology + "/physical_package_id") << 0;
      std::ofstream(topology + "/core_id") << 0;
    }
  Cores one = usableCoreList(folder.path());
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one.front().size(), processors);
  EXPECT_EQ(maskText(one), maskText(own));
  // Nothing is said: each is a core.
  EXPECT_EQ(usableCoreList(folder / "none").size(), processors);
}

TEST(Affinity, AThreadIsBoundAndWhatItStarts) {
  std::thread([] {
    Ids first = {usableCoreList().front().front()};
    bindThread(first);
    std::thread([&] {
      Cores inherited = usableCoreList();
      ASSERT_EQ(inherited.size(), 1u);
      EXPECT_EQ(inherited.front(), first);
    }).join();
    EXPECT_THROW(bindThread({}), Error);
  }).join();
}

TEST(Affinity, MpirunsSingleCoreIsSaid) {
  Launch launch;
  launch.kind = LaunchKind::Mpi;
  launch.processes = launch.localProcesses = 2;
  EXPECT_EQ(oneCoreWarning(launch, 1, 8),
            "mpirun has bound this process to one of 8 processors, as it does "
            "by default, so that it computes with one thread; --bind-to none, "
            "or --map-by slot:PE=4, gives it its share");
  EXPECT_EQ(oneCoreWarning(launch, 2, 8), "");
  EXPECT_EQ(oneCoreWarning(launch, 1, 2), "");
  launch.kind = LaunchKind::Slurm;
  EXPECT_EQ(oneCoreWarning(launch, 1, 8), "");
}
