// Launches, matrix products, embeddings, copies and index calls, as calls.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/bind/Bind.h"
#include "runtime/cpu/moves/Indexing.h"
#include "runtime/cpu/products/Gemm.h"
#include "runtime/cpu/products/HalfGemm.h"

#include <algorithm>
#include <limits>

namespace shardc::runtime::cpu {

void requireBytes(const Tensor &tensor, int64_t bytes, const char *name) {
  int64_t has =
      tensor ? tensor.elements() * int64_t(elementSize(tensor.dtype)) : 0;
  if (has < bytes || (tensor && !tensor.contiguous()))
    fail("expects ", name, " of at least ", bytes, " contiguous bytes, got ",
         has);
}

int workersFor(const CpuDevice &device, const Tensor &workspace,
               int64_t slice) {
  requireBytes(workspace, slice, "workspace");
  return static_cast<int>(std::min<int64_t>(
      device.pool.workers(),
      workspace.elements() * int64_t(elementSize(workspace.dtype)) / slice));
}

Task bind(CpuDevice &device, const entry::Launch &entry) {
  KernelFunction function = device.kernels.function(entry.kernel);
  int64_t extent = device.plan.target().cpu().extents(int(entry.kernel));
  std::vector<void *> arguments;
  int64_t bytes = 0;
  for (const std::vector<Tensor> *tensors : {&entry.inputs, &entry.outputs})
    for (const Tensor &tensor : *tensors) {
      arguments.push_back(tensor.data);
      bytes += tensor.elements() * int64_t(elementSize(tensor.dtype));
    }
  // Work items that touch less than this are done before another thread has
  // woken up.
  constexpr int64_t bytesWorthAThread = 32 << 10;
  int64_t bytesPerItem =
      std::max<int64_t>(1, bytes / std::max<int64_t>(1, extent));
  int64_t grain = std::max<int64_t>(1, bytesWorthAThread / bytesPerItem);
  return [&device, function, extent, grain, arguments] {
    device.pool.forRanges(extent, grain, [&](int64_t begin, int64_t end, int) {
      function(arguments.data(), begin, end);
    });
  };
}

namespace {

void requireGemmSize(const entry::Matrix &matrix, const char *name) {
  const Tensor &t = matrix.tensor;
  if (std::max({matrix.rows, matrix.columns, matrix.stride}) >
      std::numeric_limits<int32_t>::max())
    fail(name, " ", t.describe(), " is too large for the GEMM library");
}

Batch batchOf(const entry::Gemm &entry) {
  return {entry.c.batch, entry.a.batchStride, entry.b.batchStride,
          entry.c.batchStride};
}

template <typename T>
Task bindGemm(CpuDevice &device, const entry::Gemm &entry) {
  Gemm<T> product{};
  product.m = entry.c.rows, product.n = entry.c.columns;
  product.k = entry.a.columns;
  product.a = entry.a.tensor.as<T>(), product.strideA = entry.a.stride;
  product.transposeA = entry.transposeA;
  product.b = entry.b.tensor.as<T>(), product.strideB = entry.b.stride;
  product.transposeB = entry.transposeB;
  product.c = entry.c.tensor.as<T>(), product.strideC = entry.c.stride;
  product.accumulate = entry.accumulate;
  product.bias = entry.bias ? entry.bias.as<T>() : nullptr;
  Batch batch = batchOf(entry);
  prepareGemm(product, batch, device.pool);
  if (batch.count == 1)
    return [&device, product] { gemm(product, device.pool); };
  return [&device, product, batch] { gemm(product, batch, device.pool); };
}

Task bindHalfGemm(CpuDevice &device, const entry::Gemm &entry) {
  auto matrix = [](const entry::Matrix &from, bool transpose) {
    return GemmDesc::Matrix{from.tensor.data, from.tensor.dtype, from.stride,
                            transpose};
  };
  GemmDesc product{};
  product.m = entry.c.rows, product.n = entry.c.columns;
  product.k = entry.a.columns;
  product.a = matrix(entry.a, entry.transposeA);
  product.b = matrix(entry.b, entry.transposeB);
  product.c = matrix(entry.c, false);
  product.accumulate = entry.accumulate;
  product.bias = entry.bias.data, product.biasDtype = entry.bias.dtype;
  Batch batch = batchOf(entry);
  std::byte *workspace = entry.workspace.data;
  int workers = workersFor(device, entry.workspace,
                           halfGemmWorkspace(product.m, product.n, product.k));
  prepareHalfGemm(product, batch, workers, device.pool);
  return [&device, product, batch, workspace, workers] {
    halfGemm(product, batch, workspace, workers, device.pool);
  };
}

} // namespace

Task bind(CpuDevice &device, const entry::Gemm &entry) {
  // No plan for this target has them: kernels do here what they would.
  if (entry.residual.tensor || entry.biasGradient)
    fail("products on a CPU have no residual and no bias gradient, got ",
         (entry.residual.tensor ? entry.residual.tensor : entry.biasGradient)
             .describe(),
         "; compile the model for cpu");
  requireGemmSize(entry.a, "a");
  requireGemmSize(entry.b, "b");
  requireGemmSize(entry.c, "c");
  plan::DType dtype = entry.a.tensor.dtype;
  if (isHalf(dtype))
    return bindHalfGemm(device, entry);
  return dtype == plan::FLOAT32 ? bindGemm<float>(device, entry)
                                : bindGemm<double>(device, entry);
}

Task bind(CpuDevice &device, const entry::Embedding &entry) {
  return [=, &device] {
    embedding(entry.table, entry.ids, entry.output, device.pool);
  };
}

Task bind(CpuDevice &device, const entry::EmbeddingGrad &entry) {
  if (entry.parts > 1)
    return [=, &device] {
      bool accumulate =
          entry.running ? device.numbers.microBatch > 0 : entry.accumulate;
      embeddingGradOfParts(entry.gradient, entry.ids, entry.parts,
                           entry.tableGradient, device.pool, accumulate);
    };
  return [=, &device] {
    embeddingGrad(entry.gradient, entry.ids, entry.tableGradient, device.pool,
                  entry.accumulate);
  };
}

Task bind(CpuDevice &device, const entry::Copy &entry) {
  return [=, &device] { copy(entry.source, entry.destination, device.pool); };
}

Task bind(CpuDevice &device, const entry::Fill &entry) {
  return [=, &device] { fill(entry.destination, entry.value, device.pool); };
}

Task bind(CpuDevice &, const entry::IndexCall &entry) {
  auto number = [&](const char *name) {
    auto found = entry.numbers.find(name);
    return found == entry.numbers.end() ? 0 : found->second;
  };
  const std::vector<Tensor> &of = entry.inputs;
  const Tensor &result = entry.outputs[0];
  int64_t axis = number("axis");
  if (entry.function == "cumsum") {
    bool exclusive = number("exclusive"), reverse = number("reverse");
    return [=] { cumsum(of[0], result, axis, exclusive, reverse); };
  }
  if (entry.function == "gather")
    return [=] { gather(of[0], of[1], result, axis); };
  if (entry.function == "gather_grad")
    return [=] { gatherGrad(of[0], of[1], result, axis); };
  if (entry.function == "gather_nd") {
    int64_t batchDims = number("batch_dims");
    return [=] { gatherNd(of[0], of[1], result, batchDims); };
  }
  fail("this processor has no host function ", entry.function);
}

} // namespace shardc::runtime::cpu
