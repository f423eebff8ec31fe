// Kernels of the runtime's own, from their PTX, run by tests on the emulator.
#ifndef SHARDC_TEST_EMULATEDCUDA_RUNKERNEL_H
#define SHARDC_TEST_EMULATEDCUDA_RUNKERNEL_H

#include <cstdint>
#include <string>

namespace shardc::test {

/// The blocks of the grids of runKernel().
inline constexpr int64_t kernelBlocks = 3;

/// Runs a kernel of runtime/cuda/kernels/<file>.cu in kernelBlocks blocks, or in
/// the first alone; expects it to end. `parameters`: its struct.
void runKernel(const char *file, const std::string &kernel, int64_t threads,
               const void *parameters, bool oneBlock = false);

template <typename Parameters>
void runKernel(const char *file, const std::string &kernel, int64_t threads,
               const Parameters &parameters, bool oneBlock = false) {
  runKernel(file, kernel, threads, static_cast<const void *>(&parameters),
            oneBlock);
}

/// Where values lie, as kernels take it.
template <typename T> unsigned long long addressIn(T *values) {
  return reinterpret_cast<unsigned long long>(values);
}

} // namespace shardc::test

#endif
