// What a GPU reaches, measured.
#ifndef SHARDC_RUNTIME_CUDA_RATES_H
#define SHARDC_RUNTIME_CUDA_RATES_H

#include "runtime/device/Platform.h"

namespace shardc::runtime::cuda {

class CudaDevice;

/// Times square products by cuBLASLt, of bf16, float32 and float64, and a copy,
/// each as large as takes a millisecond, or as 8192 rows and 256 MiB.
DeviceRates ratesOf(CudaDevice &device);

} // namespace shardc::runtime::cuda

#endif
