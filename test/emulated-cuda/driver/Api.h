// The functions that the emulated driver exports, as runtime/cuda/api/Driver.h
// has them.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_API_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_API_H

#include "CallLog.h"
#include "Capture.h"
#include "Memory.h"
#include "Objects.h"

namespace shardc::cuda {

#define SHARDC_DECLARE(name, symbol, arguments)                                \
  extern "C" __attribute__((visibility("default"))) CUresult symbol arguments;
SHARDC_CUDA_DRIVER(SHARDC_DECLARE)
#undef SHARDC_DECLARE

} // namespace shardc::cuda

namespace shardc::test::cuda {

/// Begins a call: `context` is the current one. `bytes`: what it allocates.
#define SHARDC_ENTER SHARDC_ENTER_FOR(0)
#define SHARDC_ENTER_FOR(bytes)                                                \
  logCall(__func__, bytes);                                                    \
  Context *context = nullptr;                                                  \
  if (CUresult entered = enter(context); entered != CUDA_SUCCESS)              \
  return entered

/// Of a call that is not allowed while streams are captured; with driverMutex
/// held.
#define SHARDC_BREAKS_CAPTURE                                                  \
  if (breaksCapture())                                                         \
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED

} // namespace shardc::test::cuda

#endif
