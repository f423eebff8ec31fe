// Ranks of a test, each a thread with a device of its own, or a process.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_TESTEDRANKS_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_TESTEDRANKS_H

#include "test/emulated-cuda/blaslt/OpenedLibraries.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::test::cuda {

/// One rank, with its device as the thread's current one.
struct TestedRank {
  Device &device;
  const int rank, ranks;

  /// Joins a communicator of all ranks, or of some.
  ncclComm_t join(const ncclUniqueId &id, const char *name = nullptr,
                  int cta = ncclUndefined) const;
  ncclComm_t join(const ncclUniqueId &id, int ranks, int rank) const;
};

ncclUniqueId newId();

/// Runs `body` as each rank in a thread. Throws what the first of them throws.
void inThreads(int ranks, const std::function<void(TestedRank &)> &body);

inline constexpr ncclDataType_t allTypes[] = {
    ncclInt8,    ncclUint8,   ncclInt32,   ncclInt64,
    ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16};
size_t elementBytes(ncclDataType_t type);
/// Values as the type holds them, there and back.
std::vector<char> encode(const std::vector<double> &values,
                         ncclDataType_t type);
std::vector<double> decode(const std::vector<char> &bytes, ncclDataType_t type);
/// Small integers and halves: every type but the integers holds them, and sums
/// of a few of them, exactly. Unsigned ones where the type is.
std::vector<double> exactValues(size_t count, int rank, ncclDataType_t type);

/// All collectives in one type and count beside what they are by definition, in
/// place and not: sums and maxima of values that no order changes. Throws a
/// std::runtime_error that says what is wrong.
void checkCollectives(TestedRank &rank, ncclComm_t comm, ncclDataType_t type,
                      size_t count);

} // namespace shardc::test::cuda

#endif
