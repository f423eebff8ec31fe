// What the conformance tests of communicators share. An implementation is a way
// to run a body as every rank of a world; one more line in `implementations`,
// and all of the suite runs over it.
#ifndef SHARDC_TEST_RUNTIME_COMM_COMMSUITE_H
#define SHARDC_TEST_RUNTIME_COMM_COMMSUITE_H

#include "runtime/base/ThreadPool.h"
#include "runtime/comm/Communicator.h"
#include "runtime/launch/ThreadWorld.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct Implementation {
  const char *name;
  void (*run)(int ranks, const std::function<void(Communicator &)> &body);
};
inline const Implementation implementations[] = {
    {"Threads", runRanksAsThreads}};

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

/// bfloat16 by arithmetic: nothing of the runtime's. Normal numbers only.
struct Brain16 {
  uint16_t bits;
  Brain16() = default;
  explicit Brain16(float value) {
    if (value == value) {
      int exponent;
      float mantissa = std::frexp(value, &exponent); // 8 bits are kept
      value = std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
    }
    bits = uint16_t(std::bit_cast<uint32_t>(value) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// Calls function with a value of the C++ type of a type that collectives add
/// up.
template <typename Function>
void withElement(plan::DType dtype, Function function) {
  switch (dtype) {
  case plan::FLOAT32:
    return function(float());
  case plan::FLOAT64:
    return function(double());
  case plan::BFLOAT16:
    return function(Brain16());
  case plan::FLOAT16:
    return function(_Float16());
  case plan::INT64:
    return function(int64_t());
  default:
    return function(int32_t());
  }
}
constexpr plan::DType reducibleTypes[] = {plan::FLOAT32,  plan::FLOAT64,
                                          plan::BFLOAT16, plan::FLOAT16,
                                          plan::INT64,    plan::INT32};

/// What T is added in.
template <typename T>
using SumOf =
    std::conditional_t<std::is_integral_v<T> || sizeof(T) >= 4, T, float>;

/// Values whose sum depends on the order of the additions. `seed`: another set.
template <typename T> T valueOf(int rank, int64_t i, int seed = 0) {
  auto number = SumOf<T>(1 + (rank * 7919 + (i + seed) * 104729) % 1000003);
  return T(number / SumOf<T>(7));
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

} // namespace shardc::runtime

#endif
