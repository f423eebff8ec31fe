// Products are described to cuBLASLt once, when they are bound.
//
// The library counts columns first. A row-major matrix is its own transpose
// there, so that it is asked for c^T = op(b)^T op(a)^T, whose operands are b and
// a as they lie in memory.
#include "runtime/cuda/products/Products.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/products/SplitProduct.h"
#include "runtime/cuda/products/Tuning.h"

#include <algorithm>
#include <map>
#include <vector>

namespace shardc::runtime::cuda {
namespace {

cudaDataType typeOf(plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT64:
    return CUDA_R_64F;
  case plan::FLOAT32:
    return CUDA_R_32F;
  case plan::BFLOAT16:
    return CUDA_R_16BF;
  case plan::FLOAT16:
    return CUDA_R_16F;
  default:
    fail("products are of floats, got ", plan::DType_Name(dtype));
  }
}

} // namespace

/// What the library's descriptions of a product are, until the device goes.
struct Product {
  explicit Product(const BlasLt &library) : library(library) {}
  ~Product() {
    for (cublasLtMatrixLayout_t layout : {a, b, add, c})
      if (layout)
        library.cublasLtMatrixLayoutDestroy(layout);
    if (desc)
      library.cublasLtMatmulDescDestroy(desc);
  }
  Product(const Product &) = delete;

  const BlasLt &library;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, add = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  const void *dataA = nullptr, *dataB = nullptr, *added = nullptr;
  void *dataC = nullptr;
  double beta = 0; // of what is added
  bool isDouble = false;
};

struct Products::State {
  explicit State(CudaDevice &device)
      : device(device), library(device.context.libraries.blasLt()) {}

  CudaDevice &device;
  const BlasLt &library;
  cublasLtHandle_t handle = nullptr;
  /// Ones, by type, for products that spread a bias over rows.
  struct Ones {
    Tensor tensor;
    int64_t count = 0;
  };
  std::map<plan::DType, Ones> ones;
  std::unique_ptr<Tuning> tuning; // null: the first algorithm is taken

  cublasLtMatrixLayout_t layoutOf(const entry::Matrix &matrix,
                                  bool isTransposed) const;
  /// Null where the library has no algorithm: `status` says why.
  std::shared_ptr<Product> tryToDescribe(const entry::Gemm &entry,
                                         cublasStatus_t &status) const;
  std::shared_ptr<Product> describe(const entry::Gemm &entry) const;
  /// Asks the heuristic for so many algorithms at most; empty: it has none, and
  /// `status` says why.
  Tuning::Candidates ask(const Product &product, const entry::Gemm &entry,
                         int most, cublasStatus_t &status) const;
  cublasStatus_t choose(Product &product, const entry::Gemm &entry) const;
  void chooseTuned(Product &product, const entry::Gemm &entry) const;
  cublasStatus_t tryToEnqueue(const Product &product,
                              const cublasLtMatmulAlgo_t &algorithm,
                              size_t workspaceBytes) const;
  void enqueue(const Product &product) const {
    library.check(
        tryToEnqueue(product, product.algorithm, product.workspaceBytes),
        "cublasLtMatmul");
  }
  Tensor onesOf(plan::DType dtype, int64_t count);
  /// The product that a bias gradient is, by itself.
  entry::Gemm sumsOf(const entry::Gemm &entry);
};

Products::Products(CudaDevice &device) : state(new State(device)) {
  state->library.check(state->library.cublasLtCreate(&state->handle),
                       "cublasLtCreate");
  if (device.tunes)
    state->tuning = std::make_unique<Tuning>(device);
}

Products::~Products() { state->library.cublasLtDestroy(state->handle); }

