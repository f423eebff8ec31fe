// What optimizers of whole matrices need of a device: directions, and
// all-to-alls between ranks.
#include "test/runtime/device/ConformanceSuite.h"

#include <cmath>

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(MatrixDirection);

TEST_P(MatrixDirectionConformance, FollowsTheMomentum) {
  struct Types {
    plan::DType state, gradient, direction;
  };
  constexpr int64_t count = 2500;
  for (Types types : {Types{plan::FLOAT64, plan::FLOAT64, plan::FLOAT64},
                      Types{plan::FLOAT32, plan::FLOAT32, plan::FLOAT32},
                      Types{plan::FLOAT32, plan::BFLOAT16, plan::FLOAT32},
                      Types{plan::BFLOAT16, plan::FLOAT32, plan::FLOAT32}})
    for (bool nesterov : {false, true})
      for (double norm : {4.0, double(NAN)})
        onDevice([&](Bench &bench) {
          Numbers state = Numbers::random(types.state, {count}, 1, 1);
          Numbers gradient = Numbers::random(types.gradient, {count}, 2, 1);
          Numbers before = Numbers::random(types.direction, {count}, 3, 1);
          entry::MatrixDirection entry;
          entry.kind = OptimizerKind::Muon;
          entry.gradient = bench.put(gradient);
          entry.state = bench.put(state);
          entry.norm = bench.put(Numbers(plan::FLOAT64, {1}, norm * norm));
          entry.direction = bench.put(before);
          entry.ranges = {{5, 1700, {}, true}, {1900, count, {}, true}};
          StepNumbers numbers;
          numbers.momentum = 0.9;
          numbers.nesterov = nesterov;
          numbers.clip = 1;
          numbers.gradientFactor = 0.5;
          bench.run(entry, numbers);
          // The norm of scaled gradients is 2.
          double factor = 0.5 / (2 + 1e-6), mu = 0.9;
          Expected moved(state.values), way(before.values);
          if (std::isnan(norm))
            way = Expected(std::vector<double>(count, 0.0));
          double unit = types.state == plan::FLOAT64    ? 1e-15
                        : types.state == plan::BFLOAT16 ? 8e-3
                                                        : 1e-6;
          for (const entry::Range &range : entry.ranges)
            for (int64_t i = range.begin; i < range.end && !std::isnan(norm);
                 ++i) {
              double g = gradient[i] * factor;
              double b = mu * state[i] + (1 - mu) * g;
              moved.values[i] = b;
              way.values[i] = nesterov ? (1 - mu) * g + mu * b : b;
              moved.slack[i] = unit * (std::fabs(state[i]) + std::fabs(g));
              // The direction is made before the state is rounded.
              way.slack[i] = (types.direction == plan::FLOAT64 ? 1e-15 : 1e-6) *
                             (std::fabs(state[i]) + std::fabs(g));
            }
          bench.expect(entry.state, moved, "state");
          bench.expect(entry.direction, way, "direction");
        });
}

SHARDC_CONFORMANCE(StartAllToAll);

TEST_P(StartAllToAllConformance, BringsPartsOfTensorsToTheirPlaces) {
  for (plan::DType dtype : {plan::FLOAT64, plan::FLOAT32})
    for (int ranks : {1, 2, 4})
      onRanks(ranks, [&](Bench &bench) {
        // Rank r sends elements [3 p, 3 p + 2) of its second tensor to rank p,
        // which has them from 5 r on.
        auto valuesOf = [&](int rank) {
          return Numbers::random(dtype, {3 * ranks}, unsigned(rank + 1), 1);
        };
        Numbers room = Numbers::random(dtype, {5 * ranks}, 99, 1);
        entry::StartAllToAll start{7, &bench.world, {}, {}, {}, {}};
        start.sources = {bench.put(Numbers(dtype, {1})),
                         bench.put(valuesOf(bench.rank()))};
        start.destinations = {bench.put(room)};
        Expected expected(room.values);
        for (int peer = 0; peer < ranks; ++peer) {
          start.sends.push_back({peer, 1, 3 * peer, 2});
          start.receives.push_back({peer, 0, 5 * peer, 2});
          for (int i = 0; i < 2; ++i)
            expected.values[5 * peer + i] =
                valuesOf(peer)[3 * bench.rank() + i];
        }
        bench.run({start, entry::Wait{7, true}});
        bench.expect(start.destinations[0], expected, "destination");
      });
}

} // namespace
} // namespace shardc::runtime
