// The device code that is no model's: runtime/cuda/kernels/*.cu as PTX of the
// oldest architecture that is supported, which drivers translate for newer ones.
#ifndef SHARDC_RUNTIME_CUDA_OWNKERNELS_H
#define SHARDC_RUNTIME_CUDA_OWNKERNELS_H

#include <string>
#include <string_view>

namespace shardc::runtime::cuda {

/// Returns the PTX of the file runtime/cuda/kernels/<name>.cu, unpacked anew at
/// every call; an empty text for a name that is none.
std::string ownKernels(std::string_view name);

} // namespace shardc::runtime::cuda

#endif
