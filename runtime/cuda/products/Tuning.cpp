// Times are those between events of the compute stream.
#include "runtime/cuda/products/Tuning.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/cuda/CudaDevice.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardc::runtime::cuda {
namespace {

constexpr int rounds = 5;
/// What the heuristic names first stays where nothing takes less than this part
/// of its time: clocks are not better.
constexpr double worthwhile = 0.98;

/// Rank 0's words, at all ranks.
void spread(Communicator &communicator, std::vector<int64_t> &words) {
  if (communicator.rank() != 0)
    std::ranges::fill(words, 0);
  Segment all{words.data(), std::ssize(words), plan::INT64};
  communicator.allReduce({&all, 1});
}

/// The same of a text, which is cut.
std::string spreadText(Communicator &communicator, std::string text) {
  std::vector<int64_t> words(32);
  text.resize(words.size() * sizeof(int64_t) - 1);
  std::memcpy(words.data(), text.c_str(), text.size() + 1);
  spread(communicator, words);
  return reinterpret_cast<const char *>(words.data());
}

std::string textOf(const entry::Matrix &matrix, bool isTransposed) {
  return concat(
      dtypeName(matrix.tensor.dtype), "[",
      matrix.batch > 1 ? concat(matrix.batch, " by ", matrix.batchStride, ", ")
                       : "",
      matrix.rows, ", ", matrix.columns, "]", isTransposed ? " transposed" : "",
      " stride ", matrix.stride, " at ", alignmentOf(matrix));
}

int alignmentOf(const Tensor &tensor) {
  auto address = reinterpret_cast<uint64_t>(tensor.data);
  return 1 << std::min(4, std::countr_zero(address));
}

} // namespace

uint32_t alignmentOf(const entry::Matrix &matrix) {
  auto address = reinterpret_cast<uint64_t>(matrix.tensor.data);
  if (matrix.batch > 1)
    address |= uint64_t(matrix.batchStride) * elementSize(matrix.tensor.dtype);
  return address ? 1u << std::min(8, std::countr_zero(address)) : 256;
}

std::string tunedText(const entry::Gemm &product) {
  std::string text = concat(textOf(product.a, product.transposeA), " * ",
                            textOf(product.b, product.transposeB), " = ",
                            textOf(product.c, false));
  if (product.accumulate)
    text += ", added up";
  if (product.residual.tensor)
    text += " + " + textOf(product.residual, false);
  if (product.bias)
    text += concat(", bias at ", alignmentOf(product.bias));
  if (product.biasGradient)
    text += concat(", bias gradient of ", product.gradientOfA ? "a" : "b",
                   " at ", alignmentOf(product.biasGradient));
  if (product.workspace)
    text += concat(", workspace ", product.workspace.elements());
  return text;
}

Tuning::Tuning(CudaDevice &device) : device(device), file(device.tuneFile) {
  TunePlace here =
      TunePlace::of(device.context.libraries, device.context.device);
  std::string first = spreadText(device.communicator, here.text());
  std::string own = here.text().substr(0, first.size());
  if (own != first)
    fail("--tune: rank 0 times products on ", first, ", and rank ",
         device.communicator.rank(), " has ", here.text(),
         "; run on GPUs of one kind and with one library, or without --tune");
}

Tuning::~Tuning() {
  for (CUevent event : clocks)
    device.context.driver.cuEventDestroy.function(event);
}

TuneFile::Choice Tuning::time(const Candidates &candidates, const Run &run) {
  const Driver &driver = device.context.driver;
  while (clocks.size() <= candidates.size())
    driver.cuEventCreate(&clocks.emplace_back(), CU_EVENT_DEFAULT);
  // The first run of each loads its code.
  std::vector<const cublasLtMatmulHeuristicResult_t *> taken;
  for (const cublasLtMatmulHeuristicResult_t &candidate : candidates)
    if (run(candidate))
      taken.push_back(&candidate);
  if (taken.empty())
    fail("cuBLASLt runs none of its ", candidates.size(), " algorithms");
  std::vector<std::vector<float>> times(taken.size());
  // In turns, so that a clock that changes changes all of them.
  for (int round = 0; round < rounds; ++round) {
    driver.cuEventRecord(clocks[0], device.compute);
    for (size_t i = 0; i < taken.size(); ++i) {
      run(*taken[i]);
      driver.cuEventRecord(clocks[i + 1], device.compute);
    }
    driver.cuEventSynchronize(clocks[taken.size()]);
    for (size_t i = 0; i < taken.size(); ++i)
      driver.cuEventElapsedTime(&times[i].emplace_back(), clocks[i],
                                clocks[i + 1]);
  }
  auto median = [&](size_t i) {
    std::ranges::nth_element(times[i], times[i].begin() + rounds / 2);
    return double(times[i][rounds / 2]) * 1e3;
  };
  TuneFile::Choice choice;
  choice.timed = int(taken.size());
  choice.algorithm = taken[0]->algo;
  choice.microseconds = choice.firstMicroseconds = median(0);
  for (size_t i = 1; i < taken.size(); ++i) {
    double microseconds = median(i);
    if (microseconds < worthwhile * choice.firstMicroseconds &&
        microseconds < choice.microseconds) {
      choice.microseconds = microseconds;
      choice.algorithm = taken[i]->algo;
    }
  }
  return choice;
}

cublasLtMatmulAlgo_t
Tuning::choose(const std::string &product,
               const std::function<Candidates()> &candidates, const Run &run) {
  if (auto found = chosen.find(product); found != chosen.end())
    return found->second;
  device.communicator.note().tick();
  cublasLtMatmulAlgo_t algorithm = {};
  if (file) {
    const TuneFile::Choice *known = file->find(product);
    if (!known) {
      file->add(product, time(candidates(), run));
      known = file->find(product);
    }
    algorithm = known->algorithm;
  }
  std::vector<int64_t> words(1 + std::size(algorithm.data));
  // Tells whether ranks are at the same product.
  auto digest = int64_t(hashOf(product.data(), product.size()));
  words[0] = digest;
  std::memcpy(&words[1], &algorithm, sizeof(algorithm));
  spread(device.communicator, words);
  if (words[0] != digest)
    fail("rank 0 has chosen an algorithm for another product than rank ",
         device.communicator.rank(), ", which is at ", product);
  std::memcpy(&algorithm, &words[1], sizeof(algorithm));
  return chosen[product] = algorithm;
}

void Tuning::refuse(const std::string &product, const std::string &why) const {
  fail("the algorithm ",
       file ? concat("in --tune ", file->path()) : "that rank 0 has chosen",
       " for the product ", product, " is none that cuBLASLt takes here: ", why,
       "; name another file, to time products anew");
}

void Tuning::keep() {
  if (file)
    file->keep();
}

} // namespace shardc::runtime::cuda
