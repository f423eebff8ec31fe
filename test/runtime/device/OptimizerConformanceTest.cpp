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

constexpr int64_t exactWords = 68;

/// Runs the norm and what rounds it; the result is a float64.
Tensor normOf(Bench &bench, const std::vector<Tensor> &gradients,
              const std::vector<std::vector<entry::Rows>> &rows, Norm norm) {
  StepNumbers numbers;
  numbers.clipNorm = norm;
  Tensor sum = bench.room(plan::INT64, {exactWords}),
         result = bench.room(plan::FLOAT64, {1});
  bench.run({entry::GradientNorm{gradients, rows, {}, sum},
             entry::RoundSum{sum, result, true}},
            numbers);
  return result;
}

/// The same, with the last gradient's norm added to that of the others.
Tensor chainedNormOf(Bench &bench, std::vector<Tensor> gradients,
                     std::vector<std::vector<entry::Rows>> rows, Norm norm) {
  StepNumbers numbers;
  numbers.clipNorm = norm;
  Tensor others = bench.room(plan::INT64, {exactWords}),
         sum = bench.room(plan::INT64, {exactWords}),
         result = bench.room(plan::FLOAT64, {1});
  std::vector<Tensor> last = {gradients.back()};
  std::vector<std::vector<entry::Rows>> ofLast = {rows.back()};
  gradients.pop_back();
  rows.pop_back();
  bench.run({entry::GradientNorm{gradients, rows, {}, others},
             entry::GradientNorm{last, ofLast, others, sum},
             entry::RoundSum{sum, result, true}},
            numbers);
  return result;
}

TEST_P(GradientNormConformance, IsTheSumOfPowers) {
  const std::vector<std::vector<int64_t>> sizes = {
      {0}, {1}, {6}, {12, 30, 0, 600}, {70002, 66}};
  for (const std::vector<int64_t> &of : sizes)
    for (plan::DType dtype : floatTypes)
      for (Norm norm : {Norm::One, Norm::Two, Norm::Inf})
        for (int64_t width : {1, 2, 3, 100000}) {
          // Many short rows and a long one are enough over many blocks.
          if (of[0] > 1000 && width < 3)
            continue;
          onDevice([&](Bench &bench) {
            SCOPED_TRACE(testing::Message()
                         << of[0] << " of " << plan::DType_Name(dtype)
                         << ", norm " << int(norm) << ", width " << width);
            std::vector<Numbers> gradients;
            std::vector<Tensor> tensors;
            std::vector<std::vector<entry::Rows>> rows;
            for (int64_t size : of) {
              gradients.push_back(
                  Numbers::random(dtype, {size}, unsigned(size), 3));
              tensors.push_back(bench.put(gradients.back()));
              rows.emplace_back();
              if (size > 0 && size % width == 0)
                rows.back().push_back({0, size / width, width});
              else if (size > 0) // a row of its own behind one
                rows.back() = {{0, 1, 1}, {1, 1, size - 1}};
              if (size == 1)
                rows.back() = {{0, 1, 1}};
            }
            bench.expect(normOf(bench, tensors, rows, norm),
                         powerSum(gradients, norm), "result");
            bench.expect(chainedNormOf(bench, tensors, rows, norm),
                         powerSum(gradients, norm), "result of parts");
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
          Tensor result =
              normOf(bench, {bench.put(gradient)}, {{{0, 10, 100}}}, norm);
          bench.expect(
              result,
              Expected(std::vector<double>{std::isnan(value) ? NAN : INFINITY}),
              "result");
        });
}

//===----------------------------------------------------------------------===//
// Exact sums
//===----------------------------------------------------------------------===//

SHARDC_CONFORMANCE(ExactSum);

TEST_P(ExactSumConformance, AddsUpInAnyOrder) {
  const std::vector<double> values = {1e300, 1, -1e300, 0x1p-1074, -3.5, 1e300};
  onDevice([&](Bench &bench) {
    Tensor sum = bench.room(plan::INT64, {exactWords}),
           total = bench.room(plan::INT64, {exactWords}),
           result = bench.room(plan::FLOAT64, {1});
    StepNumbers numbers;
    numbers.microBatches = int64_t(values.size());
    for (double value : values) {
      Tensor term = bench.put(Numbers(plan::FLOAT64, {1}, value));
      bench.run({entry::ExactSum{term, sum}, entry::Accumulate{sum, total}},
                numbers);
      ++numbers.microBatch;
    }
    bench.run(entry::RoundSum{sum, result});
    bench.expect(result, Expected(std::vector<double>{1e300}), "result");
  });
}

SHARDC_CONFORMANCE(RoundSum);

TEST_P(RoundSumConformance, GivesBackWhatWasPutIn) {
  for (double value : {0.0, 1.0, -2.5, 0x1p-1074, 1.7976931348623157e308,
                       double(INFINITY), -double(INFINITY), double(NAN)})
    onDevice([&](Bench &bench) {
      Tensor sum = bench.room(plan::INT64, {exactWords}),
             result = bench.room(plan::FLOAT64, {1});
      bench.run(
          {entry::ExactSum{bench.put(Numbers(plan::FLOAT64, {1}, value)), sum},
           entry::RoundSum{sum, result}});
      bench.expect(result, Expected(std::vector<double>{value}), "result");
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
