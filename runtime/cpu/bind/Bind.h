// From resolved entries to calls: one function per kind of entry.
#ifndef SHARDC_RUNTIME_CPU_BIND_BIND_H
#define SHARDC_RUNTIME_CPU_BIND_BIND_H

#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/optimizer/GradientNorm.h"

#include <functional>

namespace shardc::runtime::cpu {

/// A bound entry.
using Task = std::function<void()>;

#define SHARDC_DECLARE(Kind)                                                   \
  Task bind(CpuDevice &device, const entry::Kind &entry);
SHARDC_COMPUTE_ENTRIES(SHARDC_DECLARE)
SHARDC_PROGRAM_ENTRIES(SHARDC_DECLARE)
#undef SHARDC_DECLARE

/// A reduce-scatter of gradients that adds up their norm, too.
Task bindRead(CpuDevice &device, const entry::StartReduceScatter &entry,
              std::shared_ptr<ReducedNorm> norm);
/// A norm of which parts are added up that way.
Task bindNorm(CpuDevice &device, const entry::GradientNorm &entry,
              GradientNorm::Reduced reduced);

/// Throws unless a workspace has so many contiguous bytes.
void requireBytes(const Tensor &tensor, int64_t bytes, const char *name);
/// The number of threads that have a slice in the workspace.
int workersFor(const CpuDevice &device, const Tensor &workspace, int64_t slice);

} // namespace shardc::runtime::cpu

#endif
