// gemm-bench THREADS: what the GEMM library reaches on 1024^3 float32 on that
// many threads at once, in GFLOP/s; the yardstick of bench.py.
#include "runtime/cpu/Gemm.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {
constexpr int size = 1024;
constexpr double seconds = 1;

double rate() {
  std::vector<float> a(size * size, 1), b(size * size, 1), c(size * size);
  auto product = [&] {
    shardc::runtime::cpu::gemm<float>({size, size, size, a.data(), size, false,
                                       b.data(), size, false, c.data(), size});
  };
  product();
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  int products = 0;
  for (; elapsed() < seconds; ++products)
    product();
  return 2.0 * size * size * size * products / elapsed() / 1e9;
}
} // namespace

int main(int argc, char **argv) {
  int count = argc > 1 ? std::atoi(argv[1]) : 1;
  if (count < 1 || count > 1024) {
    std::fprintf(stderr, "gemm-bench: error: expects a number of threads from "
                         "1 to 1024\n");
    return 2;
  }
  std::vector<double> rates(count);
  std::vector<std::thread> threads;
  for (double &own : rates)
    threads.emplace_back([&own] { own = rate(); });
  for (std::thread &thread : threads)
    thread.join();
  double total = 0;
  for (double own : rates)
    total += own;
  std::printf("%.1f\n", total);
}
