// The arrays are what CMakeLists.txt has clang compile.
#include "runtime/cuda/OwnKernels.h"

namespace shardc::runtime::cuda {

struct OwnKernels {
  std::string_view name;
  const unsigned char *ptx;
  size_t bytes;
};

#include "runtime/cuda/OwnKernels.inc"

std::string_view ownKernels(std::string_view name) {
  for (const OwnKernels &each : all)
    if (each.name == name)
      return {reinterpret_cast<const char *>(each.ptx), each.bytes};
  return {};
}

} // namespace shardc::runtime::cuda
