// cublasLtMatmul: what a call must hold to, and its work in the stream.
#include "test/emulated-cuda/blaslt/Algorithm.h"
#include "test/emulated-cuda/blaslt/Multiply.h"
#include "test/emulated-cuda/driver/Work.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace shardc::test::cuda {
namespace {

CUdeviceptr addressOf(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// A call's pointers, named as the problem names them.
struct Call {
  const Problem &problem;
  const void *a, *b, *c;
  void *d;
  bool readsC;

  std::string name() const { return "cublasLtMatmul " + problem.describe(); }
};

void requireDeviceMemory(const Call &call, const void *pointer, size_t bytes,
                         const char *what) {
  if (!isDeviceMemory(addressOf(pointer), bytes))
    finding(call.name() + ": the " + std::to_string(bytes) + " bytes of " +
            what + " are not all in one allocation of the device's memory");
}

void requireAlignment(const Call &call, const void *pointer, uint64_t alignment,
                      const char *what) {
  if (alignment && addressOf(pointer) % alignment)
    finding(call.name() + ": " + what + " does not lie at the multiple of " +
            std::to_string(alignment) +
            " bytes that its algorithm was asked for");
}

/// D may be C exactly; else what is written may not be read.
void requireApart(const Call &call) {
  const Problem &p = call.problem;
  auto overlap = [&](const void *one, const Stored &stored) {
    return addressOf(one) < addressOf(call.d) + p.d.extent(p.batches) &&
           addressOf(call.d) < addressOf(one) + stored.extent(p.batches);
  };
  if (overlap(call.a, p.a) || overlap(call.b, p.b))
    finding(call.name() + ": D overlaps A or B");
  bool same = call.c == call.d && p.c.leading == p.d.leading &&
              p.c.batchStride == p.d.batchStride;
  if (call.readsC && !same && overlap(call.c, p.c))
    finding(call.name() + ": D overlaps C, and is not C");
}

void addMatrix(std::vector<Access> &accesses, const void *first,
               const Stored &stored, int64_t batches, bool writes) {
  size_t element = stored.elementBytes();
  for (int64_t batch = 0; batch < batches; ++batch) {
    accesses.push_back({addressOf(first) + batch * stored.batchStride * element,
                        stored.rows * element, size_t(stored.columns),
                        stored.leading * element, writes});
    if (!stored.batchStride)
      break;
  }
}

std::vector<Access> accessesOf(const Call &call, void *bias, void *workspace,
                               size_t workspaceBytes) {
  const Problem &p = call.problem;
  std::vector<Access> accesses;
  addMatrix(accesses, call.a, p.a, p.batches, false);
  addMatrix(accesses, call.b, p.b, p.batches, false);
  if (call.readsC)
    addMatrix(accesses, call.c, p.c, p.batches, false);
  addMatrix(accesses, call.d, p.d, p.batches, true);
  if (p.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    accesses.push_back({addressOf(bias), p.biasLength() * p.d.elementBytes(), 1,
                        0, p.epilogue != CUBLASLT_EPILOGUE_BIAS});
  if (workspaceBytes)
    accesses.push_back({addressOf(workspace), workspaceBytes, 1, 0, true});
  return accesses;
}

/// What a workspace holds afterwards is of use to nobody, and never the same.
void spoil(void *workspace, size_t bytes) {
  static std::atomic<uint8_t> value{0};
  std::memset(workspace, ++value, bytes);
}

/// SHARDC_EMULATED_BLASLT_FASTEST=N: all but those that the heuristic names at
/// place N, from 0 on, take two milliseconds more.
bool isSlow(const Algorithm &algorithm) {
  const char *text = std::getenv("SHARDC_EMULATED_BLASLT_FASTEST");
  if (!text)
    return false;
  if (text[0] < '0' || text[0] > '2' || text[1])
    finding(std::string("SHARDC_EMULATED_BLASLT_FASTEST is '") + text +
            "': set it to a number from 0 to 2");
  return algorithm.place != text[0] - '0';
}

double scalar(const void *pointer, int32_t compute) {
  return compute == CUBLAS_COMPUTE_64F ? *static_cast<const double *>(pointer)
                                       : *static_cast<const float *>(pointer);
}

} // namespace

extern "C" cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
               const void *alpha, const void *a, cublasLtMatrixLayout_t layoutA,
               const void *b, cublasLtMatrixLayout_t layoutB, const void *beta,
               const void *c, cublasLtMatrixLayout_t layoutC, void *d,
               cublasLtMatrixLayout_t layoutD, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, CUstream stream) {
  const char *function = "cublasLtMatmul";
  if (!handle)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !alpha || !a || !layoutA || !b || !layoutB || !beta || !d ||
      !layoutD)
    return CUBLAS_STATUS_INVALID_VALUE;
  requireAlive(handle, function), requireAlive(desc, function);
  requireAlive(layoutA, function), requireAlive(layoutB, function);
  requireAlive(layoutD, function);
  if (layoutC)
    requireAlive(layoutC, function);
  if (currentDevice() != handle->device)
    finding(std::string(function) + " by a handle of device " +
            std::to_string(handle->device) + " on device " +
            std::to_string(currentDevice()));
  Problem problem;
  if (cublasStatus_t status =
          resolve(*desc, *layoutA, *layoutB, layoutC ? *layoutC : *layoutD,
                  *layoutD, problem))
    return status;
  if (isDeviceMemory(addressOf(alpha), 1) || isDeviceMemory(addressOf(beta), 1))
    finding("cublasLtMatmul " + problem.describe() +
            ": alpha and beta are read by the host, and lie in the device's "
            "memory");
  double scaleAB = scalar(alpha, problem.compute);
  const void *given[] = {a, b, c, d};
  shiftArguments("cublasLtMatmul " + problem.describe(), given, sizeof(given));
  a = given[0], b = given[1], c = given[2], d = const_cast<void *>(given[3]);
  double scaleC = scalar(beta, problem.compute);
  if (scaleC != 0 && !c)
    return CUBLAS_STATUS_INVALID_VALUE;
  bool hasBias = problem.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  if (hasBias && !desc->bias)
    return CUBLAS_STATUS_INVALID_VALUE;
  Call call{problem,    problem.swapped ? b : a, problem.swapped ? a : b, c, d,
            scaleC != 0};

