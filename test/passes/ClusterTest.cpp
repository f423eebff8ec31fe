// Machines: those that are built in, good files, and one line for each bad one.
#include "passes/options/Cluster.h"

#include <gtest/gtest.h>

using namespace shardc;

namespace {

const std::string good = R"(name = "two boxes"
ranks_per_node = 4
memory_gb = 24

[inside_node]
bandwidth_gb_per_s = 12.5
latency_us = 8

[between_nodes]
bandwidth_gb_per_s = 1
latency_us = 30.5

[tflop_per_s]
float64 = 0.5
float32 = 10
bfloat16 = 40
)";

std::string errorOf(const std::string &text) {
  auto cluster = Cluster::parse(text, "c.toml");
  return cluster ? "none" : llvm::toString(cluster.takeError());
}

/// The good file with one line changed.
std::string with(const std::string &line, const std::string &instead) {
  std::string text = good;
  size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), instead);
}

TEST(Cluster, isReadInItsUnits) {
  auto cluster = Cluster::parse(good, "c.toml");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_EQ(cluster->name, "two boxes");
  EXPECT_EQ(cluster->ranksPerNode, 4);
  EXPECT_DOUBLE_EQ(cluster->memory, 24e9);
  EXPECT_DOUBLE_EQ(cluster->memoryBandwidth, 25e9); // twice the link's
  EXPECT_DOUBLE_EQ(cluster->insideNode.bandwidth, 12.5e9);
  EXPECT_DOUBLE_EQ(cluster->insideNode.latency, 8e-6);
  EXPECT_DOUBLE_EQ(cluster->betweenNodes.bandwidth, 1e9);
  EXPECT_DOUBLE_EQ(cluster->betweenNodes.latency, 30.5e-6);
  EXPECT_DOUBLE_EQ(cluster->flopsPerSecond(8), 0.5e12);
  EXPECT_DOUBLE_EQ(cluster->flopsPerSecond(4), 10e12);
  EXPECT_DOUBLE_EQ(cluster->flopsPerSecond(2), 40e12);
}

TEST(Cluster, mayKnowItsMemoryBandwidth) {
  auto cluster = Cluster::parse(
      with("memory_gb = 24", "memory_gb = 24\nmemory_bandwidth_gb_per_s = 40"),
      "c.toml");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_DOUBLE_EQ(cluster->memoryBandwidth, 40e9);
  EXPECT_EQ(errorOf(with("memory_gb = 24",
                         "memory_gb = 24\nmemory_bandwidth_gb_per_s = -1")),
            "--cluster c.toml:4: key 'memory_bandwidth_gb_per_s': expects a "
            "number above 0, got -1.00");
}

TEST(Cluster, hasADiskOrALinkToTheHost) {
  auto cluster = Cluster::parse(
      with("memory_gb = 24", "memory_gb = 24\nhost_bandwidth_gb_per_s = 5"),
      "c.toml");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_DOUBLE_EQ(cluster->hostBandwidth, 5e9);
  EXPECT_FALSE(cluster->hostIsDuplex);
  EXPECT_DOUBLE_EQ(cluster->hostSeconds(5'000'000), 1e-3 + 10e-6);
  auto duplex = Cluster::parse(
      with("memory_gb = 24", "memory_gb = 24\nhost_is_duplex = true"),
      "c.toml");
  ASSERT_TRUE(bool(duplex)) << llvm::toString(duplex.takeError());
  EXPECT_TRUE(duplex->hostIsDuplex);
  EXPECT_EQ(
      errorOf(with("memory_gb = 24", "memory_gb = 24\nhost_is_duplex = 2")),
      "--cluster c.toml:4: key 'host_is_duplex': expects true or false");
  EXPECT_EQ(errorOf(with("memory_gb = 24",
                         "memory_gb = 24\nhost_bandwidth_gb_per_s = 0")),
            "--cluster c.toml:4: key 'host_bandwidth_gb_per_s': expects a "
            "number above 0, got 0.00");
}

TEST(Cluster, hasRatesThatAreReached) {
  auto sheet = Cluster::parse(with("", ""), "c.toml");
  ASSERT_TRUE(bool(sheet)) << llvm::toString(sheet.takeError());
  EXPECT_DOUBLE_EQ(sheet->attention16, sheet->flops16);
  EXPECT_DOUBLE_EQ(sheet->collectiveSlowdown, 0);
  auto reached = Cluster::parse(
      with("float32 = 10", "float32 = 10\nattention = 3"), "c.toml");
  ASSERT_TRUE(bool(reached)) << llvm::toString(reached.takeError());
  EXPECT_DOUBLE_EQ(reached->attention16, 3e12);
  reached = Cluster::parse(
      with("memory_gb = 24", "memory_gb = 24\ncollective_slowdown = 0.25"),
      "c.toml");
  ASSERT_TRUE(bool(reached)) << llvm::toString(reached.takeError());
  EXPECT_DOUBLE_EQ(reached->collectiveSlowdown, 0.25);
  EXPECT_EQ(errorOf(with("memory_gb = 24",
                         "memory_gb = 24\ncollective_slowdown = 1")),
            "--cluster c.toml:4: key 'collective_slowdown': expects a part of "
            "1, below that");
}

TEST(Cluster, mayBeOneNode) {
  auto cluster = Cluster::parse("memory_gb = 1\n"
                                "inside_node = {bandwidth_gb_per_s = 1, "
                                "latency_us = 0}\n"
                                "tflop_per_s = {float64 = 1, float32 = 1, "
                                "bfloat16 = 1}\n",
                                "c.toml");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_EQ(cluster->name, "c.toml");
  EXPECT_GE(cluster->ranksPerNode, int64_t(1) << 40);
}

