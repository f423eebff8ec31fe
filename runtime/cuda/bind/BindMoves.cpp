// Entries that move elements, as what is enqueued.
#include "runtime/cuda/Faults.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/kernels/Parameters.h"
#include "runtime/cuda/moves/Moves.h"

#include <cstring>
#include <utility>

namespace shardc::runtime::cuda {

static Task bindMove(CudaDevice &device, const CopyBytes &move) {
  return [&device, move] {
    device.context.driver.cuMemcpyDtoDAsync(
        reinterpret_cast<CUdeviceptr>(move.to),
        reinterpret_cast<CUdeviceptr>(move.from), size_t(move.bytes),
        device.compute);
  };
}

static Task bindMove(CudaDevice &device, const SetBytes &move) {
  return [&device, move] {
    device.context.driver.cuMemsetD8Async(
        reinterpret_cast<CUdeviceptr>(move.to), move.value, size_t(move.bytes),
        device.compute);
  };
}

static Task bindMove(CudaDevice &device, const KernelMove &move) {
  CUfunction kernel = device.ownKernel(move.file, move.kernel);
  Grid grid = gridFor(move.threads, copyThreads);
  std::vector<std::byte> parameters = move.parameters;
  if (move.faultText) {
    CUdeviceptr word = device.faults->word(move.faultText);
    std::memcpy(parameters.data() + move.fault, &word, sizeof(word));
  }
  return [&device, kernel, grid, parameters]() mutable {
    void *each[] = {parameters.data()};
    device.launch(kernel, grid, static_cast<void **>(each));
  };
}

static Task bindMoves(CudaDevice &device, const std::vector<Move> &moves) {
  std::vector<Task> tasks;
  for (const Move &move : moves)
    tasks.push_back(
        std::visit([&](const auto &of) { return bindMove(device, of); }, move));
  if (tasks.size() == 1)
    return tasks.front();
  return [tasks = std::move(tasks)] {
    for (const Task &task : tasks)
      task();
  };
}

#define SHARDC_BIND(Kind)                                                      \
  Task bind(CudaDevice &device, const entry::Kind &entry) {                    \
    return bindMoves(device, movesOf(entry));                                  \
  }
SHARDC_BIND(Copy)
SHARDC_BIND(Fill)
SHARDC_BIND(Embedding)
SHARDC_BIND(TopK)
SHARDC_BIND(IndexCall)
#undef SHARDC_BIND

Task bind(CudaDevice &device, const entry::EmbeddingGrad &entry) {
  if (!entry.running)
    return bindMoves(device, movesOf(entry));
  entry::EmbeddingGrad later = entry;
  later.accumulate = true;
  return [&device, first = bindMoves(device, movesOf(entry)),
          then = bindMoves(device, movesOf(later))] {
    device.numbers.microBatch == 0 ? first() : then();
  };
}

} // namespace shardc::runtime::cuda
