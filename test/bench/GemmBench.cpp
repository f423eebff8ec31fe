// gemm-bench: the rate of matrix products, every thread computing its own, as
// ranks do; the yardstick of bench.py.
//   gemm-bench THREADS [--dtype f32|bf16]          1024^3, all threads' sum
//   gemm-bench THREADS [--dtype f32|bf16] --table  several shapes, a thread's,
//                                                  beside the peak of FMA
// in GFLOP/s.
#include "runtime/base/Memory.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/products/Gemm.h"
#include "runtime/cpu/products/HalfGemm.h"
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

struct Rates { // GFLOP/s
  double products, ofPeak;
};

double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of one thread. Machines are shared and clocks change: in each of several
/// rounds the peak is measured, then products for `duration` seconds; medians.
Rates ratesOf(const Shape &s, plan::DType dtype, double duration) {
  bool half = dtype == plan::BFLOAT16;
  size_t bytes = half ? 2 : 4;
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
  std::vector<std::byte> workspace(half ? halfGemmWorkspace(s.m, s.n, s.k) : 0);
  ThreadPool pool(1, false);
  GemmDesc p{s.m,
             s.n,
             s.k,
             {a.data(), dtype, s.transposeA ? s.m : s.k, s.transposeA},
             {b.data(), dtype, s.transposeB ? s.k : s.n, s.transposeB},
             {c.data(), dtype, s.n}};
  auto product = [&] {
    if (half) {
      halfGemm(p, workspace.data(), 1, pool);
      return;
    }
    gemm<float>({s.m, s.n, s.k, reinterpret_cast<float *>(a.data()), p.a.stride,
                 s.transposeA, reinterpret_cast<float *>(b.data()), p.b.stride,
                 s.transposeB, reinterpret_cast<float *>(c.data()), s.n});
  };
  product();
  double work = 2.0 * double(s.m) * double(s.n) * double(s.k) / 1e9;
  constexpr int rounds = 7;
  std::vector<double> rates, ratios;
  for (int round = 0; round < rounds; ++round) {
    double peak = peakRate(duration / 4);
    int64_t products = 0;
    auto start = std::chrono::steady_clock::now();
    do
      product(), ++products;
    while (seconds(start) < duration);
    rates.push_back(work * double(products) / seconds(start));
    ratios.push_back(peak > 0 ? rates.back() / peak : 0);
  }
  return {median(rates), median(ratios)};
}

/// Means over `count` threads at once.
Rates onThreads(int count, const std::function<Rates()> &ratesOfOne) {
  std::vector<Rates> rates(count);
  std::vector<std::thread> threads;
  for (Rates &own : rates)
    threads.emplace_back([&] { own = ratesOfOne(); });
  for (std::thread &thread : threads)
    thread.join();
  Rates mean{};
  for (const Rates &own : rates)
    mean.products += own.products / count, mean.ofPeak += own.ofPeak / count;
  return mean;
}

void printTable(int threads, plan::DType dtype) {
  std::printf("%s, %d threads at once, GFLOP/s a thread, and of the peak of "
              "float32 FMA beside it\n",
              gemmLibrary(), threads);
  for (const Shape &s : shapes) {
    Rates rates = onThreads(threads, [&] { return ratesOf(s, dtype, 0.04); });
    std::string size = std::to_string(s.m) + " x " + std::to_string(s.n) +
                       " x " + std::to_string(s.k);
    std::printf("%-22s %7.1f %5.1f %%  %s\n", size.c_str(), rates.products,
                100 * rates.ofPeak, s.what);
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
    std::printf("%.1f\n", threads * onThreads(threads, [&] {
                                      return ratesOf(cube, dtype, 0.15);
                                    }).products);
}