/// `isTransposed`: the entry's flag, as rows and columns of the matrix are those
/// behind it.
cublasLtMatrixLayout_t Products::State::layoutOf(const entry::Matrix &matrix,
                                                 bool isTransposed) const {
  uint64_t rows = matrix.columns,
           columns = matrix.rows; // as the library has it
  if (isTransposed)
    std::swap(rows, columns);
  cublasLtMatrixLayout_t layout = nullptr;
  library.check(library.cublasLtMatrixLayoutCreate(
                    &layout, typeOf(matrix.tensor.dtype), rows, columns,
                    std::max<int64_t>(matrix.stride, int64_t(rows))),
                "cublasLtMatrixLayoutCreate");
  if (matrix.batch > 1) {
    auto batch = static_cast<int32_t>(matrix.batch);
    library.check(
        library.cublasLtMatrixLayoutSetAttribute(
            layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
        "cublasLtMatrixLayoutSetAttribute");
    int64_t stride = matrix.batchStride;
    library.check(library.cublasLtMatrixLayoutSetAttribute(
                      layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                      &stride, sizeof(stride)),
                  "cublasLtMatrixLayoutSetAttribute");
  }
  return layout;
}

std::shared_ptr<Product>
Products::State::tryToDescribe(const entry::Gemm &entry,
                               cublasStatus_t &status) const {
  auto product = std::make_shared<Product>(library);
  product->isDouble = entry.a.tensor.dtype == plan::FLOAT64;
  library.check(library.cublasLtMatmulDescCreate(
                    &product->desc,
                    product->isDouble ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                    product->isDouble ? CUDA_R_64F : CUDA_R_32F),
                "cublasLtMatmulDescCreate");
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    library.check(library.cublasLtMatmulDescSetAttribute(
                      product->desc, attribute, &value, sizeof(value)),
                  "cublasLtMatmulDescSetAttribute");
  };
  // The library's first operand is b.
  int32_t first = entry.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N;
  int32_t second = entry.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, second);
  auto setEpilogue = [&](uint32_t epilogue, const void *bias) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  };
  if (entry.bias)
    setEpilogue(CUBLASLT_EPILOGUE_BIAS, entry.bias.data);
  if (entry.biasGradient)
    setEpilogue(entry.gradientOfA ? CUBLASLT_EPILOGUE_BGRADB
                                  : CUBLASLT_EPILOGUE_BGRADA,
                entry.biasGradient.data);
  product->a = layoutOf(entry.a, entry.transposeA);
  product->b = layoutOf(entry.b, entry.transposeB);
  product->c = layoutOf(entry.c, false);
  const entry::Matrix &added = entry.residual.tensor ? entry.residual : entry.c;
  product->add = layoutOf(added, false);
  product->dataA = entry.a.tensor.data;
  product->dataB = entry.b.tensor.data;
  product->added = added.tensor.data;
  product->dataC = entry.c.tensor.data;
  product->beta = entry.accumulate || entry.residual.tensor ? 1 : 0;
  status = choose(*product, entry);
  return status ? nullptr : product;
}

std::shared_ptr<Product>
Products::State::describe(const entry::Gemm &entry) const {
  cublasStatus_t status;
  std::shared_ptr<Product> product = tryToDescribe(entry, status);
  if (!product)
    fail("cuBLASLt has no algorithm for the product of ",
         entry.a.tensor.describe(), " and ", entry.b.tensor.describe(),
         " (transposed: ", entry.transposeA, ", ", entry.transposeB, ") to ",
         entry.c.tensor.describe(), ": ",
         library.cublasLtGetStatusString(status));
  return product;
}

static uint64_t workspaceOf(const entry::Gemm &entry) {
  return entry.workspace ? uint64_t(entry.workspace.elements()) : 0;
}

