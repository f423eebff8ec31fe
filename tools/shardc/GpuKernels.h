// What --gpu-kernels leaves behind: files, a table, and a part of the report.
#ifndef SHARDC_TOOLS_SHARDC_GPUKERNELS_H
#define SHARDC_TOOLS_SHARDC_GPUKERNELS_H

#include "codegen/gpu/CompileGpuKernels.h"

#include "llvm/Support/JSON.h"

namespace shardc {

/// Writes KERNEL.ptx and, where it was assembled, KERNEL.cubin into `folder`,
/// which is made.
llvm::Error writeGpuKernels(const gpu::GpuKernels &kernels,
                            const std::string &folder);

/// A line per kernel.
void printGpuKernels(llvm::raw_ostream &os, const gpu::GpuKernels &kernels);

/// `gpu_kernels` of --report: what ptxas says is null where it did not run, as
/// is all but the name and `refusal` of a kernel that was refused.
llvm::json::Value toJson(const gpu::GpuKernels &kernels);

} // namespace shardc

#endif
