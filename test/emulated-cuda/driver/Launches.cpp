// cuLaunchKernel.
#include "Api.h"
#include "Checks.h"
#include "Findings.h"
#include "Mutant.h"
#include "Settings.h"

#include <cstring>

namespace shardc::test::cuda {

static CUresult runKernel(const ptx::LoadedKernel &code, ptx::Grid grid,
                          const std::vector<char> &parameters, Running &with) {
  AccessCheck check(with.task, with.device, &code);
  grid.tag = check.tag();
  std::string problem = with.blocks.run(code.function, parameters.data(), grid,
                                        AccessCheck::access, &check);
  if (problem.empty())
    return CUDA_SUCCESS;
  if (problem.starts_with("trap: ")) {
    std::fprintf(stderr, "emulated CUDA: %s\n", problem.c_str());
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  finding(problem + ", in " + describeTask(with.task.number));
}

/// What the driver refuses of a launch.
static CUresult checkShape(const Function &function, const ptx::Grid &grid) {
  uint64_t threads =
      uint64_t(grid.threads[0]) * grid.threads[1] * grid.threads[2];
  uint64_t most = function.code.facts->mostThreads
                      ? function.code.facts->mostThreads
                      : 1024;
  if (threads == 0 || threads > most || grid.threads[2] > 64 ||
      grid.blocks[0] == 0 || grid.blocks[0] > 0x7fffffff ||
      grid.blocks[1] == 0 || grid.blocks[1] > 65535 || grid.blocks[2] == 0 ||
      grid.blocks[2] > 65535 ||
      grid.dynamicSharedBytes > function.dynamicSharedBytes ||
      grid.sharedBytes + grid.dynamicSharedBytes > mostSharedBytes)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

/// What a mutant does to a launch.
static CUresult mutate(const std::string &name, CUstream stream,
                       std::vector<char> &bytes, ptx::Grid &grid) {
  std::string what =
      describeCall("cuLaunchKernel of " + name, stream && stream->capture);
  shiftArguments(what, bytes.data(), bytes.size());
  if (isMutated("blocks", what))
    grid.blocks[0] += uint32_t(mutantNumber(0));
  if (isMutated("threads", what))
    grid.threads[0] += uint32_t(mutantNumber(0));
  CUdeviceptr first = 0;
  std::memcpy(&first, bytes.data(), sizeof(first));
  return callBefore(what, stream, first);
}

} // namespace shardc::test::cuda

namespace shardc::cuda {
using namespace shardc::test::cuda;
namespace ptx = shardc::test::ptx;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  SHARDC_ENTER;
  ptx::LoadedKernel code;
  ptx::Grid grid;
  std::string name;
  {
    std::lock_guard lock(driverMutex);
    if (!function || !isLive(function) || function->context != context)
      return CUDA_ERROR_INVALID_HANDLE;
    code = function->code;
    name = function->name;
    grid = {{gridX, gridY, gridZ},
            {blockX, blockY, blockZ},
            code.facts->sharedBytes,
            sharedBytes,
            code.facts->localBytes,
            code.facts->waits != 0,
            settings().delaySeed.value_or(0) % 2 == 1};
    grid.checksShared = settings().checksShared;
    if (CUresult result = checkShape(*function, grid); result != CUDA_SUCCESS)
      return result;
  }
  if (extra || (code.facts->parameters && !parameters))
    return CUDA_ERROR_INVALID_VALUE;
  // A kernel reads its parameters as they were when it was launched.
  std::vector<char> bytes(code.facts->parameterBytes + 16);
  for (uint32_t i = 0; i < code.facts->parameters; ++i) {
    auto [offset, size] = *code.facts->parameter(i);
    std::memcpy(bytes.data() + offset, parameters[i], size);
  }
  if (hasMutant())
    if (CUresult result = mutate(name, stream, bytes, grid);
        result != CUDA_SUCCESS)
      return result;
  auto *of = context;
  return submit(*context, stream,
                std::make_shared<Action>(
                    Action{std::move(name),
                           {},
                           [=, bytes = std::move(bytes)](Running &with) {
                             if (++of->launches == settings().failingLaunch &&
                                 of->device == settings().failingDevice)
                               return CUresult(CUDA_ERROR_LAUNCH_FAILED);
                             return runKernel(code, grid, bytes, with);
                           }}),
                "cuLaunchKernel of ");
}

} // extern "C"

} // namespace shardc::cuda