Tuning::Candidates Products::State::ask(const Product &product,
                                        const entry::Gemm &entry, int most,
                                        cublasStatus_t &status) const {
  cublasLtMatmulPreference_t preference = nullptr;
  library.check(library.cublasLtMatmulPreferenceCreate(&preference),
                "cublasLtMatmulPreferenceCreate");
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                 const auto &value) {
    return library.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                        &value, sizeof(value));
  };
  uint64_t workspace = workspaceOf(entry);
  uint32_t ofA = alignmentOf(entry.a), ofB = alignmentOf(entry.b),
           ofC = alignmentOf(entry.c);
  uint32_t ofAdded = entry.residual.tensor ? alignmentOf(entry.residual) : ofC;
  // Sums are rounded once, where they leave: else a product whose k is split, or
  // that is added to what is there, may be rounded to 16 bits before it is added.
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  Tuning::Candidates results(most);
  int found = 0;
  status = CUBLAS_STATUS_SUCCESS;
  for (cublasStatus_t each :
       {set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace),
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions),
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, ofB),
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, ofA),
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, ofAdded),
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, ofC)})
    status = status ? status : each;
  if (!status)
    status = library.cublasLtMatmulAlgoGetHeuristic(
        handle, product.desc, product.b, product.a, product.add, product.c,
        preference, most, results.data(), &found);
  library.cublasLtMatmulPreferenceDestroy(preference);
  results.resize(status ? 0 : found);
  if (!status && (found < 1 || results[0].state))
    status = found < 1 ? CUBLAS_STATUS_NOT_SUPPORTED : results[0].state;
  std::erase_if(results, [&](const cublasLtMatmulHeuristicResult_t &each) {
    return each.state || each.workspaceSize > workspace;
  });
  return results;
}

cublasStatus_t Products::State::choose(Product &product,
                                       const entry::Gemm &entry) const {
  cublasStatus_t status;
  Tuning::Candidates first = ask(product, entry, 1, status);
  if (status)
    return status;
  product.workspace = entry.workspace.data;
  if (tuning)
    chooseTuned(product, entry);
  else
    product.algorithm = first[0].algo,
    product.workspaceBytes = first[0].workspaceSize;
  return CUBLAS_STATUS_SUCCESS;
}

void Products::State::chooseTuned(Product &product,
                                  const entry::Gemm &entry) const {
  std::string text = tunedText(entry);
  product.algorithm = tuning->choose(
      text,
      [&] {
        cublasStatus_t ignored;
        return ask(product, entry, Tuning::mostAlgorithms, ignored);
      },
      [&](const cublasLtMatmulHeuristicResult_t &candidate) {
        return tryToEnqueue(product, candidate.algo, candidate.workspaceSize) ==
               CUBLAS_STATUS_SUCCESS;
      });
  // Another run may have chosen it, and somebody may have edited the file.
  cublasLtMatmulHeuristicResult_t result = {};
  cublasStatus_t status = library.cublasLtMatmulAlgoCheck(
      handle, product.desc, product.b, product.a, product.add, product.c,
      &product.algorithm, &result);
  if (status)
    tuning->refuse(text, library.cublasLtGetStatusString(status));
  if (result.workspaceSize > workspaceOf(entry))
    tuning->refuse(text, concat("it needs a workspace of ",
                                result.workspaceSize, " bytes"));
  product.workspaceBytes = result.workspaceSize;
}

cublasStatus_t
Products::State::tryToEnqueue(const Product &product,
                              const cublasLtMatmulAlgo_t &algorithm,
                              size_t workspaceBytes) const {
  double one = 1, beta = product.beta;
  float oneFloat = 1, betaFloat = float(product.beta);
  bool isDouble = product.isDouble;
  return library.cublasLtMatmul(
      handle, product.desc,
      isDouble ? static_cast<const void *>(&one) : &oneFloat, product.dataB,
      product.b, product.dataA, product.a,
      isDouble ? static_cast<const void *>(&beta) : &betaFloat, product.added,
      product.add, product.dataC, product.c, &algorithm, product.workspace,
      workspaceBytes, device.compute);
}

/// A vector of ones, which stays.
Tensor Products::State::onesOf(plan::DType dtype, int64_t count) {
  Ones &of = ones[dtype];
  if (of.count < count) {
    auto size = int64_t(elementSize(dtype));
    of.tensor.data =
        reinterpret_cast<std::byte *>(device.allocateSmall(count * size));
    of.tensor.dtype = dtype;
    of.count = count;
    std::vector<double> values(count, 1.0);
    std::vector<std::byte> bytes(count * size);
    convertElements(reinterpret_cast<std::byte *>(values.data()), plan::FLOAT64,
                    bytes.data(), dtype, count);
    device.upload(of.tensor.data, bytes.data(), count * size);
  }
  Tensor result = of.tensor;
  result.shape = {count, 1};
  result.strides = {1, 1};
  return result;
}

