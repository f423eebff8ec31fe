// Launches of attention, from their PTX, run by tests on the emulator.
#ifndef SHARDC_TEST_EMULATEDCUDA_RUNATTENTION_H
#define SHARDC_TEST_EMULATEDCUDA_RUNATTENTION_H

#include "runtime/cuda/OwnKernels.h"
#include "runtime/cuda/attention/AttentionLaunches.h"
#include "test/emulated-cuda/ptx/Blocks.h"
#include "test/emulated-cuda/ptx/Loader.h"
#include "test/emulated-cuda/ptx/Ptx.h"

#include <gtest/gtest.h>
#include <map>

namespace shardc::test {

using namespace runtime::cuda;

/// Kernels are translated when they are first run.
inline ptx::LoadedKernel load(std::string_view file,
                              const std::string &kernel) {
  static std::map<std::string, ptx::Pieces, std::less<>> all;
  auto found = all.find(file);
  if (found == all.end()) {
    auto pieces = ptx::Pieces::of(ownKernels(file));
    if (!pieces)
      return {nullptr, nullptr, nullptr, llvm::toString(pieces.takeError())};
    found = all.emplace(file, std::move(*pieces)).first;
  }
  return ptx::loadKernel(found->second.kernel(kernel), kernel, false, "");
}

template <typename Parameters>
void run(const AttentionLaunches<Parameters> &of) {
  static ptx::Blocks blocks;
  bool backwards = false;
  for (const AttentionLaunch &each : of.launches) {
    ptx::LoadedKernel kernel = load(each.file, each.kernel);
    ASSERT_EQ(kernel.problem, "") << each.kernel;
    ptx::Grid grid;
    grid.blocks[0] = each.grid.blocks;
    grid.threads[0] = each.grid.threads;
    grid.sharedBytes = kernel.facts->sharedBytes;
    grid.dynamicSharedBytes = each.grid.sharedBytes;
    grid.localBytes = kernel.facts->localBytes;
    grid.waits = kernel.facts->waits;
    grid.backwards = backwards = !backwards;
    ASSERT_EQ(kernel.facts->parameterBytes, sizeof(Parameters));
    ASSERT_EQ(blocks.run(kernel.function, &of.parameters, grid), "")
        << each.kernel;
  }
}

} // namespace shardc::test

#endif
