// The arrays are what CMakeLists.txt has clang compile.
#include "runtime/cuda/OwnKernels.h"

namespace shardc::runtime::cuda {

static const unsigned char copyPtx[] = {
#include "runtime/cuda/kernels/Copy.inc"
    0};
static const unsigned char optimizerPtx[] = {
#include "runtime/cuda/kernels/Optimizer.inc"
    0};

std::string_view ownKernels(std::string_view name) {
  if (name == "Copy")
    return {reinterpret_cast<const char *>(copyPtx), sizeof(copyPtx) - 1};
  if (name == "Optimizer")
    return {reinterpret_cast<const char *>(optimizerPtx),
            sizeof(optimizerPtx) - 1};
  return {};
}

} // namespace shardc::runtime::cuda
