// Runs moves of memory of the host: the PTX of their kernels by the emulator, or
// the same sources compiled for the host.
#ifndef SHARDC_TEST_EMULATEDCUDA_RUNMOVES_H
#define SHARDC_TEST_EMULATEDCUDA_RUNMOVES_H

#include "runtime/base/ThreadPool.h"
#include "runtime/cuda/moves/Moves.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace shardc::test {

enum class Runs { Ptx, Host };

/// Returns what kernels found wrong in the data; empty: nothing. Notes the names
/// of kernels in `ran`.
std::string runMoves(const std::vector<runtime::cuda::Move> &moves, Runs how,
                     std::set<std::string> &ran);

/// A tensor in memory of its own, whose bytes can be compared. Gaps and what was
/// not written hold a pattern.
class Room {
public:
  /// `strides` in elements, `offset` elements before the first; empty strides:
  /// row-major.
  Room(plan::DType dtype, std::vector<int64_t> shape,
       std::vector<int64_t> strides = {}, int64_t offset = 0);

  runtime::Tensor tensor;
  std::vector<std::byte> bytes() const { return {begin, begin + count}; }
  /// Any bits.
  Room &fillWithBits(unsigned seed);
  /// Finite numbers of a float type, of about 1.
  Room &fillWithNumbers(unsigned seed);
  /// Integers in [least, most].
  Room &fillWithIntegers(unsigned seed, int64_t least, int64_t most);
  Room(const Room &other);

private:
  std::vector<std::byte> memory;
  std::byte *begin;
  int64_t count;
};

/// Expects that the moves which `make` plans, as PTX and on the host, leave the
/// bytes in `output` that `processor` does. Both take a tensor that lies as
/// output does.
void compareMoves(const Room &output,
                  const std::function<std::vector<runtime::cuda::Move>(
                      const runtime::Tensor &)> &make,
                  const std::function<void(const runtime::Tensor &)> &processor,
                  std::set<std::string> &ran);

runtime::ThreadPool &testPool();

} // namespace shardc::test

#endif
