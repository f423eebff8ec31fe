// Operands, descriptors and the float64 loops.
#include "test/emulated-cuda/blaslt/TestedProduct.h"

#include "test/emulated-cuda/blaslt/Rounding.h"

#include <algorithm>
#include <cmath>

namespace shardc::test::cuda {
namespace {

double unitOf(cudaDataType type) {
  switch (type) {
  case CUDA_R_64F:
    return 0x1p-53;
  case CUDA_R_32F:
    return 0x1p-24;
  case CUDA_R_16F:
    return 0x1p-11;
  default:
    return 0x1p-8;
  }
}

void narrow(double value, cudaDataType type, char *to) {
  auto write = [&](auto narrowed) {
    std::memcpy(to, &narrowed, sizeof(narrowed));
  };
  switch (type) {
  case CUDA_R_64F:
    return write(value);
  case CUDA_R_32F:
    return write(float(value));
  case CUDA_R_16F:
    return write(Float16(float(value)));
  default:
    return write(Bfloat16(float(value)));
  }
}

double widen(const char *from, cudaDataType type) {
  auto read = [&](auto narrow) {
    std::memcpy(&narrow, from, sizeof(narrow));
    return narrow;
  };
  switch (type) {
  case CUDA_R_64F:
    return read(double());
  case CUDA_R_32F:
    return read(float());
  case CUDA_R_16F:
    return float(read(Float16()));
  default:
    return float(read(Bfloat16()));
  }
}

} // namespace

size_t bytesOf(cudaDataType type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

double rounded(double value, cudaDataType type) {
  char bytes[8];
  narrow(value, type, bytes);
  return widen(bytes, type);
}

Placed TestedProduct::place(cudaDataType type, int64_t rows, int64_t columns,
                            bool rowsFirst) const {
  Placed placed{type, rows, columns, 0, 0, rowsFirst, 0};
  placed.leading = (rowsFirst ? columns : rows) + wish.gap;
  int64_t one = placed.leading * (rowsFirst ? rows : columns);
  placed.batchStride = wish.batches > 1 ? one + wish.gap : 0;
  placed.elements = one + placed.batchStride * (wish.batches - 1);
  return placed;
}

cublasLtMatrixLayout_t TestedProduct::layoutOf(const Placed &placed) const {
  const OpenedLibraries &cuda = opened();
  cublasLtMatrixLayout_t layout;
  SHARDC_CHECK(cuda.cublasLtMatrixLayoutCreate(
      &layout, placed.type, placed.rows, placed.columns, placed.leading));
  int32_t order = placed.rowsFirst ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
  int32_t batches = wish.batches;
  if (placed.rowsFirst)
    SHARDC_CHECK(cuda.cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
  if (batches > 1) {
    SHARDC_CHECK(cuda.cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof(batches)));
    SHARDC_CHECK(cuda.cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
        &placed.batchStride, sizeof(placed.batchStride)));
  }
  return layout;
}

std::vector<double> TestedProduct::random(int64_t count, cudaDataType type) {
  std::vector<double> values(count);
  for (double &value : values) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    value = rounded(double(int64_t(seed) >> 32) / 0x1p31, type);
  }
  return values;
}

CUdeviceptr TestedProduct::put(const std::vector<double> &values,
                               cudaDataType type) {
  std::vector<char> bytes(values.size() * bytesOf(type));
  for (size_t i = 0; i < values.size(); ++i)
    narrow(values[i], type, &bytes[i * bytesOf(type)]);
  return device.put(bytes);
}

std::vector<double> TestedProduct::get(CUdeviceptr from, int64_t count,
                                       cudaDataType type) {
  std::vector<char> bytes = device.get<char>(from, count * bytesOf(type));
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = widen(&bytes[i * bytesOf(type)], type);
  return values;
}

TestedProduct::TestedProduct(Device &device, const Wish &wish)
    : wish(wish), device(device) {
  const OpenedLibraries &cuda = opened();
  a = place(wish.input, wish.transposeA ? wish.k : wish.m,
            wish.transposeA ? wish.m : wish.k, wish.rowsFirstA);
  b = place(wish.input, wish.transposeB ? wish.n : wish.k,
            wish.transposeB ? wish.k : wish.n, wish.rowsFirstB);
  if (wish.sharedB)
    b.batchStride = 0;
  d = place(wish.output, wish.m, wish.n, wish.rowsFirstD);
  if (wish.interleavedD) {
    d.batchStride = wish.rowsFirstD ? wish.n : wish.m;
    d.leading = d.batchStride * wish.batches + wish.gap;
    d.elements = d.leading * (wish.rowsFirstD ? wish.m : wish.n);
  }
  c = d;
  valuesA = random(a.elements, a.type), valuesB = random(b.elements, b.type);
  valuesC = random(c.elements, c.type);
  dataA = put(valuesA, a.type), dataB = put(valuesB, b.type);
  dataC = put(valuesC, c.type);
  valuesD = valuesC;
  dataD = wish.inPlace ? dataC : put(valuesD, d.type);
  workspace = device.allocate(std::max<size_t>(wish.workspace, 1));

  bool wide = wish.input == CUDA_R_64F;
  SHARDC_CHECK(cuda.cublasLtCreate(&handle));
  SHARDC_CHECK(cuda.cublasLtMatmulDescCreate(
      &desc, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
      wide ? CUDA_R_64F : CUDA_R_32F));
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    SHARDC_CHECK(cuda.cublasLtMatmulDescSetAttribute(desc, attribute, &value,
                                                     sizeof(value)));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(wish.transposeA));
  set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(wish.transposeB));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(wish.epilogue));
  if (wish.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    valuesBias = random(
        wish.epilogue == CUBLASLT_EPILOGUE_BGRADB ? wish.n : wish.m, d.type);
    dataBias = put(valuesBias, d.type);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer(dataBias));
  }
  layoutA = layoutOf(a), layoutB = layoutOf(b);
  layoutC = layoutOf(c), layoutD = layoutOf(d);
  SHARDC_CHECK(cuda.cublasLtMatmulPreferenceCreate(&preference));
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                    auto value) {
    SHARDC_CHECK(cuda.cublasLtMatmulPreferenceSetAttribute(
        preference, attribute, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(wish.workspace));
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, wish.reductions);
  for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(attribute, wish.alignment);
}

