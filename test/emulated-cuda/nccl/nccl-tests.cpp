// Runs the suites of NCCL; or one rank of NcclProcessSuite, if told to.
#include "test/emulated-cuda/nccl/TestedProcesses.h"

#include <cstdlib>
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  // Emulated devices; a real driver does not know it.
  setenv("SHARDC_EMULATED_GPUS", "4", 0);
  if (std::optional<int> code = shardc::test::cuda::runAsRank())
    return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
