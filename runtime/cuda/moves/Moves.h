// What entries that move elements are made of: launches of own kernels, and
// what the driver copies and sets. Nothing here calls the driver, so that a plan
// of moves can be looked at, and run by others than a GPU.
#ifndef SHARDC_RUNTIME_CUDA_MOVES_MOVES_H
#define SHARDC_RUNTIME_CUDA_MOVES_MOVES_H

#include "runtime/device/Entries.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace shardc::runtime::cuda {

struct CopyBytes {
  std::byte *to;
  const std::byte *from;
  int64_t bytes;
};
struct SetBytes {
  std::byte *to;
  unsigned char value;
  int64_t bytes;
};
/// One of kernels/<file>.cu: all of them run in blocks of copyThreads and in
/// grids of any size.
struct KernelMove {
  const char *file;
  std::string kernel;
  int64_t threads; // for which there is work
  std::vector<std::byte> parameters;
  /// Of kernels that note what is wrong: where their parameters have the address
  /// of a word for it (faultOf of kernels/Parameters.h), and what its position
  /// and value mean.
  size_t fault = 0;
  std::function<std::string(int64_t position, int64_t value)> faultText = {};
};
using Move = std::variant<CopyBytes, SetBytes, KernelMove>;

template <typename Parameters>
KernelMove kernelMove(const char *file, std::string kernel, int64_t threads,
                      const Parameters &parameters) {
  auto *bytes = reinterpret_cast<const std::byte *>(&parameters);
  return {
      file, std::move(kernel), threads, {bytes, bytes + sizeof(Parameters)}};
}

// Moves in their order; none where there are no elements. Throw an Error where
// no kernel can do what an entry asks for, and says why.

std::vector<Move> movesOf(const entry::Copy &entry);
std::vector<Move> movesOf(const entry::Fill &entry);
std::vector<Move> movesOf(const entry::Embedding &entry);
std::vector<Move> movesOf(const entry::EmbeddingGrad &entry);
std::vector<Move> movesOf(const entry::TopK &entry);
std::vector<Move> movesOf(const entry::IndexCall &entry);

} // namespace shardc::runtime::cuda

#endif
