// GPUs for the conformance suite.
#include "test/runtime/device/CudaDevices.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/kernels/CrossEntropyParameters.h"
#include "test/runtime/device/TestedDevices.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace shardc::runtime {
namespace {

const unsigned char kernelsPtx[] = {
#include "TestKernels.inc"
    0};

const cuda::Libraries *libraries() {
  static const std::unique_ptr<cuda::Libraries> opened = [] {
    try {
      return std::make_unique<cuda::Libraries>();
    } catch (const Error &) {
      return std::unique_ptr<cuda::Libraries>();
    }
  }();
  return opened.get();
}

constexpr const char *symbols[] = {"scale_and_add", "row_sums", "increment"};

const plan::Plan &testPlan() {
  static const plan::Plan made = [] {
    plan::Plan plan;
    plan::CudaTarget &cuda = *plan.mutable_target()->mutable_cuda();
    constexpr int64_t threads = 128;
    for (int64_t extent :
         {TestKernel::elements, TestKernel::rows, TestKernel::elements}) {
      plan.add_kernels()->set_symbol(symbols[plan.kernels_size() - 1]);
      plan::CudaTarget::Grid &grid = *cuda.add_grids();
      grid.set_blocks((extent + threads - 1) / threads);
      grid.set_threads(threads);
    }
    return plan;
  }();
  return made;
}

const cuda::Images &testImages() {
  static const cuda::Images made = [] {
    plan::CudaKernels kernels;
    for (const char *symbol : symbols) {
      plan::CudaKernels::Kernel &kernel = *kernels.add_kernels();
      kernel.set_symbol(symbol);
      kernel.set_ptx(kernelsPtx, sizeof(kernelsPtx) - 1);
    }
    std::string section = kernels.SerializeAsString();
    return cuda::Images(std::as_bytes(std::span(section)), testPlan());
  }();
  return made;
}

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// codegen/gpu/GpuWorkspaces.h has the formulas.
struct Workspace {
  // [batch, sequence, heads, head dim]
  static int64_t rowsOf(const entry::AttentionOperands &of) {
    const std::vector<int64_t> &query = of.query.shape;
    return query[0] * query[1] * query[2];
  }
  /// What cuDNN may take where it is, of shapes as small as tests have: float32
  /// for each score, and for each of a row's and a key's numbers.
  static int64_t forCudnn(const entry::AttentionOperands &of) {
    int64_t queries = of.query.shape[1], keys = of.key.shape[1];
    int64_t heads = rowsOf(of) / std::max<int64_t>(queries, 1);
    int64_t dims = of.query.shape[3] + of.value.shape[3];
    return 4096 + aligned(heads * 4 *
                          ((queries + 127) * (keys + 127) +
                           (queries + keys) * (dims + 2)));
  }
  int64_t operator()(const entry::Attention &entry) const {
    return forCudnn(entry.operands);
  }
  int64_t operator()(const entry::AttentionGrad &entry) const {
    auto size = int64_t(elementSize(entry.operands.query.dtype));
    return std::max(
        forCudnn(entry.operands),
        3 * aligned(rowsOf(entry.operands) * std::max<int64_t>(size, 4)));
  }
  int64_t operator()(const entry::CrossEntropy &entry) const {
    return foldRows(entry.logits, 1)->rows * int64_t(sizeof(double));
  }
  int64_t operator()(const entry::LinearCrossEntropy &entry) const {
    int64_t rows = foldRows(entry.input, 1)->rows;
    int64_t features = entry.input.shape.back();
    int64_t classes = entry.weight.shape[entry.transposeWeight ? 0 : 1];
    auto size = int64_t(elementSize(entry.input.dtype));
    auto isNarrow = [](const Tensor &tensor) {
      return tensor && elementSize(tensor.dtype) < 4;
    };
    int64_t bytes =
        aligned(entry.chunkRows * cuda::logitsStride(classes, size) * size) +
        aligned(rows * 8);
    if (isNarrow(entry.weightGradient) && entry.chunkRows < rows)
      bytes += aligned(features * classes * 4);
    if (isNarrow(entry.biasGradient))
      bytes += aligned(classes * 4);
    return bytes;
  }
  int64_t operator()(const entry::StartReduceScatter &entry) const {
    int64_t bytes =
        entry.flat.elements() * int64_t(elementSize(entry.flat.dtype));
    return entry.group->size() > 1 ? bytes : 0;
  }
  /// Long values arrive in parts.
  int64_t operator()(const entry::StartAllReduce &entry) const {
    int64_t bytes = 0;
    for (const Tensor &value : entry.values)
      bytes = std::max(bytes, std::min<int64_t>(value.elements(), 700) *
                                  int64_t(elementSize(value.dtype)) *
                                  entry.group->size());
    return entry.group->size() > 1 ? bytes : 0;
  }
  template <typename Other> int64_t operator()(const Other &) const {
    return 0;
  }
};

} // namespace

int cudaDeviceCount() {
  int count = 0;
  if (libraries())
    libraries()->driver.cuDeviceGetCount(&count);
  return count;
}

bool cudaIsEmulated() {
  char name[32] = {};
  if (cudaDeviceCount())
    libraries()->driver.cuDeviceGetName(name, sizeof(name) - 1, 0);
  return std::strcmp(name, "Emulated GPU") == 0;
}

/// A real GPU's context takes up to half a second to make, and there are
/// thousands of devices in these tests: the first one's stays.
static void keepContext(int ordinal) {
  static std::mutex mutex;
  // It outlives what is destroyed as the process ends.
  static auto &kept = *new std::map<int, std::unique_ptr<cuda::Context>>;
  std::lock_guard lock(mutex);
  std::unique_ptr<cuda::Context> &context = kept[ordinal];
  if (context)
    return;
  auto made = std::make_unique<cuda::Context>(*libraries(), ordinal);
  // The emulated one ends with the device, and all that is its with it.
  if (cuda::modelOf(libraries()->driver, made->device) != "Emulated GPU")
    context = std::move(made);
}

std::unique_ptr<cuda::CudaDevice> cudaDevice(const plan::Plan &plan,
                                             Communicator &communicator) {
  keepContext(communicator.rank());
  // cuDNN rounds more than these tests allow for.
  DeviceOptions options;
  options.attention = AttentionBy::Own;
  return std::make_unique<cuda::CudaDevice>(plan, *libraries(), testImages(),
                                            communicator, communicator.rank(),
                                            options);
}

std::unique_ptr<Device> cudaDevice(Communicator &communicator) {
  return cudaDevice(testPlan(), communicator);
}

int64_t cudaWorkspace(const entry::Any &entry) {
  return std::visit(Workspace(), entry);
}

} // namespace shardc::runtime
