// Norms, sums over micro-batches, optimizer steps and reports.
#include "test/runtime/device/ConformanceSuite.h"

#include <cmath>

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(GradientNorm);

/// The sum of powers over all gradients.
Expected powerSum(const std::vector<Numbers> &gradients, Norm norm) {
  Expected expected(1);
  for (const Numbers &gradient : gradients)
    for (double g : gradient.values) {
      double size = std::fabs(g), power = norm == Norm::Two ? g * g : size;
      if (norm != Norm::Inf)
        expected.add(0, power, 0);
      else if (std::isnan(size) || size > expected.values[0])
        expected.values[0] = size;
      if (std::isnan(expected.values[0]))
        return expected;
    }
  // Sums are float64, whatever the gradients are.
  int64_t terms = 0;
  for (const Numbers &gradient : gradients)
    terms += gradient.elements();
  if (norm != Norm::Inf)
    expected.slack[0] =
        double(terms + 2) * roundoff(plan::FLOAT64) * expected.values[0];
  return expected;
}

TEST_P(GradientNormConformance, IsTheSumOfPowers) {
  const std::vector<std::vector<int64_t>> sizes = {
      {0}, {1}, {6}, {12, 30, 0, 600}, {70002, 66}};
  for (const std::vector<int64_t> &of : sizes)
    for (plan::DType dtype : floatTypes)
      for (Norm norm : {Norm::One, Norm::Two, Norm::Inf})
        for (const std::vector<int64_t> &slices :
             {std::vector<int64_t>{}, {1}, {2}, {3, 2}}) {
          int64_t count = countOf(slices);
          if (of[0] % count)
            continue;
          onDevice([&](Bench &bench) {
            SCOPED_TRACE(testing::Message()
                         << of[0] << " of " << plan::DType_Name(dtype)
                         << ", norm " << int(norm) << ", slices " << count);
            std::vector<Numbers> gradients;
            std::vector<Tensor> tensors;
            for (int64_t size : of) {
              gradients.push_back(
                  Numbers::random(dtype, {size}, unsigned(size), 3));
              tensors.push_back(bench.put(gradients.back()));
            }
            Tensor result = bench.room(plan::FLOAT64, {1});
            StepNumbers numbers;
            numbers.clipNorm = norm;
            bench.run(entry::GradientNorm{tensors, slices, result}, numbers);
            bench.expect(result, powerSum(gradients, norm), "result");
          });
        }
}

TEST_P(GradientNormConformance, WhatIsNotFiniteStaysVisible) {
  for (plan::DType dtype : floatTypes)
    for (Norm norm : {Norm::One, Norm::Two, Norm::Inf})
      for (double value : {double(INFINITY), -double(INFINITY), double(NAN)})
        onDevice([&](Bench &bench) {
          Numbers gradient = Numbers::random(dtype, {1000}, 1);
          gradient[777] = value;
          Tensor result = bench.room(plan::FLOAT64, {1});
          StepNumbers numbers;
          numbers.clipNorm = norm;
          bench.run(entry::GradientNorm{{bench.put(gradient)}, {}, result},
                    numbers);
          bench.expect(
              result,
              Expected(std::vector<double>{std::isnan(value) ? NAN : INFINITY}),
              "result");
        });
}

//===----------------------------------------------------------------------===//
// Sums over micro-batches
//===----------------------------------------------------------------------===//

SHARDC_CONFORMANCE(Accumulate);

TEST_P(AccumulateConformance, AddsOverMicroBatches) {
  const std::pair<plan::DType, plan::DType> types[] = {
      {plan::FLOAT64, plan::FLOAT64},
      {plan::FLOAT32, plan::FLOAT32},
      {plan::BFLOAT16, plan::FLOAT32},
      {plan::FLOAT16, plan::FLOAT32},
      {plan::BFLOAT16, plan::BFLOAT16}};
  for (auto [dtype, sumDtype] : types)
    for (int64_t count : {0, 1, 33, 20003})
      onDevice([&, dtype = dtype, sumDtype = sumDtype](Bench &bench) {
        SCOPED_TRACE(testing::Message()
                     << count << " of " << plan::DType_Name(dtype) << " in "
                     << plan::DType_Name(sumDtype));
        Numbers value = Numbers::random(dtype, {count}, 1);
        Tensor values = bench.put(value), sums = bench.room(sumDtype, {count});
        StepNumbers numbers;
        numbers.microBatches = 3;
        // What the accumulator holds is known again behind each of them.
        std::vector<double> held;
        for (numbers.microBatch = 0; numbers.microBatch < 3;
             ++numbers.microBatch) {
          bench.run(entry::Accumulate{values, sums}, numbers);
          Expected sum(value.values), own(value.values);
          bool isLast = numbers.microBatch == 2;
          for (int64_t i = 0; numbers.microBatch > 0 && i < count; ++i) {
            Expected &changed = isLast ? own : sum;
            changed.values[i] = held[i] + value[i];
            changed.slack[i] = sumRoundoff(sumDtype) * 2 *
                               (std::fabs(held[i]) + std::fabs(value[i]));
            if (isLast)
              sum.values[i] = held[i];
          }
          bench.expect(sums, sum, "accumulator");
          bench.expect(values, own, "value");
          held = bench.get(sums);
        }
      });
}

TEST_P(AccumulateConformance, DoesNothingWhereThereIsOneMicroBatch) {
  onDevice([&](Bench &bench) {
    Numbers value = Numbers::random(plan::FLOAT32, {40}, 1),
            sum = Numbers::random(plan::FLOAT32, {40}, 2);
    Tensor values = bench.put(value), sums = bench.put(sum);
    bench.run(entry::Accumulate{values, sums});
    bench.expect(values, Expected(value.values), "value");
    bench.expect(sums, Expected(sum.values), "accumulator");
  });
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

SHARDC_CONFORMANCE(Metric);

TEST_P(MetricConformance, KeepsTheValue) {
  for (plan::DType dtype : floatTypes)
    for (double value : {0.0, -1.0 / 3, 65504.0, double(INFINITY), double(NAN)})
      onDevice([&](Bench &bench) {
        Numbers numbers(dtype, {}, value);
        Tensor slot = bench.room(plan::FLOAT64, {1}, {{}, 2});
        bench.run(entry::Metric{bench.put(numbers, {{}, 3}), slot});
        bench.expect(slot, Expected(numbers.values), "slot");
      });
}

} // namespace
} // namespace shardc::runtime
