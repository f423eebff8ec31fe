// What every strategy does to parameters in a step, computed by one process in
// plain numbers.
#ifndef SHARDC_TEST_RUNTIME_ENGINE_STRATEGYREFERENCE_H
#define SHARDC_TEST_RUNTIME_ENGINE_STRATEGYREFERENCE_H

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/engine/Executor.h"
#include "runtime/weights/RankValues.h"
#include "test/runtime/engine/StrategyPlan.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace shardc::runtime {

inline const Strategy strategies[] = {
    {"Full4", {4}, {0}, {0}},
    {"Full2x2", {2, 2}, {0, 1}, {0, 1}},
    {"Full2x4", {2, 4}, {0, 1}, {0, 1}},
    {"Hybrid2x2", {2, 2}, {1}, {1}},
    {"Hybrid2x4", {2, 4}, {1}, {1}},
    {"HybridOpt2x2", {2, 2}, {1}, {1, 0}},
    {"HybridOpt2x4", {2, 4}, {1}, {1, 0}},
    {"Opt4", {4}, {}, {0}},
    {"Opt2x2", {2, 2}, {}, {0, 1}},
    {"None2x2", {2, 2}, {}, {}},
};
inline const Types types[] = {
    {"Float32", plan::FLOAT32, plan::FLOAT32, plan::FLOAT32},
    {"Float64", plan::FLOAT64, plan::FLOAT64, plan::FLOAT64},
    {"Bf16Reduce32", plan::BFLOAT16, plan::FLOAT32, plan::FLOAT32},
    {"Bf16", plan::BFLOAT16, plan::BFLOAT16, plan::FLOAT32},
    {"Fp16", plan::FLOAT16, plan::FLOAT16, plan::FLOAT32},
    {"MasterBf16", plan::BFLOAT16, plan::BFLOAT16, plan::BFLOAT16},
};

/// The nearest value of a type; ties to even. By arithmetic, as bits are the
/// runtime's business.
inline double roundTo(plan::DType dtype, double value) {
  if (dtype == plan::FLOAT64 || !std::isfinite(value) || value == 0)
    return value;
  int digits = dtype == plan::FLOAT32 ? 24 : dtype == plan::FLOAT16 ? 11 : 8;
  int lowest = dtype == plan::FLOAT16 ? -24 : -149;
  int exponent;
  std::frexp(value, &exponent);
  int unit = std::max(exponent - digits, lowest);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return dtype == plan::FLOAT16 && std::fabs(rounded) > 65504
             ? std::copysign(INFINITY, value)
             : rounded;
}
/// What values of a type are added in.
inline plan::DType addedType(plan::DType dtype) {
  return elementSize(dtype) == 2 ? plan::FLOAT32 : dtype;
}

constexpr int64_t elements = StrategyPlan::elements;
constexpr int64_t steps = 3, microBatches = 3;

inline double initialValue(int64_t parameter, int64_t i) {
  return std::sin(1.7 * double(i) + double(parameter)) / 3;
}
class InitialValues : public ParameterSource {
public:
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    for (int64_t i = begin; i < end; ++i) {
      double value = initialValue(parameter, i);
      convertElements(&value, plan::FLOAT64,
                      destination + (i - begin) * elementSize(dtype), dtype, 1);
    }
  }
};
/// Element i of the unit's flat buffer.
inline double initialOf(int64_t i) {
  if (i >= StrategyPlan::trained)
    return 0;
  return i < StrategyPlan::weights ? initialValue(0, i)
                                   : initialValue(1, i - StrategyPlan::weights);
}
inline double gradientValue(int64_t step, int64_t microBatch, int64_t rank,
                            int64_t i) {
  return i < StrategyPlan::trained
             ? std::cos(double(i * 5 + rank + microBatch * 6 + step)) / 2
             : 0;
}

struct Case {
  Strategy strategy;
  Types types;
  Accumulated accumulated;
  Norm norm;

  int64_t count() const {
    return accumulated == Accumulated::Never ? 1 : microBatches;
  }
  StepNumbers numbers(int64_t step, int64_t microBatch) const {
    StepNumbers numbers;
    numbers.step = step + 1;
    numbers.learningRate = 2;
    numbers.clip = step == 1 ? 100 : 0.02; // far off, and always
    numbers.clipNorm = norm;
    numbers.gradientFactor = 1.0 / 8;
    numbers.microBatch = microBatch;
    numbers.microBatches = count();
    return numbers;
  }
};
inline const ParameterNumbers ownNumbers[] = {{1, 0.25}, {0.5, 0}, {1, 0.25}};

