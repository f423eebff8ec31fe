// optimizer-bench RANKS [--json]: AdamW and the gradient's norm over 32 million
// float32 elements on each rank at once, beside the triad of STREAM
// (a = b + s c) in the same run, in turns, medians. Bytes are those that must
// move: 28 per element for AdamW (four arrays read, three written), 4 for the
// norm, 12 for the triad. The triad stores around the caches: its a is not
// read first.
#include "runtime/base/Memory.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/optimizer/GradientNorm.h"
#include "runtime/cpu/optimizer/Optimizer.h"
#include "test/bench/Bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace shardc;
using namespace shardc::runtime;

namespace {

constexpr int64_t elements = int64_t(32) << 20;
constexpr int rounds = 9;
enum Kind { Triad, AdamW, NormOfGradients, Kinds };
constexpr double bytesOfElement[Kinds] = {12, 28, 4};

/// a, b, c: aligned to 64 bytes.
void triad(float *a, const float *b, const float *c, int64_t from, int64_t to) {
#if defined(__x86_64__)
  __m128 scale = _mm_set1_ps(3);
  for (int64_t i = from; i < to; i += 4)
    _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i),
                                    _mm_mul_ps(scale, _mm_load_ps(c + i))));
  _mm_sfence();
#else
  for (int64_t i = from; i < to; ++i)
    a[i] = b[i] + 3 * c[i];
#endif
}

struct Slices {
  std::vector<Memory> memory;
  Tensor vector() {
    memory.push_back(Memory::allocate("bench", elements * 4));
    std::memset(memory.back().data(), 0, elements * 4);
    Tensor tensor;
    tensor.data = memory.back().data();
    tensor.dtype = plan::FLOAT32;
    tensor.shape = {elements};
    tensor.strides = {1};
    return tensor;
  }
};

} // namespace

int main(int argc, char **argv) {
  bench::Arguments arguments("optimizer-bench", argc, argv);
  ThreadWorld world(arguments.ranks);
  int workers = world.workersPerRank();
  bool spin = world.haveCoresFor(workers);
  double rates[Kinds];
  world.run([&](Communicator &communicator) {
    ThreadPool pool(workers, spin);
    Slices slices;
    Tensor master = slices.vector(), gradient = slices.vector(),
           average = slices.vector(), squares = slices.vector();
    cpu::OptimizerStep step;
    step.kind = cpu::OptimizerStep::Kind::AdamW;
    step.master = master;
    step.gradient = gradient;
    step.states = {average, squares};
    step.ranges = {{0, elements, {1, 0.1}}};
    cpu::GradientNorm norm({gradient}, {{{0, elements / 1024, 1024}}});
    std::array<int64_t, ExactSum::words> exact;
    StepNumbers numbers;
    std::vector<double> seconds[Kinds];
    for (int round = 0; round < rounds; ++round) {
      seconds[Triad].push_back(bench::timed(communicator, [&] {
        pool.forRanges(elements / 16, 1 << 10,
                       [&](int64_t from, int64_t to, int) {
                         triad(squares.as<float>(), master.as<float>(),
                               gradient.as<float>(), from * 16, to * 16);
                       });
      }));
      seconds[NormOfGradients].push_back(bench::timed(
          communicator, [&] { norm.compute(Norm::Two, pool, {}, exact); }));
      seconds[AdamW].push_back(
          bench::timed(communicator, [&] { step.run(numbers, 0, pool); }));
    }
    if (communicator.rank() == 0)
      for (int kind = 0; kind < Kinds; ++kind)
        rates[kind] = bytesOfElement[kind] * double(elements) *
                      arguments.ranks / bench::median(seconds[kind]) / 1e9;
    communicator.barrier();
  });
  std::printf(arguments.json
                  ? "{\"triad_gb_per_second\": %.4g, "
                    "\"adamw_gb_per_second\": %.4g, "
                    "\"norm_gb_per_second\": %.4g}\n"
                  : "triad %.2f GB/s, AdamW %.2f GB/s, norm %.2f GB/s\n",
              rates[Triad], rates[AdamW], rates[NormOfGradients]);
  if (!arguments.json)
    std::printf("AdamW at %.0f %% of the triad, the norm at %.0f %%\n",
                100 * rates[AdamW] / rates[Triad],
                100 * rates[NormOfGradients] / rates[Triad]);
}