entry::Gemm Products::State::sumsOf(const entry::Gemm &entry) {
  // [1, n] = ones [1, k] b [k, n], or ones times a^T.
  entry::Gemm sums;
  sums.b = entry.gradientOfA ? entry.a : entry.b;
  sums.transposeB = entry.gradientOfA ? !entry.transposeA : entry.transposeB;
  if (entry.gradientOfA)
    std::swap(sums.b.rows, sums.b.columns);
  sums.a.tensor = onesOf(sums.b.tensor.dtype, sums.b.rows);
  sums.a.rows = 1, sums.a.columns = sums.a.stride = sums.b.rows;
  sums.workspace = entry.workspace;
  sums.c.tensor = entry.biasGradient;
  sums.c.rows = 1, sums.c.columns = sums.c.stride = sums.b.columns;
  return sums;
}

std::function<void()> Products::bindWithGradient(const entry::Gemm &entry) {
  bool isEmpty = entry.c.rows * entry.c.columns * entry.a.columns == 0;
  // Beside one row or column, an H200 with cuBLASLt 13.0 gave wrong sums of
  // float16, and other ones in every run.
  bool isVector = entry.c.rows == 1 || entry.c.columns == 1;
  cublasStatus_t status;
  if (!isEmpty && !isVector)
    if (auto product = state->tryToDescribe(entry, status))
      return [state = state.get(), product] { state->enqueue(*product); };
  // Or the library has none in this type, or of this transposition.
  entry::Gemm rest = entry;
  rest.biasGradient = {};
  return [sums = bind(state->sumsOf(entry)), product = bind(rest)] {
    sums();
    product();
  };
}

std::function<void()> Products::bind(const entry::Gemm &entry) {
  const entry::Matrix &c = entry.c;
  if (entry.biasGradient)
    return bindWithGradient(entry);
  if (c.batch * c.rows * c.columns == 0)
    return [] {};
  if (auto parts = splitProduct(entry))
    return [first = bind(parts->first), second = bind(parts->second)] {
      first();
      second();
    };
  // The library adds biases of c's type alone, and none in float64.
  bool isEmpty = entry.a.columns == 0;
  bool spreads = entry.bias && (entry.bias.dtype != c.tensor.dtype ||
                                entry.bias.dtype == plan::FLOAT64 || isEmpty);
  std::function<void()> before;
  entry::Gemm rest = entry;
  if (spreads) {
    // c = ones [rows, 1] bias [1, columns], for each matrix of the batch.
    entry::Gemm spread;
    spread.c = c;
    spread.residual = entry.residual;
    spread.a.tensor = state->onesOf(entry.bias.dtype, c.rows);
    spread.a.batch = c.batch, spread.a.batchStride = 0;
    spread.a.rows = c.rows, spread.a.columns = 1, spread.a.stride = 1;
    spread.b.tensor = entry.bias;
    spread.b.batch = c.batch, spread.b.batchStride = 0;
    spread.b.rows = 1, spread.b.columns = c.columns;
    spread.b.stride = c.columns;
    spread.workspace = entry.workspace;
    before = bind(spread);
    rest.bias = {}, rest.residual = {};
    rest.accumulate = true;
  }
  if (isEmpty) {
    if (rest.accumulate)
      return before ? before : [] {};
    if (rest.residual.tensor)
      return cuda::bind(state->device,
                        entry::Copy{rest.residual.tensor, c.tensor});
    return cuda::bind(state->device, entry::Fill{c.tensor, 0});
  }
  return [state = state.get(), before, product = state->describe(rest)] {
    if (before)
      before();
    state->enqueue(*product);
  };
}

void Products::keepTuned() {
  if (state->tuning)
    state->tuning->keep();
}

Task bind(CudaDevice &device, const entry::Gemm &entry) {
  return device.products().bind(entry);
}

} // namespace shardc::runtime::cuda
