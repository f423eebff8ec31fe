// The device that is a GPU, for the conformance suite: whatever libcuda.so.1 the
// loader finds, which is test/emulated-cuda's where there is no GPU.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_CUDADEVICES_H
#define SHARDC_TEST_RUNTIME_DEVICE_CUDADEVICES_H

#include "runtime/cuda/CudaDevice.h"

#include <memory>

namespace shardc::runtime {

/// How many GPUs there are; 0 where there is no driver.
int cudaDeviceCount();
/// Whether they are test/emulated-cuda's.
bool cudaIsEmulated();
/// A rank's, with the kernels of TestedDevices.h.
std::unique_ptr<Device> cudaDevice(Communicator &communicator);
/// The same with a plan of the test's, which must outlive it.
std::unique_ptr<cuda::CudaDevice> cudaDevice(const plan::Plan &plan,
                                             Communicator &communicator);
/// Bytes of the workspace that it wants for an entry.
int64_t cudaWorkspace(const entry::Any &entry);

} // namespace shardc::runtime

#endif