/// The same steps without slices: one array per value that ranks would cut.
class Reference {
public:
  explicit Reference(const Case &of) : of(of) {
    for (int64_t i = 0; i < elements; ++i)
      master[i] = roundTo(of.types.master, initialOf(i));
  }
  double parameter(int64_t i) const {
    return roundTo(of.types.parameters, master[i]);
  }
  double master[elements], gradient[elements], norm = 0;

  void step(int64_t step) {
    norm = 0;
    for (int64_t i = 0; i < elements; ++i) {
      gradient[i] = reduced(step, i);
      double size = std::fabs(gradient[i]);
      norm = of.norm == Norm::One   ? norm + size
             : of.norm == Norm::Two ? norm + size * size
                                    : std::max(norm, size);
    }
    StepNumbers numbers = of.numbers(step, 0);
    norm = (of.norm == Norm::Two ? std::sqrt(norm) : norm) *
           numbers.gradientFactor;
    double clipping = std::min(1.0, numbers.clip / (norm + 1e-6));
    plan::DType type = addedType(of.types.master);
    auto round = [&](double value) { return roundTo(type, value); };
    for (int64_t i = 0; i < StrategyPlan::trained; ++i) {
      const ParameterNumbers &own = ownNumbers[i >= StrategyPlan::weights];
      double g =
          round(round(gradient[i]) * round(numbers.gradientFactor * clipping));
      g = round(g + round(master[i] * round(own.weightDecay)));
      double rate = round(-numbers.learningRate * own.learningRateScale);
      master[i] = roundTo(of.types.master, round(master[i] + round(rate * g)));
    }
  }

private:
  using Values = std::vector<double>; // by rank, or by what is left of ranks
  double add(double a, double b) const {
    return roundTo(addedType(of.types.gradients), a + b);
  }
  double stored(double value) const {
    return roundTo(of.types.gradients, value);
  }
  /// Sum of every `size` values in a row.
  Values sums(const Values &values, int64_t size) const {
    Values result;
    for (size_t begin = 0; begin < values.size(); begin += size) {
      double sum = values[begin];
      for (int64_t i = 1; i < size; ++i)
        sum = add(sum, values[begin + i]);
      result.push_back(stored(sum));
    }
    return result;
  }
  Values overMicroBatches(const std::vector<Values> &values) const {
    Values result = values.back();
    for (size_t at = 0; at < result.size(); ++at) {
      plan::DType type = of.types.master;
      double sum = roundTo(type, values[0][at]);
      for (size_t i = 1; i + 1 < values.size(); ++i)
        sum = roundTo(type, roundTo(addedType(type), sum + values[i][at]));
      result[at] = stored(roundTo(addedType(type), result[at] + sum));
    }
    return result;
  }
  /// Of every `size` ranks in a row, the sum of all micro-batches: one sum,
  /// which is rounded once.
  Values inOneGo(const std::vector<Values> &batches, int64_t size) const {
    Values result;
    for (size_t begin = 0; begin < batches[0].size(); begin += size) {
      double sum = batches[0][begin];
      for (size_t batch = 0; batch < batches.size(); ++batch)
        for (int64_t i = batch == 0; i < size; ++i)
          sum = add(sum, batches[batch][begin + i]);
      result.push_back(stored(sum));
    }
    return result;
  }
  double reduced(int64_t step, int64_t i) const {
    int64_t ranks = of.strategy.ranks();
    bool hybrid = of.strategy.shardDims == std::vector<int64_t>{1};
    int64_t first = hybrid ? of.strategy.dims[1] : ranks;
    std::vector<Values> batches;
    for (int64_t batch = 0; batch < of.count(); ++batch) {
      Values flat;
      for (int64_t rank = 0; rank < ranks; ++rank)
        flat.push_back(stored(gradientValue(step, batch, rank, i)));
      batches.push_back(flat);
    }
    Values values;
    switch (of.accumulated) {
    case Accumulated::Never:
      values = sums(batches[0], first);
      break;
    case Accumulated::Flat:
      values = sums(overMicroBatches(batches), first);
      break;
    case Accumulated::Reduced:
      values = inOneGo(batches, first);
      break;
    }
    return sums(values, int64_t(values.size()))[0];
  }

  Case of;
};

} // namespace shardc::runtime

#endif