TEST(Cluster, isBuiltIn) {
  for (llvm::StringRef name : Cluster::builtIn()) {
    auto cluster = Cluster::load(name);
    ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
    EXPECT_EQ(cluster->name, name);
    EXPECT_GT(cluster->memory, 1e9);
    for (int64_t bytes : {2, 4, 8})
      EXPECT_GT(cluster->flopsPerSecond(bytes), 1e9);
    EXPECT_GT(cluster->insideNode.bandwidth, cluster->betweenNodes.bandwidth);
  }
  auto standard = Cluster::load("");
  ASSERT_TRUE(bool(standard));
  EXPECT_EQ(standard->name, "cpu");
  // The data sheet: 900 GB/s in both directions together.
  auto h100 = Cluster::load("dgx-h100");
  ASSERT_TRUE(bool(h100));
  EXPECT_DOUBLE_EQ(h100->insideNode.bandwidth, 450e9);
  EXPECT_DOUBLE_EQ(h100->betweenNodes.bandwidth, 400e9 / 8);
}

TEST(Cluster, namesWhatItDoesNotKnow) {
  EXPECT_EQ(errorOf(with("latency_us = 8", "latency_ns = 8")),
            "--cluster c.toml:7: unknown key 'latency_ns' of [inside_node]; "
            "there are bandwidth_gb_per_s, latency_us");
  EXPECT_EQ(errorOf(with("memory_gb", "memory")),
            "--cluster c.toml:3: unknown key 'memory'; there are name, "
            "ranks_per_node, memory_gb, memory_bandwidth_gb_per_s, "
            "host_bandwidth_gb_per_s, host_is_duplex, collective_slowdown, "
            "inside_node, between_nodes, tflop_per_s");
  EXPECT_EQ(errorOf(with("float32 = 10", "float32 = 10\nfloat8 = 1")),
            "--cluster c.toml:16: unknown key 'float8' of [tflop_per_s]; there "
            "are float64, float32, bfloat16, attention");
}

TEST(Cluster, namesTheLineOfABadValue) {
  EXPECT_EQ(errorOf(with("latency_us = 8", "latency_us = -1")),
            "--cluster c.toml:7: key 'latency_us' of [inside_node]: expects a "
            "number from 0 on, got -1.00");
  EXPECT_EQ(errorOf(with("memory_gb = 24", "memory_gb = \"24 GB\"")),
            "--cluster c.toml:3: key 'memory_gb': expects a number above 0, "
            "got \"24 GB\"");
  EXPECT_EQ(errorOf(with("float64 = 0.5", "float64 = 0")),
            "--cluster c.toml:14: key 'float64' of [tflop_per_s]: expects a "
            "number above 0, got 0.00");
  EXPECT_EQ(errorOf(with("float64 = 0.5", "float64 = inf")),
            "--cluster c.toml:14: key 'float64' of [tflop_per_s]: expects a "
            "number above 0, got INF");
  EXPECT_EQ(errorOf(with("ranks_per_node = 4", "ranks_per_node = 2.5")),
            "--cluster c.toml:2: key 'ranks_per_node': expects a whole number "
            "from 1 on");
  EXPECT_EQ(errorOf(with("name = \"two boxes\"", "name = 3")),
            "--cluster c.toml:1: key 'name': expects a text in quotes");
  EXPECT_EQ(errorOf("inside_node = 3"),
            "--cluster c.toml:1: key 'memory_gb' is missing");
}

TEST(Cluster, namesWhatIsMissing) {
  EXPECT_EQ(errorOf(with("latency_us = 8\n", "")),
            "--cluster c.toml:5: key 'latency_us' of [inside_node] is missing");
  EXPECT_EQ(errorOf(with("ranks_per_node = 4\n", "")),
            "--cluster c.toml:8: [between_nodes] needs the key ranks_per_node");
  EXPECT_EQ(
      errorOf(with("[between_nodes]\nbandwidth_gb_per_s = 1\nlatency_us = "
                   "30.5\n",
                   "")),
      "--cluster c.toml:2: ranks_per_node needs the table [between_nodes]");
  EXPECT_EQ(errorOf(good.substr(0, good.find("[tflop"))),
            "--cluster c.toml:1: table [tflop_per_s] is missing");
  EXPECT_EQ(errorOf(""), "--cluster c.toml:1: key 'memory_gb' is missing");
}

TEST(Cluster, namesTheLineOfBadSyntax) {
  std::string error = errorOf(with("memory_gb = 24", "memory_gb = = 24"));
  EXPECT_EQ(error.find("--cluster c.toml:3: "), 0u) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  error = errorOf(good + "[inside_node]\n");
  EXPECT_EQ(error.find("--cluster c.toml:17: "), 0u) << error;
}

TEST(Cluster, saysWhichThereAre) {
  auto cluster = Cluster::load("dgx-h1000");
  ASSERT_FALSE(bool(cluster));
  EXPECT_EQ(llvm::toString(cluster.takeError()),
            "--cluster dgx-h1000: No such file or directory; it is a TOML file "
            "or one of cpu, dgx-h100, dgx-a100, cloud-l40s");
}

TEST(Cluster, poolsMayTakeWhatIsGivenOrMostOfTheMemory) {
  Cluster machine;
  machine.memory = 80e9;
  EXPECT_EQ(llvm::cantFail(machine.poolLimit("")), 78e9);
  EXPECT_EQ(llvm::cantFail(machine.poolLimit("4kB")), 4000);
  auto limit = machine.poolLimit("much");
  ASSERT_FALSE(bool(limit));
  EXPECT_EQ(llvm::toString(limit.takeError()).find("memory-limit much: "), 0u);
}
} // namespace
