// What the code of a kernel that was PTX knows of the thread that it is, and
// what it calls.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_THREAD_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_THREAD_H

#include <cstdint>

namespace shardc::test::ptx {

/// Where the emulated devices' memory is: [deviceMemory, deviceMemory +
/// deviceMemoryBytes) are the addresses that the host and kernels see, at which
/// nothing can be read. Code of kernels finds the bytes kernelMemoryOffset
/// further on.
inline constexpr uint64_t deviceMemory = uint64_t(1) << 45;
inline constexpr uint64_t deviceMemoryBytes = uint64_t(1) << 42;
inline constexpr uint64_t kernelMemoryOffset = deviceMemoryBytes;

/// What is known of each four bytes of a device's memory, where accesses are
/// checked: two words, the last that wrote and those that read since, as tags.
/// A tag is 16 times a number of who did it, plus a bit for each of the bytes.
inline constexpr uint64_t granules = deviceMemory + 2 * deviceMemoryBytes;
inline constexpr uint64_t granuleBytes = 8;

struct Thread;

/// What an access is; with `bytes` in the lower half.
enum AccessKind : uint32_t {
  accessBytes = 0xffff,
  accessReads = 1 << 16,
  accessWrites = 1 << 17,
  /// Through an address that may also be of local or shared memory.
  accessGeneric = 1 << 18,
};

/// What threads of a warp do together.
enum class WarpOp : uint32_t {
  /// {value, b, c, ShuffleMode} to {value, whether the lane was in range}.
  Shuffle,
  /// {predicate, VoteMode} to {word}.
  Vote,
  /// {value, ReduceMode} to {word}, 32 bits.
  Reduce,
  /// {MatrixType, 4 words of A, 2 of B, 4 of C} to 4 words: m16n8k16.
  Multiply,
  /// {count, transposed, address: low, high} to `count` words.
  LoadMatrix,
  /// Nothing: bar.warp.sync.
  Meet,
};
enum class ShuffleMode : uint32_t { Up, Down, Butterfly, Index };
enum class VoteMode : uint32_t { All, Any, Uniform, Ballot };
enum class ReduceMode : uint32_t { Add, And, Or, Xor, MinS, MaxS, MinU, MaxU };
enum class MatrixType : uint32_t { F16, Bf16 };
/// The most words that a WarpOp takes or gives.
inline constexpr int mostWarpWords = 11;

/// Functions that may switch to other threads, or not come back. `statement` is
/// the PTX, with its kernel's name.
struct Services {
  /// Only called by code that was translated as checked, at any address. Returns
  /// where the bytes are.
  void *(*access)(Thread *, uint64_t address, uint32_t kind,
                  const char *statement);
  /// `threads`: 0 of all.
  void (*barrier)(Thread *, uint32_t number, uint32_t threads,
                  const char *statement);
  void (*warp)(Thread *, WarpOp, uint32_t mask, const uint32_t *in,
               uint32_t *out, const char *statement);
  /// cp.async: of `bytes` the first `given` come from `from`, the rest is zeros.
  void (*copyLater)(Thread *, void *to, const void *from, uint32_t bytes,
                    uint32_t given);
  void (*commitCopies)(Thread *);
  /// Until all but `groups` are there.
  void (*awaitCopies)(Thread *, uint32_t groups);
  /// An access that is no multiple of its bytes.
  void (*misaligned)(Thread *, const char *statement);
  void (*trap)(Thread *, const char *statement);
  /// An access of shared memory, at any address.
  void (*shared)(Thread *, uint64_t address, uint32_t kind,
                 const char *statement);
};

/// The layout is fixed: generated code reads it by offsets.
struct Thread {
  uint32_t tid[3] = {}, ntid[3] = {1, 1, 1}, ctaid[3] = {},
           nctaid[3] = {1, 1, 1};
  /// Shared memory of the block: what kernels declare, and what a launch adds.
  void *shared = nullptr, *dynamicShared = nullptr;
  const Services *services = nullptr;
  /// Of who runs, in checked code: where granules say that nothing is to be found
  /// out any more, Services::access is not called.
  uint32_t tag = 0;
  /// Whether races in shared memory are looked for.
  uint32_t checksShared = 0;
  /// Who runs it.
  void *user = nullptr;
  /// What the emulator adds is behind.
};

using Kernel = void (*)(const void *parameters, Thread *, void *results);

/// A .global of a module.
struct ConstantRange {
  const void *begin;
  uint64_t bytes;
};

/// The kernel's facts, which lie beside its code as the symbol NAME.facts, with
/// a Parameter for each behind it.
struct KernelFacts {
  uint32_t sharedBytes, localBytes, registers;
  uint32_t mostThreads; // of .maxntid; 0: as many as a block may have
  uint32_t waits;       // whether threads must run side by side
  uint32_t constants; // of the module's, as the symbol NAME.constants has them
  uint32_t parameterBytes, parameters;
  struct Parameter {
    uint32_t offset, bytes;
  };
  const Parameter *parameter(uint32_t index) const {
    return reinterpret_cast<const Parameter *>(this + 1) + index;
  }
};

} // namespace shardc::test::ptx

#endif
