// Cross entropies: rows by one kernel, their sum by another. With a linear layer
// before them, chunks of rows go through the layer, the rows' kernel, and the
// products for gradients, while their logits are there.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/Faults.h"
#include "runtime/cuda/LossWorkspace.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/kernels/CrossEntropyParameters.h"
#include "runtime/device/DataErrors.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

/// The tasks of an entry, in their order.
Task sequence(std::vector<Task> tasks) {
  return [tasks = std::move(tasks)] {
    for (const Task &task : tasks)
      task();
  };
}

LabelsParameters labelsOf(CudaDevice &device, const entry::Labels &labels,
                          int64_t classes) {
  const Tensor &tensor = labels.labels;
  LabelsParameters of = {};
  of.labels = addressOf(tensor);
  of.isWide = tensor.dtype == plan::INT64;
  of.length = tensor.shape.empty() ? 1 : tensor.shape.back();
  of.ignoreIndex = labels.ignoreIndex, of.shift = labels.shift;
  of.smoothing = labels.smoothing;
  of.weights = addressOf(labels.classWeights);
  of.classes = classes;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    int64_t size = tensor.shape[dim], stride = tensor.strides[dim];
    // A dim goes on where the one before it ends.
    if (of.rank && of.strides[of.rank - 1] == size * stride) {
      of.sizes[of.rank - 1] *= size;
      of.strides[of.rank - 1] = stride;
      continue;
    }
    if (size == 1)
      continue;
    if (of.rank == mostDims)
      fail("labels ", tensor.describe(), " have more than ", mostDims,
           " dims that do not lie side by side");
    of.sizes[of.rank] = size;
    of.strides[of.rank++] = stride;
  }
  of.fault = device.faults->word(
      [classes, ignored = labels.ignoreIndex](int64_t position, int64_t label) {
        return wrongLabel(label, position, classes, ignored);
      });
  return of;
}

/// As many threads as a row has packs for.
Grid rowsGrid(int64_t rows, int64_t classes, plan::DType dtype) {
  int64_t packs = classes * int64_t(elementSize(dtype)) / 16;
  unsigned threads = 32;
  while (threads < mostRowThreads && threads < packs)
    threads *= 2;
  return {gridFor(rows * threads, threads).blocks, threads};
}

Task rowsTask(CudaDevice &device, const CrossEntropyParameters &parameters,
              plan::DType dtype) {
  return kernelTask(
      device, "CrossEntropy", std::string("cross_entropy_") + suffixOf(dtype),
      rowsGrid(parameters.rows, parameters.labels.classes, dtype), parameters);
}

Task clearTask(CudaDevice &device, CUdeviceptr address, int64_t bytes) {
  return [&device, address, bytes] {
    device.context.driver.cuMemsetD8Async(address, 0, size_t(bytes),
                                          device.compute);
  };
}

Task lossSumTask(CudaDevice &device, CUdeviceptr losses, int64_t rows,
                 const Tensor &scale, const Tensor &loss,
                 const Tensor &correct) {
  return kernelTask(device, "CrossEntropy",
                    std::string("loss_sum_") + suffixOf(loss.dtype),
                    {1, sumThreads},
                    LossSumParameters{losses, rows, addressOf(scale),
                                      addressOf(loss), addressOf(correct)});
}

} // namespace

Task bind(CudaDevice &device, const entry::CrossEntropy &entry) {
  Rows rows = *foldRows(entry.logits, 1);
  requireWorkspace(entry.workspace, rows.rows * int64_t(sizeof(double)));
  CrossEntropyParameters of = {};
  of.logits = addressOf(entry.logits);
  of.rows = rows.rows, of.stride = rows.stride;
  of.labels = labelsOf(device, entry.labels, entry.logits.shape.back());
  of.losses = addressOf(entry.workspace);
  of.correct = addressOf(entry.correct);
  std::vector<Task> tasks;
  if (entry.correct)
    tasks.push_back(clearTask(device, of.correct, sizeof(double)));
  tasks.push_back(rowsTask(device, of, entry.logits.dtype));
  tasks.push_back(lossSumTask(device, of.losses, rows.rows, entry.scale,
                              entry.loss, entry.correct));
  return sequence(std::move(tasks));
}

