// What the handles of the driver's interface are.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_OBJECTS_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_OBJECTS_H

#include "Stream.h"
#include "test/emulated-cuda/ptx/Loader.h"
#include "test/emulated-cuda/ptx/Ptx.h"

#include <map>

namespace shardc::test::cuda {

/// Shared memory that a block can have on this device.
inline constexpr uint32_t mostSharedBytes = 227 << 10;

struct Function {
  Context *context = nullptr;
  std::string name;
  ptx::LoadedKernel code;
  uint32_t dynamicSharedBytes = 48 << 10; // the most of a launch
};

struct Module {
  Context *context = nullptr;
  ptx::Pieces pieces;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

/// Handles that live; all under `driverMutex`.
template <typename T> bool isLive(T *handle);
template <typename T> T *made(T *handle);
template <typename T> void destroyed(T *handle);
/// Of what is owned elsewhere.
template <typename T> void forget(T *handle);

/// What every call looks for first: cuInit, a current context, and no error of
/// it.
CUresult enter(Context *&context);

} // namespace shardc::test::cuda

struct shardc::cuda::CUmod_st : shardc::test::cuda::Module {};
struct shardc::cuda::CUfunc_st : shardc::test::cuda::Function {};

#endif
