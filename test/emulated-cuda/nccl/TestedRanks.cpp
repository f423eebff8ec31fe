// Threads with devices, values, and what collectives are by definition.
#include "test/emulated-cuda/nccl/TestedRanks.h"

#include "test/emulated-cuda/blaslt/Rounding.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace shardc::test::cuda {
namespace {

/// Calls `visit` with a value of the type that stands for `type`.
template <typename Visit> void visitType(ncclDataType_t type, Visit visit) {
  switch (type) {
  case ncclInt8:
    return visit(int8_t());
  case ncclUint8:
    return visit(uint8_t());
  case ncclInt32:
    return visit(int32_t());
  case ncclInt64:
    return visit(int64_t());
  case ncclFloat16:
    return visit(Float16());
  case ncclFloat32:
    return visit(float());
  case ncclFloat64:
    return visit(double());
  case ncclBfloat16:
    return visit(Bfloat16());
  }
}

template <typename T> constexpr bool isNarrow = std::is_class_v<T>;

using Values = std::vector<double>;

/// A collective with its buffers, and what must come out.
struct Trial {
  const char *name;
  size_t sent, received; // elements
  /// Of the smaller buffer in the larger one, when in place; -1: never is.
  ptrdiff_t inPlaceAt;
  std::function<ncclResult_t(const void *, void *)> call;
  Values expected;
};

void runTrial(TestedRank &rank, ncclDataType_t type, const Trial &trial,
              const Values &values, bool inPlace) {
  Device &device = rank.device;
  size_t size = elementBytes(type);
  std::vector<char> sent =
      encode({values.begin(), values.begin() + trial.sent}, type);
  size_t whole = std::max(trial.sent, trial.received);
  CUdeviceptr send, receive;
  if (inPlace) {
    CUdeviceptr buffer = device.allocate(std::max<size_t>(whole * size, 1));
    CUdeviceptr inner = buffer + trial.inPlaceAt * size;
    bool sendsPart = trial.sent < trial.received;
    send = sendsPart ? inner : buffer, receive = sendsPart ? buffer : inner;
  } else {
    send = device.allocate(std::max<size_t>(sent.size(), 1));
    receive = device.allocate(std::max<size_t>(trial.received * size, 1));
  }
  if (!sent.empty())
    device.upload(send, sent.data(), sent.size());
  check(trial.call(pointer(send), pointer(receive)), trial.name);
  if (!trial.received)
    return device.settle();
  Values got = decode(device.get<char>(receive, trial.received * size), type);
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] != trial.expected[i])
      throw std::runtime_error(
          std::string(trial.name) + (inPlace ? " in place" : "") + ", type " +
          std::to_string(type) + ": element " + std::to_string(i) + " of " +
          std::to_string(got.size()) + " of rank " + std::to_string(rank.rank) +
          " is " + std::to_string(got[i]) + ", expected " +
          std::to_string(trial.expected[i]));
}

} // namespace

size_t elementBytes(ncclDataType_t type) {
  size_t bytes = 0;
  visitType(type, [&](auto value) { bytes = sizeof(value); });
  return bytes;
}

std::vector<char> encode(const Values &values, ncclDataType_t type) {
  std::vector<char> bytes(values.size() * elementBytes(type));
  visitType(type, [&](auto stored) {
    using T = decltype(stored);
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (isNarrow<T>)
        stored = T(float(values[i]));
      else
        stored = T(values[i]);
      std::memcpy(&bytes[i * sizeof(T)], &stored, sizeof(T));
    }
  });
  return bytes;
}

Values decode(const std::vector<char> &bytes, ncclDataType_t type) {
  Values values(bytes.size() / elementBytes(type));
  visitType(type, [&](auto stored) {
    using T = decltype(stored);
    for (size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&stored, &bytes[i * sizeof(T)], sizeof(T));
      if constexpr (isNarrow<T>)
        values[i] = float(stored);
      else
        values[i] = double(stored);
    }
  });
  return values;
}

