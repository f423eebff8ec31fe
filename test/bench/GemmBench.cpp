// gemm-bench: the rate of matrix products, every thread computing its own, as
// ranks do; the yardstick of bench.py.
//   gemm-bench THREADS [--dtype f32|bf16]          1024^3 on all of them,
//   GFLOP/s gemm-bench THREADS [--dtype f32|bf16] --table  that of several
//   shapes, a
//                      thread, beside the measured peak of float32 FMA
#include "runtime/Memory.h"
#include "runtime/ThreadPool.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/NarrowGemm.h"
#include "test/bench/PeakRate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

struct Shape {
  int64_t m, n, k;
  bool transposeA, transposeB;
  const char *what;
};

constexpr Shape cube{1024, 1024, 1024, false, false, ""};
constexpr Shape shapes[] = {
    {512, 512, 512, false, false, ""},
    cube,
    {2048, 2048, 2048, false, false, ""},
    {1024, 1024, 1024, false, true, "b transposed"},
    {1024, 1024, 1024, true, false, "a transposed"},
    {1024, 3072, 768, false, false, "GPT-2: up"},
    {1024, 768, 3072, false, true, "GPT-2: its gradient"},
    {768, 3072, 1024, true, false, "GPT-2: its weight's gradient"},
    {512, 50257, 768, false, true, "GPT-2: head"},
    {512, 768, 50257, false, false, "GPT-2: its gradient"},
    {50257, 768, 512, true, false, "GPT-2: its weight's gradient"},
    {2048, 688, 256, false, true, "small Llama: up"},
    {64, 128, 64, false, true, "attention: scores"},
    {64, 64, 128, false, false, "attention: values"},
    {128, 64, 64, true, false, "attention: gradients of keys"},
    {32, 2048, 512, false, false, "32 rows"},
    {32, 512, 2048, false, true, "32 rows: gradient"},
    {512, 2048, 32, true, false, "32 rows: weight's gradient"},
};

double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

/// FLOP/s / 1e9 of one thread that multiplies for `duration` seconds: that of
/// its median product, since machines are shared.
double rate(const Shape &s, plan::DType dtype, double duration) {
  bool narrow = dtype == plan::BFLOAT16;
  size_t bytes = narrow ? 2 : 4;
  auto matrix = [&](int64_t rows, int64_t columns) {
    Memory data = Memory::allocate("a matrix", rows * columns * bytes);
    for (int64_t i = 0; i < rows * columns; ++i) {
      float value = 1 + float(i % 7) / 8;
      // bfloat16 is the upper half.
      std::memcpy(data.data() + i * bytes,
                  reinterpret_cast<std::byte *>(&value) + (4 - bytes), bytes);
    }
    return data;
  };
  Memory a = matrix(s.m, s.k), b = matrix(s.k, s.n), c = matrix(s.m, s.n);
  std::vector<std::byte> workspace(narrow ? narrowGemmWorkspace(s.m, s.n, s.k)
                                          : 0);
  ThreadPool pool(1, false);
  NarrowGemm p{s.m,
               s.n,
               s.k,
               {a.data(), dtype, s.transposeA ? s.m : s.k, s.transposeA},
               {b.data(), dtype, s.transposeB ? s.k : s.n, s.transposeB},
               {c.data(), dtype, s.n}};
  auto product = [&] {
    if (narrow) {
      narrowGemm(p, workspace.data(), 1, pool);
      return;
    }
    gemm<float>({s.m, s.n, s.k, reinterpret_cast<float *>(a.data()), p.a.stride,
                 s.transposeA, reinterpret_cast<float *>(b.data()), p.b.stride,
                 s.transposeB, reinterpret_cast<float *>(c.data()), s.n});
  };
  product();
  auto start = std::chrono::steady_clock::now();
  std::vector<double> durations;
  while (seconds(start) < duration || durations.size() < 3) {
    auto begin = std::chrono::steady_clock::now();
    product();
    durations.push_back(seconds(begin));
  }
  auto median = durations.begin() + durations.size() / 2;
  std::nth_element(durations.begin(), median, durations.end());
  return 2.0 * double(s.m) * double(s.n) * double(s.k) / *median / 1e9;
}

/// The sum over `count` threads at once.
double onThreads(int count, const std::function<double()> &rateOfOne) {
  std::vector<double> rates(count);
  std::vector<std::thread> threads;
  for (double &own : rates)
    threads.emplace_back([&] { own = rateOfOne(); });
  for (std::thread &thread : threads)
    thread.join();
  double total = 0;
  for (double own : rates)
    total += own;
  return total;
}

void printTable(int threads, plan::DType dtype) {
  auto peak = [&] {
    return onThreads(threads, [] { return peakRate(0.1); }) / threads;
  };
  std::printf("%s, %d threads at once, GFLOP/s a thread\n", gemmLibrary(),
              threads);
  double before = peak();
  std::printf("%-22s %7.1f\n", "float32 FMA peak", before);
  for (const Shape &s : shapes) {
    double own =
        onThreads(threads, [&] { return rate(s, dtype, 0.2); }) / threads;
    // A processor's clock follows what it does: the peak is measured anew.
    double after = peak();
    std::string size = std::to_string(s.m) + " x " + std::to_string(s.n) +
                       " x " + std::to_string(s.k);
    std::printf("%-22s %7.1f %5.1f %% of the peak  %s\n", size.c_str(), own,
                200 * own / (before + after), s.what);
    before = after;
  }
}

} // namespace

int main(int argc, char **argv) {
  int threads = 0;
  bool table = false, valid = true;
  plan::DType dtype = plan::FLOAT32;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--table")
      table = true;
    else if (argument == "--dtype" && (value == "f32" || value == "bf16"))
      dtype = value == "bf16" ? plan::BFLOAT16 : plan::FLOAT32, ++i;
    else if (threads == 0)
      threads = std::atoi(argv[i]);
    else
      valid = false;
  }
  if (argc == 1)
    threads = 1;
  if (!valid || threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: gemm-bench THREADS [--dtype f32|bf16] "
                         "[--table]; 1 to 1024 threads\n");
    return 2;
  }
  if (table)
    printTable(threads, dtype);
  else
    std::printf("%.1f\n",
                onThreads(threads, [&] { return rate(cube, dtype, 1); }));
}