TestedProduct::~TestedProduct() {
  const OpenedLibraries &cuda = opened();
  cuda.cuStreamSynchronize(device.stream);
  cuda.cublasLtMatmulPreferenceDestroy(preference);
  for (cublasLtMatrixLayout_t layout : {layoutA, layoutB, layoutC, layoutD})
    cuda.cublasLtMatrixLayoutDestroy(layout);
  cuda.cublasLtMatmulDescDestroy(desc);
  cuda.cublasLtDestroy(handle);
}

cublasStatus_t TestedProduct::ask() {
  algorithms.resize(3);
  int found = 0;
  cublasStatus_t status = opened().cublasLtMatmulAlgoGetHeuristic(
      handle, desc, layoutA, layoutB, layoutC, layoutD, preference, 3,
      algorithms.data(), &found);
  algorithms.resize(status ? 0 : found);
  return status;
}

cublasStatus_t TestedProduct::run(size_t algorithm) {
  if (algorithms.empty())
    if (cublasStatus_t status = ask())
      return status;
  return call(&algorithms.at(algorithm).algo, wish.workspace);
}

cublasStatus_t TestedProduct::call(const cublasLtMatmulAlgo_t *algorithm,
                                   size_t workspaceBytes) {
  float alpha = wish.alpha, beta = wish.beta;
  bool wide = wish.input == CUDA_R_64F;
  return opened().cublasLtMatmul(
      handle, desc, wide ? static_cast<const void *>(&wish.alpha) : &alpha,
      pointer(dataA), layoutA, pointer(dataB), layoutB,
      wide ? static_cast<const void *>(&wish.beta) : &beta, pointer(dataC),
      layoutC, pointer(dataD), layoutD, algorithm, pointer(workspace),
      workspaceBytes, device.stream);
}

std::vector<char> TestedProduct::bytes() {
  return device.get<char>(dataD, d.elements * bytesOf(d.type));
}

double TestedProduct::error() {
  std::vector<double> got = get(dataD, d.elements, d.type);
  std::vector<double> expected = valuesD, allowed(d.elements, 0);
  double sumUnit = unitOf(wish.input == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F);
  for (int64_t batch = 0; batch < wish.batches; ++batch)
    for (int64_t i = 0; i < wish.m; ++i)
      for (int64_t j = 0; j < wish.n; ++j) {
        double sum = 0, terms = 0;
        for (int64_t l = 0; l < wish.k; ++l) {
          double term =
              valuesA[wish.transposeA ? a.at(batch, l, i) : a.at(batch, i, l)] *
              valuesB[wish.transposeB ? b.at(batch, j, l) : b.at(batch, l, j)];
          sum += term;
          terms += std::abs(term);
        }
        sum *= wish.alpha, terms *= std::abs(wish.alpha);
        int64_t at = d.at(batch, i, j);
        double before = sum;
        if (wish.epilogue == CUBLASLT_EPILOGUE_BIAS)
          before += valuesBias[i];
        if (wish.beta != 0) {
          sum += wish.beta * valuesC[at];
          terms += std::abs(wish.beta * valuesC[at]);
        }
        if (wish.epilogue == CUBLASLT_EPILOGUE_BIAS) {
          sum += valuesBias[i];
          terms += std::abs(valuesBias[i]);
        }
        expected[at] = sum;
        allowed[at] =
            (wish.k + 3) * terms * sumUnit + std::abs(sum) * unitOf(d.type);
        // An H200 with cuBLASLt 13.0 rounds these small products to 16 bits
        // before it adds C, whatever reductions it may choose from.
        if (wish.beta != 0 && bytesOf(d.type) == 2 && !opened().emulated)
          allowed[at] += std::abs(before) * unitOf(d.type);
      }
  double worst = errorOfBiasGradient();
  for (int64_t i = 0; i < d.elements; ++i) {
    double difference = std::abs(got[i] - expected[i]);
    if (allowed[i] > 0)
      difference /= allowed[i];
    else if (difference > 0) // a gap
      difference = INFINITY;
    worst = std::max(worst, std::isnan(difference) ? INFINITY : difference);
  }
  return worst;
}

double TestedProduct::errorOfBiasGradient() {
  bool ofA = wish.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  if (!ofA && wish.epilogue != CUBLASLT_EPILOGUE_BGRADB)
    return 0;
  std::vector<double> got = get(dataBias, valuesBias.size(), d.type);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double sum = 0, terms = 0;
    for (int64_t l = 0; l < wish.k; ++l) {
      double term =
          ofA ? valuesA[wish.transposeA ? a.at(0, l, i) : a.at(0, i, l)]
              : valuesB[wish.transposeB ? b.at(0, i, l) : b.at(0, l, i)];
      sum += term;
      terms += std::abs(term);
    }
    double unit = unitOf(wish.input == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F);
    worst = std::max(worst,
                     std::abs(got[i] - sum) / ((wish.k + 3) * terms * unit +
                                               std::abs(sum) * unitOf(d.type)));
  }
  return worst;
}

} // namespace shardc::test::cuda
