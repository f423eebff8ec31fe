// The flags of processes: their values, and the errors for wrong ones.
#include "runtime/cli/LaunchFlagTable.h"
#include "runtime/flags/Settings.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

namespace {

LaunchFlags parse(std::vector<const char *> words) {
  LaunchFlags launch;
  cli::FlagTable table;
  cli::declareLaunch(table, launch);
  words.insert(words.begin(), "model.trainer");
  cli::Settings settings(table, {}, static_cast<int>(words.size()),
                         words.data());
  settings.apply();
  return launch;
}

std::string errorOf(std::vector<const char *> words) {
  try {
    parse(std::move(words));
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(LaunchFlagTable, ReadsAll) {
  LaunchFlags none = parse({});
  EXPECT_FALSE(none.byHand());
  EXPECT_EQ(none.launcher, LaunchFlags::Launcher::Auto);
  EXPECT_EQ(none.startTimeout, 300);
  EXPECT_EQ(none.timeout, 30);
  EXPECT_EQ(none.maxRestarts, 0);
  EXPECT_FALSE(none.transport);
  LaunchFlags all =
      parse({"--launcher", "hand", "--nnodes", "2", "--node-rank", "0",
             "--nproc-per-node", "4", "--master", "[fd00::1]:29500",
             "--start-timeout", "60", "--timeout", "7", "--max-restarts", "3",
             "--transport", "mpi"});
  EXPECT_TRUE(all.byHand());
  EXPECT_EQ(all.launcher, LaunchFlags::Launcher::Hand);
  EXPECT_EQ(all.nodes, 2);
  EXPECT_EQ(all.nodeRank, 0);
  EXPECT_EQ(all.processesPerNode, 4);
  EXPECT_EQ(all.master, "[fd00::1]:29500");
  EXPECT_EQ(all.startTimeout, 60);
  EXPECT_EQ(all.timeout, 7);
  EXPECT_EQ(all.maxRestarts, 3);
  EXPECT_EQ(all.transport, TransportKind::Mpi);
}

TEST(LaunchFlagTable, WrongValuesAreSaid) {
  EXPECT_EQ(errorOf({"--launcher", "slrm"}),
            "--launcher expects auto, none, hand, torchrun, slurm or mpi, got "
            "'slrm', did you mean 'slurm'?");
  EXPECT_EQ(errorOf({"--nnodes", "0"}),
            "--nnodes expects an integer from 1 to 1048576, got '0'");
  EXPECT_EQ(errorOf({"--node-rank", "-1"}),
            "--node-rank expects an integer from 0 to 1048576, got '-1'");
  EXPECT_EQ(errorOf({"--master", "node1"}).substr(0, 26),
            "--master expects HOST:PORT");
  EXPECT_EQ(errorOf({"--transport", "tcp"}),
            "--transport expects ucx or mpi, got 'tcp', did you mean 'ucx'?");
  EXPECT_NE(errorOf({"--start-timeout", "0"}), "");
  EXPECT_NE(errorOf({"--timeout", "0"}), "");
  EXPECT_NE(errorOf({"--max-restarts", "x"}), "");
}