Task bind(CudaDevice &device, const entry::CrossEntropyGrad &entry) {
  Rows rows = *foldRows(entry.logits, 1),
       out = *foldRows(entry.logitsGradient, 1);
  CrossEntropyParameters of = {};
  of.logits = addressOf(entry.logits);
  of.rows = rows.rows, of.stride = rows.stride;
  of.labels = labelsOf(device, entry.labels, entry.logits.shape.back());
  of.gradient = addressOf(entry.logitsGradient);
  of.gradientStride = out.stride;
  of.scale = addressOf(entry.scale);
  of.outer = addressOf(entry.gradient);
  return rowsTask(device, of, entry.logits.dtype);
}

namespace {

/// What LinearCrossEntropy's chunks share: places in the workspace, and
/// operands as products have them.
class Chunks {
public:
  Chunks(CudaDevice &device, const entry::LinearCrossEntropy &entry);

  std::vector<Task> tasks();

private:
  entry::Matrix matrix(const Tensor &tensor, int64_t rows, int64_t columns,
                       int64_t stride) const;
  /// `rows` of a tensor that is foldable into rows.
  entry::Matrix rowsOf(const Tensor &tensor, int64_t first, int64_t rows) const;
  entry::Matrix weightAs(int64_t rows, int64_t columns) const;
  Task productTask(entry::Gemm product);
  Task logitsTask(int64_t first, int64_t rows);
  Task lossesTask(int64_t first, int64_t rows);
  Task inputGradientTask(int64_t first, int64_t rows);
  Task weightGradientTask(int64_t first, int64_t rows);
  Task biasGradientTask(int64_t first, int64_t rows);
  Task roundTask(CUdeviceptr from, const Tensor &to, int64_t rows,
                 int64_t columns, int64_t stride);