  if (!algo)
    finding(call.name() + " without an algorithm: the library would choose one "
                          "anew in each call; ask the heuristic once");
  std::optional<Algorithm> algorithm = Algorithm::decode(*algo);
  if (!algorithm)
    finding(call.name() + ": the algorithm's bytes are not those that the "
                          "heuristic gave");
  if (algorithm->problem != problem.digest())
    finding(call.name() + ": the algorithm is one for another product");
  size_t needed = algorithm->workspaceBytes;
  if (workspaceBytes < needed || (needed && !workspace))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace && workspaceBytes) {
    requireDeviceMemory(call, workspace, workspaceBytes, "the workspace");
    if (addressOf(workspace) % 256)
      finding(call.name() +
              ": the workspace does not lie at a multiple of 256 bytes");
  }

  // A heuristic that is asked for A's alignment is told that of what is A here.
  requireAlignment(call, a, algorithm->alignmentA, "A");
  requireAlignment(call, b, algorithm->alignmentB, "B");
  requireAlignment(call, d, algorithm->alignmentD, "D");
  requireDeviceMemory(call, call.a, problem.a.extent(problem.batches),
                      problem.swapped ? "B" : "A");
  requireDeviceMemory(call, call.b, problem.b.extent(problem.batches),
                      problem.swapped ? "A" : "B");
  requireDeviceMemory(call, d, problem.d.extent(problem.batches), "D");
  if (call.readsC) {
    requireAlignment(call, c, algorithm->alignmentC, "C");
    requireDeviceMemory(call, c, problem.c.extent(problem.batches), "C");
  }
  void *bias = hasBias ? desc->bias : nullptr;
  if (hasBias) {
    requireAlignment(call, bias, algorithm->alignmentBias, "the bias");
    requireDeviceMemory(call, bias,
                        problem.biasLength() * problem.d.elementBytes(),
                        "the bias");
  }
  requireApart(call);

  Work work;
  work.name = call.name();
  work.accesses = accessesOf(call, bias, workspace, needed);
  work.run = [problem, parts = Parts{algorithm->splits, algorithm->roundsParts},
              isSlow = isSlow(*algorithm), scaleAB, scaleC, a = call.a,
              b = call.b, c = call.readsC ? c : nullptr, d, bias, workspace,
              needed] {
    auto at = [](const void *pointer) {
      return pointer ? workAddress(addressOf(pointer)) : nullptr;
    };
    if (isSlow)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (needed)
      spoil(at(workspace), needed);
    multiply(problem, parts, scaleAB, scaleC,
             {at(a), at(b), at(c), at(d), at(bias)});
    return CUresult(CUDA_SUCCESS);
  };
  return enqueueWork(stream, std::move(work)) == CUDA_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // namespace shardc::test::cuda
