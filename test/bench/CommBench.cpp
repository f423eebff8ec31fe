// comm-bench RANKS [--json]: collectives between ranks that are threads, of
// whole buffers from 4 kB to 256 MB (float32), beside the rate at which all
// ranks copy as many bytes at once, in turns, medians. A rate is the whole
// buffer's bytes by the time that all ranks take.
#include "runtime/base/Memory.h"
#include "runtime/base/ThreadPool.h"
#include "test/bench/Bench.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {

enum Kind { Copy, InPlace, AllGather, ReduceScatter, AllReduce, Kinds };
const char *const names[Kinds] = {"copy", "in_place_all_gather", "all_gather",
                                  "reduce_scatter", "all_reduce"};

struct Bench {
  int64_t bytes; // of the whole buffer
  std::vector<double> seconds[Kinds];

  void run(Communicator &communicator, ThreadPool &pool) {
    int64_t shardBytes = bytes / communicator.size();
    int64_t count = shardBytes / 4;
    Memory whole = Memory::allocate("bench", bytes);
    Memory other = Memory::allocate("bench", bytes);
    std::memset(whole.data(), 0, bytes);
    std::memset(other.data(), 0, bytes);
    Segment segment{whole.data(), count * communicator.size(), plan::FLOAT32};
    std::vector<double> own[Kinds];
    auto measure = [&](Kind kind, auto body) {
      own[kind].push_back(bench::timed(communicator, body));
    };
    double begin = bench::now();
    // The leader's clock decides for all how often.
    int64_t goesOn = 1;
    for (int round = 0; goesOn; ++round) {
      measure(Copy, [&] {
        pool.forRanges(bytes, 1 << 20, [&](int64_t from, int64_t to, int) {
          std::memcpy(other.data() + from, whole.data() + from, to - from);
        });
      });
      measure(InPlace,
              [&] { communicator.finish(communicator.startBarrier()); });
      measure(AllGather, [&] {
        communicator.finish(communicator.startAllGather(
            other.data(), whole.data(), shardBytes));
      });
      measure(ReduceScatter, [&] {
        communicator.finish(communicator.startReduceScatter(
            whole.data(), other.data(), count, plan::FLOAT32));
      });
      measure(AllReduce, [&] { communicator.allReduce({&segment, 1}); });
      goesOn = communicator.rank() == 0 &&
               (round < 6 || (round < 1000 && bench::now() - begin < 0.5));
      Segment sum{&goesOn, 1, plan::INT64};
      communicator.allReduce({&sum, 1});
    }
    if (communicator.rank() == 0)
      for (int kind = 0; kind < Kinds; ++kind)
        seconds[kind] = own[kind];
    communicator.barrier();
  }
};

void print(const Bench &bench, int ranks, bool json) {
  double median[Kinds];
  for (int kind = 0; kind < Kinds; ++kind)
    median[kind] = bench::median(bench.seconds[kind]);
  double bytes = double(bench.bytes);
  if (json) {
    std::printf("{\"ranks\": %d, \"bytes\": %lld", ranks,
                static_cast<long long>(bench.bytes));
    for (int kind = 0; kind < Kinds; ++kind)
      std::printf(", \"%s_seconds\": %.9g", names[kind], median[kind]);
    std::puts("}");
    return;
  }
  std::printf("%9.0f kB  copy %7.2f GB/s  gathered in place %8.2f us",
              bytes / 1024, bytes / median[Copy] / 1e9, median[InPlace] * 1e6);
  for (Kind kind : {AllGather, ReduceScatter, AllReduce})
    std::printf("  %s %9.3f ms %7.2f GB/s %4.0f %%", names[kind],
                median[kind] * 1e3, bytes / median[kind] / 1e9,
                100 * median[Copy] / median[kind]);
  std::puts("");
}

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments("comm-bench", argc, argv);
  const ThreadWorld world(arguments.ranks);
  int workers = world.workersPerRank();
  bool spin = world.haveCoresFor(workers);
  for (int64_t bytes = 4 << 10; bytes <= 256 << 20; bytes *= 2) {
    if (bytes % (4 * arguments.ranks) != 0)
      bytes -= bytes % (4 * arguments.ranks);
    Bench bench{bytes, {}};
    ThreadWorld(arguments.ranks).run([&](Communicator &communicator) {
      ThreadPool pool(workers, spin);
      communicator.hostRanks()->helpWith(&pool);
      bench.run(communicator, pool);
      communicator.hostRanks()->helpWith(nullptr);
    });
    print(bench, arguments.ranks, arguments.json);
  }
}
