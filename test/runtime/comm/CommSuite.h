// What the conformance tests of communicators share. An implementation is a way
// to run a body as every rank of a world; the suite runs over all that the
// program's implementations() has.
#ifndef SHARDC_TEST_RUNTIME_COMM_COMMSUITE_H
#define SHARDC_TEST_RUNTIME_COMM_COMMSUITE_H

#include "runtime/base/ThreadPool.h"
#include "runtime/comm/Communicator.h"
#include "test/runtime/comm/Elements.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace shardc::runtime {

struct Implementation {
  const char *name;
  void (*run)(int ranks, const std::function<void(Communicator &)> &body);
  /// Whether its communicators have hostRanks().
  bool inOneHost;
  /// In worlds of which all groups are tried.
  int mostRanks;
  /// Processes that run the tests together. Where there are several, tests have
  /// no memory that all ranks see, and no world outlives a failure.
  int processes = 1;

  bool has(int ranks) const { return ranks % processes == 0; }
};
/// Implementations.cpp has those in one process, mpi-tests.cpp MPI's.
const std::vector<Implementation> &implementations();

/// Threads that help a rank while it waits, where its communicator has a use
/// for them.
class HelpingThreads {
public:
  HelpingThreads(Communicator &communicator, int workers)
      : ranks(communicator.hostRanks()), pool(workers, false) {
    if (ranks)
      ranks->helpWith(&pool);
  }
  ~HelpingThreads() {
    if (ranks)
      ranks->helpWith(nullptr);
  }

private:
  HostRanks *ranks;
  ThreadPool pool;
};

/// A world, and groups in it; size == ranks: the world itself.
struct GroupShape {
  int ranks, stride, size;

  std::string name() const {
    std::string text = "Ranks" + std::to_string(ranks);
    if (size != ranks)
      text +=
          "GroupsOf" + std::to_string(size) + "Stride" + std::to_string(stride);
    return text;
  }
  /// World rank of a member of the group that `rank` is in.
  int member(int rank, int place) const {
    return rank + (place - rank / stride % size) * stride;
  }
};

/// Worlds of 1 to 16 ranks, and the groups that meshes make: rows, columns,
/// parts of rows, single ranks.
inline std::vector<GroupShape> groupShapes() {
  std::vector<GroupShape> shapes;
  for (int ranks = 1; ranks <= 16; ++ranks)
    shapes.push_back({ranks, 1, ranks});
  for (GroupShape shape : {GroupShape{2, 1, 1},
                           {4, 1, 2},
                           {4, 2, 2},
                           {6, 1, 3},
                           {6, 3, 2},
                           {6, 2, 3},
                           {8, 2, 2},
                           {8, 4, 2},
                           {12, 3, 4},
                           {15, 5, 3},
                           {16, 1, 8},
                           {16, 4, 4},
                           {16, 8, 2}})
    shapes.push_back(shape);
  return shapes;
}

/// An implementation, and a group in a world of it.
struct CommSetting {
  Implementation implementation;
  GroupShape shape;

  std::string name() const { return implementation.name + shape.name(); }
};
inline std::vector<CommSetting>
commSettings(bool (*isWanted)(const Implementation &) =
                 [](const Implementation &) { return true; }) {
  std::vector<CommSetting> settings;
  for (const Implementation &each : implementations())
    for (const GroupShape &shape : groupShapes())
      if (shape.ranks <= each.mostRanks && each.has(shape.ranks) &&
          isWanted(each))
        settings.push_back({each, shape});
  return settings;
}
/// Those that tests of one process alone can look at.
inline bool isOneProcess(const Implementation &implementation) {
  return implementation.processes == 1;
}

/// Values whose sum depends on the order of the additions, and is finite also
/// in float16. `seed`: another set.
template <typename T> T valueOf(int rank, int64_t i, int seed = 0) {
  auto number = SumOf<T>(1 + (rank * 7919 + (i + seed) * 104729) % 1000003);
  return T(number / SumOf<T>(sizeof(T) == 2 ? 448 : 7));
}
/// Sum over the group that `rank` is in, in the order of its members, rounded
/// once.
template <typename T>
T sumInRankOrder(const GroupShape &shape, int rank, int64_t i, int seed = 0) {
  auto sum = SumOf<T>(valueOf<T>(shape.member(rank, 0), i, seed));
  for (int place = 1; place < shape.size; ++place)
    sum += SumOf<T>(valueOf<T>(shape.member(rank, place), i, seed));
  return T(sum);
}

template <typename T> bool sameBits(const T &a, const T &b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Whether a sum of elements `i` of ranks is as near to their exact sum as it
/// must be in whatever order: (terms - 1) roundings of partial sums (Higham,
/// Accuracy and Stability of Numerical Algorithms, 4.2), and the one to T.
template <typename T>
bool isSumInSomeOrder(T sum, const std::vector<T> &terms) {
  long double exact = 0, size = 0;
  for (T term : terms) {
    exact += static_cast<long double>(SumOf<T>(term));
    size += std::abs(static_cast<long double>(SumOf<T>(term)));
  }
  if constexpr (std::is_integral_v<T>)
    return exact == static_cast<long double>(sum);
  long double roundoff =
      static_cast<long double>(std::numeric_limits<SumOf<T>>::epsilon()) / 2;
  long double bound = (terms.size() - 1) * roundoff * size;
  bound *= 1 + 16 * roundoff;
  if constexpr (sizeof(T) == 2) // 11 digits, or 8
    bound += (std::abs(exact) + bound) *
             (std::is_same_v<T, Brain16> ? 0x1p-8L : 0x1p-11L);
  return std::abs(static_cast<long double>(SumOf<T>(sum)) - exact) <= bound;
}

/// Whether `got` is the sum over the group that `rank` is in, as the
/// communicator promises it: to the bit where it adds in the order of ranks.
template <typename T>
bool isSum(const Communicator &communicator, T got, const GroupShape &shape,
           int rank, int64_t i, int seed = 0) {
  if (communicator.sumOrder() == SumOrder::Ranks)
    return sameBits(got, sumInRankOrder<T>(shape, rank, i, seed));
  std::vector<T> terms;
  for (int place = 0; place < shape.size; ++place)
    terms.push_back(valueOf<T>(shape.member(rank, place), i, seed));
  return isSumInSomeOrder(got, terms);
}

} // namespace shardc::runtime

#endif
