// The processor with one thread and with several, guarded devices, and GPUs
// where there are any.
#include "test/runtime/device/TestedDevices.h"

#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/attention/Attention.h"
#include "runtime/cpu/loss/CrossEntropy.h"
#include "runtime/cpu/products/HalfGemm.h"
#include "test/runtime/device/CudaDevices.h"
#include "test/runtime/device/GuardedDevice.h"

#include <filesystem>

namespace shardc::runtime {
namespace {

constexpr int threads = 3;

void scaleAndAdd(void *const *arguments, int64_t begin, int64_t end) {
  auto *x = static_cast<const float *>(arguments[0]);
  auto *y = static_cast<const float *>(arguments[1]);
  auto *z = static_cast<float *>(arguments[2]);
  for (int64_t i = begin; i < end; ++i)
    z[i] = 2 * x[i] + y[i];
}
void rowSums(void *const *arguments, int64_t begin, int64_t end) {
  auto *x = static_cast<const float *>(arguments[0]);
  auto *sums = static_cast<double *>(arguments[1]);
  for (int64_t row = begin; row < end; ++row) {
    sums[row] = 0;
    for (int64_t column = 0; column < TestKernel::columns; ++column)
      sums[row] += x[row * TestKernel::columns + column];
  }
}
void increment(void *const *arguments, int64_t begin, int64_t end) {
  auto *values = static_cast<int32_t *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i)
    ++values[i];
}

const plan::Plan &testPlan() {
  static const plan::Plan made = [] {
    plan::Plan plan;
    plan::CpuTarget &cpu = *plan.mutable_target()->mutable_cpu();
    cpu.set_workers(threads);
    for (int64_t extent :
         {TestKernel::elements, TestKernel::rows, TestKernel::elements}) {
      plan.add_kernels();
      cpu.add_extents(extent);
    }
    return plan;
  }();
  return made;
}
const KernelLibrary &testKernels() {
  static const KernelLibrary made =
      KernelLibrary::of({scaleAndAdd, rowSums, increment});
  return made;
}

template <int workers>
std::unique_ptr<Device> processor(Communicator &communicator) {
  cpu::CpuOptions options;
  options.workers = workers;
  options.offloadFolder = std::filesystem::temp_directory_path();
  return std::make_unique<cpu::CpuDevice>(testPlan(), testKernels(),
                                          communicator, options);
}
std::unique_ptr<Device> guarded(Communicator &communicator) {
  return std::make_unique<GuardedDevice>(testPlan(), testKernels(),
                                         communicator, 1);
}

cpu::Attention operandsOf(const entry::AttentionOperands &from) {
  return {from.query, from.key,   from.value,   from.bias, from.keyMask,
          from.sinks, from.scale, from.softcap, from.left, from.right};
}

/// plan.proto has the formulas.
struct ProcessorWorkspace {
  int workers;

  int64_t operator()(const entry::Gemm &entry) const {
    if (!isHalf(entry.a.tensor.dtype))
      return 0;
    return workers * cpu::halfGemmWorkspace(entry.c.rows, entry.c.columns,
                                            entry.a.columns);
  }
  int64_t operator()(const entry::Attention &entry) const {
    return workers * cpu::attentionWorkspace(operandsOf(entry.operands));
  }
  int64_t operator()(const entry::AttentionGrad &entry) const {
    return workers * cpu::attentionGradWorkspace(operandsOf(entry.operands));
  }
  int64_t operator()(const entry::CrossEntropy &entry) const {
    return foldRows(entry.logits, 1)->rows * int64_t(sizeof(double));
  }
  int64_t operator()(const entry::LinearCrossEntropy &entry) const {
    cpu::LinearCrossEntropy a;
    a.input = entry.input;
    a.weight = entry.weight;
    a.transposeWeight = entry.transposeWeight;
    a.inputGradient = entry.inputGradient;
    a.weightGradient = entry.weightGradient;
    a.biasGradient = entry.biasGradient;
    a.chunkRows = entry.chunkRows;
    return cpu::linearCrossEntropyWorkspace(a, workers);
  }
  template <typename Other> int64_t operator()(const Other &) const {
    return 0;
  }
};
template <int workers> int64_t processorWorkspace(const entry::Any &entry) {
  return std::visit(ProcessorWorkspace{workers}, entry);
}

} // namespace

std::vector<TestedDevice> testedDevices() {
  std::vector<TestedDevice> all = {
      {"Cpu", processor<1>, processorWorkspace<1>},
      {"CpuThreads", processor<threads>, processorWorkspace<threads>},
      {"Guarded", guarded, processorWorkspace<1>}};
  if (int count = cudaDeviceCount())
    all.push_back({"Cuda", cudaDevice, cudaWorkspace, count,
                   /*roundsFactors=*/true, /*mergesProducts=*/true,
                   /*mayRoundProducts=*/!cudaIsEmulated()});
  return all;
}

} // namespace shardc::runtime
