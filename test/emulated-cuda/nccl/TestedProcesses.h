// Ranks that are processes: this executable, started again, once per rank.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_TESTEDPROCESSES_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_TESTEDPROCESSES_H

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardc::test::cuda {

/// What main() does first: in a process that inProcesses() started, plays its
/// part and returns its exit code.
std::optional<int> runAsRank();

/// How a process has ended: its exit code, or the negative of its signal.
struct Ended {
  int code;
  std::string output; // standard error
};
/// Starts a process for each rank, which plays `part` (NcclProcessSuite.cpp has
/// them), with these variables besides, and waits for all.
std::vector<Ended>
inProcesses(int ranks, const std::string &part,
            const std::map<std::string, std::string> &variables = {});

} // namespace shardc::test::cuda

#endif
