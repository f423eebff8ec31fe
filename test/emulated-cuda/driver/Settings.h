// What tests say of the emulated devices, by environment variables.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_SETTINGS_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_SETTINGS_H

#include "Mutant.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace shardc::test::cuda {

struct Settings {
  /// SHARDC_EMULATED_GPUS: devices of each process, at most 16.
  int devices = 1;
  /// SHARDC_EMULATED_GPU_BYTES: of each device's memory.
  size_t bytes = size_t(4) << 30;
  /// SHARDC_EMULATED_CAPABILITY: 110 of compute capability 11.0.
  int capability = 110;
  /// SHARDC_EMULATED_CHECKS: 0 leaves out what is checked of each access.
  bool checked = true;
  /// SHARDC_EMULATED_SHARED_CHECKS: 0 leaves out races in shared memory.
  bool checksShared = true;
  /// SHARDC_EMULATED_DELAY_SEED: streams are delayed at random.
  std::optional<uint64_t> delaySeed;
  /// SHARDC_EMULATED_CUDA_CACHE: the folder of kernels that were compiled.
  std::string cache;
  /// SHARDC_EMULATED_CALLS: the file that calls are appended to.
  std::string calls;
  /// SHARDC_EMULATED_FAIL_LAUNCH=DEVICE:N: the device's launch N, from 1 on,
  /// fails.
  int failingDevice = -1;
  uint64_t failingLaunch = 0;
  /// SHARDC_EMULATED_MUTANT: a defect on purpose, see Mutant.h.
  std::optional<Mutant> mutant;
};

/// Read once. A value that is no number is a finding.
const Settings &settings();

} // namespace shardc::test::cuda

#endif