  CudaDevice &device;
  const entry::LinearCrossEntropy &a;
  Rows input;
  int64_t features, classes, stride; // of the logits' rows
  plan::DType dtype;
  Tensor logits;  // a chunk of them
  Tensor scratch; // of products
  CUdeviceptr losses = 0;
  /// Where gradients of 16 bits are added up, to be rounded once; else the
  /// gradients.
  Tensor weightSums, biasSums;
  LabelsParameters labels;
};

Chunks::Chunks(CudaDevice &device, const entry::LinearCrossEntropy &a)
    : device(device), a(a), input(*foldRows(a.input, 1)),
      features(a.input.shape.back()),
      classes(a.weight.shape[a.transposeWeight ? 0 : 1]),
      stride(logitsStride(classes, int64_t(elementSize(a.input.dtype)))),
      dtype(a.input.dtype), weightSums(a.weightGradient),
      biasSums(a.biasGradient), labels(labelsOf(device, a.labels, classes)) {
  int64_t chunk = std::min(a.chunkRows, input.rows);
  LossWorkspace places({.rows = input.rows,
                        .chunk = chunk,
                        .features = features,
                        .classes = classes,
                        .logitsRowBytes = stride * int64_t(elementSize(dtype)),
                        .sumsWeights = weightSums && isHalf(weightSums.dtype) &&
                                       chunk < input.rows,
                        .sumsBias = biasSums && isHalf(biasSums.dtype)});
  requireWorkspace(a.workspace, places.products);
  std::byte *begin = a.workspace.data;
  logits.dtype = dtype;
  logits.data = begin;
  logits.shape = {chunk, classes};
  logits.strides = {stride, 1};
  losses = reinterpret_cast<CUdeviceptr>(begin + places.losses);
  auto sumIn = [&](Tensor &gradient, int64_t place) {
    gradient.dtype = plan::FLOAT32;
    gradient.strides = rowMajorStrides(gradient.shape);
    gradient.data = begin + place;
  };
  if (places.of.sumsWeights)
    sumIn(weightSums, places.weightSums);
  if (places.of.sumsBias)
    sumIn(biasSums, places.biasSums);
  scratch = a.workspace;
  scratch.data += places.products;
  scratch.shape = {a.workspace.elements() - places.products};
}

Task Chunks::productTask(entry::Gemm product) {
  product.workspace = scratch;
  return bind(device, product);
}

entry::Matrix Chunks::matrix(const Tensor &tensor, int64_t rows,
                             int64_t columns, int64_t stride) const {
  entry::Matrix of;
  of.tensor = tensor;
  of.rows = rows, of.columns = columns, of.stride = stride;
  return of;
}

entry::Matrix Chunks::rowsOf(const Tensor &tensor, int64_t first,
                             int64_t rows) const {
  int64_t stride = foldRows(tensor, 1)->stride, columns = tensor.shape.back();
  Tensor part = tensor;
  part.data += first * stride * int64_t(elementSize(tensor.dtype));
  part.shape = {rows, columns};
  part.strides = {stride, 1};
  return matrix(part, rows, columns, stride);
}

entry::Matrix Chunks::weightAs(int64_t rows, int64_t columns) const {
  return matrix(a.weight, rows, columns, a.weight.strides[0]);
}

Task Chunks::logitsTask(int64_t first, int64_t rows) {
  entry::Gemm product;
  product.a = rowsOf(a.input, first, rows);
  product.b = weightAs(features, classes);
  product.transposeB = a.transposeWeight;
  product.c = rowsOf(logits, 0, rows);
  product.bias = a.bias;
  return productTask(std::move(product));
}

Task Chunks::lossesTask(int64_t first, int64_t rows) {
  CrossEntropyParameters of = {};
  of.logits = addressOf(logits);
  of.rows = rows, of.stride = of.gradientStride = stride, of.firstRow = first;
  of.labels = labels;
  of.losses = losses;
  of.softcap = a.softcap;
  of.correct = addressOf(a.correct);
  if (a.inputGradient || a.weightGradient || a.biasGradient)
    of.gradient = of.logits;
  of.scale = addressOf(a.scale);
  return rowsTask(device, of, dtype);
}

Task Chunks::inputGradientTask(int64_t first, int64_t rows) {
  entry::Gemm product;
  product.a = rowsOf(logits, 0, rows);
  product.b = weightAs(classes, features);
  product.transposeB = !a.transposeWeight;
  product.c = rowsOf(a.inputGradient, first, rows);
  return productTask(std::move(product));
}

Task Chunks::weightGradientTask(int64_t first, int64_t rows) {
  entry::Gemm product;
  product.a = rowsOf(a.input, first, rows);
  product.b = rowsOf(logits, 0, rows);
  if (a.transposeWeight)
    std::swap(product.a, product.b);
  product.transposeA = true;
  std::swap(product.a.rows, product.a.columns); // as they are behind it
  product.c = matrix(weightSums, product.a.rows, product.b.columns,
                     weightSums.strides[0]);
  product.accumulate = first > 0;
  return productTask(std::move(product));
}

Task Chunks::biasGradientTask(int64_t first, int64_t rows) {
  return kernelTask(
      device, "CrossEntropy", std::string("column_sums_") + suffixOf(dtype),
      gridFor(classes, sumThreads),
      ColumnSumsParameters{addressOf(logits), rows, classes, stride,
                           addressOf(biasSums), first > 0});
}

Task Chunks::roundTask(CUdeviceptr from, const Tensor &to, int64_t rows,
                       int64_t columns, int64_t stride) {
  return kernelTask(
      device, "CrossEntropy", std::string("round_rows_") + suffixOf(to.dtype),
      gridFor(rows * columns / 8, sumThreads),
      RoundRowsParameters{from, addressOf(to), rows, columns, stride});
}

std::vector<Task> Chunks::tasks() {
  std::vector<Task> tasks;
  if (a.correct)
    tasks.push_back(clearTask(device, addressOf(a.correct), sizeof(double)));
  // A batch without rows still has gradients: zeros.
  if (input.rows == 0)
    for (const Tensor &gradient : {a.weightGradient, a.biasGradient})
      if (gradient)
        tasks.push_back(bind(device, entry::Fill{gradient, 0}));
  for (int64_t first = 0; first < input.rows; first += a.chunkRows) {
    int64_t rows = std::min(a.chunkRows, input.rows - first);
    tasks.push_back(logitsTask(first, rows));
    tasks.push_back(lossesTask(first, rows));
    if (a.inputGradient)
      tasks.push_back(inputGradientTask(first, rows));
    if (a.weightGradient)
      tasks.push_back(weightGradientTask(first, rows));
    if (a.biasGradient)
      tasks.push_back(biasGradientTask(first, rows));
  }
  if (input.rows > 0 && weightSums.data != a.weightGradient.data)
    tasks.push_back(roundTask(addressOf(weightSums), a.weightGradient,
                              a.weight.shape[0], a.weight.shape[1],
                              a.weightGradient.strides[0]));
  if (input.rows > 0 && biasSums.data != a.biasGradient.data)
    tasks.push_back(
        roundTask(addressOf(biasSums), a.biasGradient, 1, classes, classes));
  tasks.push_back(
      lossSumTask(device, losses, input.rows, a.scale, a.loss, a.correct));
  return tasks;
}

} // namespace

Task bind(CudaDevice &device, const entry::LinearCrossEntropy &entry) {
  return sequence(Chunks(device, entry).tasks());
}

} // namespace shardc::runtime::cuda