Values exactValues(size_t count, int rank, ncclDataType_t type) {
  Values values(count);
  bool isFloat = type >= ncclFloat16;
  for (size_t i = 0; i < count; ++i) {
    int value = int((i * 7 + rank * 13) % 17);
    values[i] = type == ncclUint8 ? value
                : isFloat         ? (value - 8) / 2.0
                                  : value - 8;
  }
  return values;
}

void checkCollectives(TestedRank &rank, ncclComm_t comm, ncclDataType_t type,
                      size_t count) {
  const OpenedLibraries &cuda = opened();
  CUstream stream = rank.device.stream;
  int ranks = rank.ranks, own = rank.rank;
  std::vector<Values> all; // what each rank has for all
  for (int other = 0; other < ranks; ++other)
    all.push_back(exactValues(count * ranks, other, type));
  auto combined = [&](size_t begin, size_t elements, bool sums) {
    Values result(elements);
    for (size_t i = 0; i < elements; ++i) {
      result[i] = all[0][begin + i];
      for (int other = 1; other < ranks; ++other)
        result[i] = sums ? result[i] + all[other][begin + i]
                         : std::max(result[i], all[other][begin + i]);
    }
    return result;
  };
  Values gathered, exchanged;
  for (int other = 0; other < ranks; ++other) {
    const Values &theirs = all[other];
    gathered.insert(gathered.end(), theirs.begin(), theirs.begin() + count);
    exchanged.insert(exchanged.end(), theirs.begin() + own * count,
                     theirs.begin() + (own + 1) * count);
  }
  std::vector<Trial> trials = {
      {"ncclAllGather", count, count * ranks, ptrdiff_t(own * count),
       [&](const void *send, void *receive) {
         return cuda.ncclAllGather(send, receive, count, type, comm, stream);
       },
       gathered},
      {"ncclAlltoAll", count * ranks, count * ranks, -1,
       [&](const void *send, void *receive) {
         return cuda.ncclAlltoAll(send, receive, count, type, comm, stream);
       },
       exchanged}};
  for (ncclRedOp_t op : {ncclSum, ncclMax}) {
    trials.push_back({"ncclReduceScatter", count * ranks, count,
                      ptrdiff_t(own * count),
                      [&, op](const void *send, void *receive) {
                        return cuda.ncclReduceScatter(send, receive, count,
                                                      type, op, comm, stream);
                      },
                      combined(own * count, count, op == ncclSum)});
    trials.push_back({"ncclAllReduce", count, count, 0,
                      [&, op](const void *send, void *receive) {
                        return cuda.ncclAllReduce(send, receive, count, type,
                                                  op, comm, stream);
                      },
                      combined(0, count, op == ncclSum)});
  }
  for (const Trial &trial : trials)
    for (bool inPlace : {false, true})
      if (!inPlace || trial.inPlaceAt >= 0)
        runTrial(rank, type, trial, all[own], inPlace);
}

ncclComm_t TestedRank::join(const ncclUniqueId &id, const char *name,
                            int cta) const {
  ncclConfig_t config;
  config.commName = name, config.CTAPolicy = cta;
  ncclComm_t comm;
  SHARDC_CHECK(
      opened().ncclCommInitRankConfig(&comm, ranks, id, rank, &config));
  return comm;
}

ncclComm_t TestedRank::join(const ncclUniqueId &id, int ranks, int rank) const {
  ncclConfig_t config;
  ncclComm_t comm;
  SHARDC_CHECK(
      opened().ncclCommInitRankConfig(&comm, ranks, id, rank, &config));
  return comm;
}

ncclUniqueId newId() {
  ncclUniqueId id;
  SHARDC_CHECK(opened().ncclGetUniqueId(&id));
  return id;
}

void inThreads(int ranks, const std::function<void(TestedRank &)> &body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Device device(rank);
        TestedRank self{device, rank, ranks};
        body(self);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first)
          first = std::current_exception();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  if (first)
    std::rethrow_exception(first);
}

} // namespace shardc::test::cuda
