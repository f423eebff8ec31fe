// Groups nest; the outermost one's end makes the calls, in their order.
#include "test/emulated-cuda/nccl/Group.h"

#include "test/emulated-cuda/nccl/Communicator.h"

#include <utility>
#include <vector>

namespace shardc::test::cuda {
namespace {

thread_local int depth = 0;
thread_local std::vector<std::function<ncclResult_t()>> calls;

} // namespace

ncclResult_t whenGroupEnds(std::function<ncclResult_t()> call) {
  if (!depth)
    return call();
  calls.push_back(std::move(call));
  return ncclSuccess;
}

bool isGroupOpen() { return depth > 0; }

extern "C" ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

extern "C" ncclResult_t ncclGroupEnd() {
  if (!depth)
    return failed(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth)
    return ncclSuccess;
  ncclResult_t first = ncclSuccess;
  for (auto &call : std::exchange(calls, {}))
    if (ncclResult_t result = call(); result && first == ncclSuccess)
      first = result;
  return first;
}

} // namespace shardc::test::cuda
