// The heuristic: three algorithms at most for each product.
#include "test/emulated-cuda/blaslt/Algorithm.h"

#include "test/emulated-cuda/driver/Work.h"

#include <algorithm>
#include <bit>

namespace shardc::test::cuda {
namespace {

constexpr uint64_t magic = 0x7368617264634c74; // "shardcLt"

uint64_t checksum(const cublasLtMatmulAlgo_t &bytes) {
  uint64_t sum = magic;
  for (int i = 0; i < 7; ++i)
    sum = std::rotl(sum * 31 + bytes.data[i], 13);
  return sum;
}

} // namespace

cublasLtMatmulAlgo_t Algorithm::encode() const {
  cublasLtMatmulAlgo_t bytes{};
  bytes.data[0] = magic;
  bytes.data[1] = problem;
  bytes.data[2] = workspaceBytes;
  bytes.data[3] = splits;
  bytes.data[4] = uint64_t(alignmentA) | uint64_t(alignmentB) << 16 |
                  uint64_t(alignmentC) << 32 | uint64_t(alignmentD) << 48;
  bytes.data[5] = uint64_t(alignmentBias) | uint64_t(roundsParts) << 16;
  bytes.data[6] = place;
  bytes.data[7] = checksum(bytes);
  return bytes;
}

std::optional<Algorithm> Algorithm::decode(const cublasLtMatmulAlgo_t &bytes) {
  if (bytes.data[0] != magic || bytes.data[7] != checksum(bytes))
    return std::nullopt;
  uint64_t alignments = bytes.data[4];
  return Algorithm{bytes.data[1],
                   bytes.data[2],
                   int(bytes.data[3]),
                   int(bytes.data[6]),
                   bool(bytes.data[5] >> 16),
                   uint16_t(alignments),
                   uint16_t(alignments >> 16),
                   uint16_t(alignments >> 32),
                   uint16_t(alignments >> 48),
                   uint16_t(bytes.data[5])};
}

std::vector<Algorithm> choose(const Problem &problem,
                              const BlasLtMatmulPreference &preference,
                              const void *bias) {
  uint32_t alignments[] = {preference.alignmentA, preference.alignmentB,
                           preference.alignmentC, preference.alignmentD};
  size_t elements[] = {problem.a.elementBytes(), problem.b.elementBytes(),
                       problem.c.elementBytes(), problem.d.elementBytes()};
  for (int i = 0; i < 4; ++i)
    if (!std::has_single_bit(alignments[i]) || alignments[i] < elements[i])
      return {};
  auto limited = [](uint32_t alignment) {
    return uint16_t(std::min<uint32_t>(alignment, 256));
  };
  Algorithm common;
  common.problem = problem.digest();
  common.roundsParts =
      preference.reductions & (CUBLASLT_REDUCTION_SCHEME_INPLACE |
                               CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
  common.alignmentA = limited(preference.alignmentA);
  common.alignmentB = limited(preference.alignmentB);
  common.alignmentC = limited(preference.alignmentC);
  common.alignmentD = limited(preference.alignmentD);
  if (problem.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    auto address = reinterpret_cast<uintptr_t>(bias);
    common.alignmentBias =
        address % 16 ? uint16_t(address & -address) : uint16_t(16);
  }

  // Two products of three are best with a workspace.
  uint64_t workspace = 4096 * (1 + common.problem % 13);
  Algorithm candidates[] = {common, common, common};
  candidates[0].splits = 3, candidates[1].splits = 2;
  candidates[1].place = 1, candidates[2].place = 2;
  if (common.problem % 3) {
    candidates[0].workspaceBytes = workspace;
    candidates[1].workspaceBytes = 2 * workspace;
  }
  std::vector<Algorithm> chosen;
  for (const Algorithm &candidate : candidates)
    if (candidate.workspaceBytes <= preference.workspace)
      chosen.push_back(candidate);
  return chosen;
}

extern "C" cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t *results, int *found) {
  const char *name = "cublasLtMatmulAlgoGetHeuristic";
  if (!handle)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !a || !b || !d || !preference || !results || !found ||
      wanted < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  requireAlive(handle, name), requireAlive(desc, name);
  requireAlive(a, name), requireAlive(b, name), requireAlive(d, name);
  requireAlive(preference, name);
  if (c)
    requireAlive(c, name);
  *found = 0;
  Problem problem;
  if (cublasStatus_t status = resolve(*desc, *a, *b, c ? *c : *d, *d, problem))
    return status;
  for (const Algorithm &algorithm : choose(problem, *preference, desc->bias))
    if (*found < wanted)
      results[(*found)++] = {algorithm.encode(),
                             algorithm.workspaceBytes,
                             CUBLAS_STATUS_SUCCESS,
                             1.0f,
                             {}};
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

extern "C" cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *algo,
                        cublasLtMatmulHeuristicResult_t *result) {
  const char *name = "cublasLtMatmulAlgoCheck";
  if (!handle)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !a || !b || !c || !d || !algo || !result)
    return CUBLAS_STATUS_INVALID_VALUE;
  requireAlive(handle, name), requireAlive(desc, name);
  requireAlive(a, name), requireAlive(b, name), requireAlive(c, name);
  requireAlive(d, name);
  Problem problem;
  if (cublasStatus_t status = resolve(*desc, *a, *b, *c, *d, problem))
    return status;
  std::optional<Algorithm> algorithm = Algorithm::decode(*algo);
  if (!algorithm || algorithm->problem != problem.digest())
    return CUBLAS_STATUS_INVALID_VALUE;
  *result = {*algo, algorithm->workspaceBytes, CUBLAS_STATUS_SUCCESS, 1.0f, {}};
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace shardc::test::cuda
