// From resolved entries to calls: one function per kind of entry.
#ifndef SHARDC_RUNTIME_CPU_BIND_H
#define SHARDC_RUNTIME_CPU_BIND_H

#include "runtime/cpu/CpuDevice.h"

#include <functional>

namespace shardc::runtime::cpu {

/// A bound entry.
using Task = std::function<void()>;

Task bind(CpuDevice &device, const entry::Launch &entry);
Task bind(CpuDevice &device, const entry::Gemm &entry);
Task bind(CpuDevice &device, const entry::Attention &entry);
Task bind(CpuDevice &device, const entry::AttentionGrad &entry);
Task bind(CpuDevice &device, const entry::CrossEntropy &entry);
Task bind(CpuDevice &device, const entry::LinearCrossEntropy &entry);
Task bind(CpuDevice &device, const entry::Embedding &entry);
Task bind(CpuDevice &device, const entry::EmbeddingGrad &entry);
Task bind(CpuDevice &device, const entry::Copy &entry);
Task bind(CpuDevice &device, const entry::Fill &entry);
Task bind(CpuDevice &device, const entry::HostCall &entry);
Task bind(CpuDevice &device, const entry::GradientNorm &entry);
Task bind(CpuDevice &device, const entry::Accumulate &entry);
Task bind(CpuDevice &device, const entry::OptimizerStep &entry);
Task bind(CpuDevice &device, const entry::Report &entry);
Task bind(CpuDevice &device, const entry::StartAllGather &entry);
Task bind(CpuDevice &device, const entry::StartReduceScatter &entry);
Task bind(CpuDevice &device, const entry::StartAllReduce &entry);
Task bind(CpuDevice &device, const entry::StartBarrier &entry);
Task bind(CpuDevice &device, const entry::Wait &entry);
Task bind(CpuDevice &device, const entry::Finish &entry);

/// That a workspace has so many contiguous bytes.
void requireBytes(const Tensor &tensor, int64_t bytes, const char *name);
/// As many threads as there are slices in the workspace.
int workersFor(const CpuDevice &device, const Tensor &workspace, int64_t slice);

} // namespace shardc::runtime::cpu

#endif
