// Optimizer steps beside torch.optim's formulas in float64.
#include "runtime/base/SplitMaster.h"
#include "test/runtime/device/ConformanceSuite.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(OptimizerStep);

/// An element of the master weights, its states, and how far each may be off.
struct Element {
  double master, states[3] = {};
  double error = 0, errors[3] = {};
};

/// One step. `u`: the relative error of an operation.
Element stepped(OptimizerKind kind, Element e, double gradient,
                const StepNumbers &n, const ParameterNumbers &own,
                double factor, double u) {
  double rate = n.learningRate * own.learningRateScale, p = e.master;
  double g = gradient * factor, *m = e.states, *v = e.states + 1;
  // Of what g is a sum of, where weight decay is added to it.
  double size = std::fabs(g);
  auto moved = [&](double before, double after, double difference) {
    e.error = u * (8 * std::fabs(before) + 8 * std::fabs(after)) + difference;
    e.master = after;
  };
  auto average = [&](double beta, double value) {
    double result = beta * *m + (1 - beta) * value;
    e.errors[0] = 8 * u * (std::fabs(*m) + size);
    return result;
  };
  switch (kind) {
  case OptimizerKind::Sgd: {
    g += own.weightDecay * p;
    size += std::fabs(own.weightDecay * p);
    double error = 8 * u * (size + std::fabs(n.momentum * *m));
    double step = g;
    if (n.momentum != 0) {
      *m = n.momentum * *m + g;
      e.errors[0] = error;
      step = n.nesterov ? g + n.momentum * *m : *m;
    }
    moved(p, p - rate * step, rate * 4 * (error + u * std::fabs(step)));
    return e;
  }
  case OptimizerKind::Lion: {
    p *= 1 - rate * own.weightDecay;
    double update = average(n.beta1, g);
    moved(p, p - rate * double((update > 0) - (update < 0)), 0);
    *m = average(n.beta2, g);
    return e;
  }
  case OptimizerKind::Adagrad: {
    g += own.weightDecay * p;
    size += std::fabs(own.weightDecay * p);
    double &sum = e.states[0] += g * g;
    e.errors[0] = 8 * u * (sum + size * size);
    double divisor = std::sqrt(sum) + n.epsilon, update = rate * g / divisor;
    double relative = sum > 0 ? e.errors[0] / sum : 0;
    moved(p, p - update,
          rate * 8 * u * size / divisor +
              std::fabs(update) * (16 * u + relative));
    return e;
  }
  default:
    break;
  }
  double before = p;
  if (kind == OptimizerKind::Adam) {
    g += own.weightDecay * p;
    size += std::fabs(own.weightDecay * p);
  } else {
    p *= 1 - rate * own.weightDecay;
  }
  *m = average(n.beta1, g);
  e.errors[1] = 8 * u * (*v + size * size);
  *v = n.beta2 * *v + (1 - n.beta2) * g * g;
  double largest = *v;
  if (kind == OptimizerKind::AmsGrad) {
    largest = e.states[2] = std::max(e.states[2], *v);
    e.errors[2] = e.errors[1] + u * largest;
  }
  double divisor =
      std::sqrt(largest) / std::sqrt(1 - std::pow(n.beta2, n.step)) + n.epsilon;
  double stepSize = rate / (1 - std::pow(n.beta1, n.step));
  double update = stepSize * *m / divisor;
  double relative = largest > 0 ? e.errors[1] / largest : 0;
  moved(before, p - update,
        stepSize * e.errors[0] / divisor +
            std::fabs(update) * (16 * u + relative));
  return e;
}

struct Types {
  plan::DType master, gradient, copy; // INVALID: no copy
};
const Types typesOf[] = {{plan::FLOAT64, plan::FLOAT64, plan::INVALID},
                         {plan::FLOAT32, plan::FLOAT32, plan::INVALID},
                         {plan::FLOAT32, plan::FLOAT32, plan::BFLOAT16},
                         {plan::FLOAT32, plan::BFLOAT16, plan::BFLOAT16},
                         {plan::FLOAT32, plan::FLOAT16, plan::FLOAT16},
                         {plan::BFLOAT16, plan::BFLOAT16, plan::INVALID},
                         {plan::BFLOAT16, plan::FLOAT32, plan::INVALID}};

/// A step's operands on a device, and what they hold.
struct Setting {
  const Optimizer &optimizer;
  Types types;
  int64_t count = 3001;
  /// The first elements and some in the middle are not trained.
  std::vector<entry::Range> ranges = {
      {3, 1700, {1, 0.1}},
      {1700, 1701, {0.5, 0}},
      {.begin = 1703, .end = 1850, .numbers = {3, 0.2}, .isRunning = true},
      {1900, 3001, {2, 0.03}}};

  Numbers master = Numbers::random(types.master, {count}, 1, 2),
          gradient = Numbers::random(types.gradient, {count}, 2, 0.7), copy;
  std::vector<Numbers> states;

  explicit Setting(const Optimizer &optimizer, Types types)
      : optimizer(optimizer), types(types) {
    for (size_t i = 0; i < optimizer.states().size(); ++i) {
      states.push_back(
          Numbers::random(types.master, {count}, unsigned(3 + i), 0.5));
      // Averages and sums of squares.
      bool isOfSquares = i || optimizer.kind == OptimizerKind::Adagrad;
      for (double &value : states.back().values)
        value = isOfSquares ? std::fabs(value) : value;
    }
    if (types.copy != plan::INVALID)
      copy = Numbers::random(types.copy, {count}, 9);
  }

  entry::OptimizerStep put(Bench &bench) const {
    entry::OptimizerStep step;
    step.kind = optimizer.kind;
    step.master = bench.put(master);
    step.gradient = bench.put(gradient);
    for (const Numbers &state : states)
      step.states.push_back(bench.put(state));
    step.ranges = ranges;
    if (types.copy != plan::INVALID)
      step.copy = bench.put(copy);
    step.skipped = bench.put(Numbers(plan::FLOAT64, {1}));
    return step;
  }

  /// That the device has done the step, or, with a factor of no number, nothing.
  void expect(Bench &bench, const entry::OptimizerStep &step,
              const StepNumbers &numbers, double factor) const {
    Expected expected(master.values);
    std::vector<Expected> after;
    for (const Numbers &state : states)
      after.emplace_back(state.values);
    std::vector<double> got = bench.get(step.master);
    Expected copied(copy.values);
    for (const entry::Range &range : ranges)
      for (int64_t i = range.begin; !std::isnan(factor) && i < range.end; ++i) {
        if (range.isRunning) {
          // Whatever the numbers of the run are.
          expected.values[i] = master[i] - gradient[i];
          expected.slack[i] = 4 * sumRoundoff(types.master) *
                              (std::fabs(master[i]) + std::fabs(gradient[i]));
          if (types.copy != plan::INVALID)
            copied.values[i] = rounded(got[i], types.copy);
          continue;
        }
        Element element{master[i]};
        for (size_t state = 0; state < states.size(); ++state)
          element.states[state] = states[state][i];
        element = stepped(optimizer.kind, element, gradient[i], numbers,
                          range.numbers, factor, sumRoundoff(types.master));
        expected.values[i] = element.master;
        expected.slack[i] = element.error;
        for (size_t state = 0; state < states.size(); ++state) {
          // Without momentum there is nothing to keep.
          bool keeps =
              optimizer.kind != OptimizerKind::Sgd || numbers.momentum != 0;
          after[state].values[i] = element.states[state];
          after[state].slack[i] = keeps ? element.errors[state] : -1;
        }
        // The master as it is stored.
        if (types.copy != plan::INVALID)
          copied.values[i] = rounded(got[i], types.copy);
      }
    bench.expect(step.master, expected, "master");
    for (size_t state = 0; state < states.size(); ++state)
      bench.expect(step.states[state], after[state],
                   std::string(optimizer.stateNames[state]).c_str());
    if (types.copy != plan::INVALID)
      bench.expect(step.copy, copied, "copy");
    bench.expect(step.skipped,
                 Expected(std::vector<double>{std::isnan(factor) ? 1.0 : 0.0}),
                 "skipped");
  }
};

StepNumbers numbersOf(const Optimizer &optimizer) {
  StepNumbers numbers;
  numbers.step = 3;
  numbers.learningRate = 0.02;
  numbers.beta1 = optimizer.beta1.value_or(0);
  numbers.beta2 = optimizer.beta2.value_or(0);
  numbers.epsilon = optimizer.epsilon.value_or(0);
  return numbers;
}

TEST_P(OptimizerStepConformance, FollowsTorchsFormula) {
  for (const Optimizer &optimizer : optimizers)
    for (const Types &types : typesOf)
      for (int variant = 0; variant < 4; ++variant)
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << optimizer.name << " of "
                       << plan::DType_Name(types.master) << " by "
                       << plan::DType_Name(types.gradient) << ", variant "
                       << variant);
          StepNumbers numbers = numbersOf(optimizer);
          numbers.gradientFactor = variant % 2 ? 0.25 : 1;
          if (variant == 1)
            numbers.step = 1;
          if (variant >= 2) {
            numbers.momentum = 0.9;
            numbers.nesterov = variant == 3;
            numbers.beta1 = 0.3; // torch's lerp has another form below a half
            numbers.epsilon = 1e-3;
          }
          Setting setting(optimizer, types);
          entry::OptimizerStep step = setting.put(bench);
          bench.run(step, numbers);
          setting.expect(bench, step, numbers, numbers.gradientFactor);
        });
}

/// The parts of masters, as bench.put has them; `bits` are all set before.
struct Parts {
  Numbers upper{plan::BFLOAT16, {0}}, rest{plan::UINT8, {0}};

  Parts(const Numbers &master, bool bits) {
    int64_t count = master.elements();
    std::vector<float> values(master.values.begin(), master.values.end());
    std::vector<unsigned short> uppers(count), lowers(count);
    std::vector<std::byte> bytes(splitBytes(count),
                                 bits ? std::byte(255) : std::byte(0));
    auto *words = reinterpret_cast<unsigned long long *>(
        bytes.data() + splitLowerBytes(count));
    splitFloats(values.data(), count, uppers.data(), lowers.data(), words, 0);
    std::memcpy(bytes.data(), lowers.data(), count * 2);
    upper = Numbers(plan::BFLOAT16, {count});
    for (int64_t i = 0; i < count; ++i)
      upper[i] = std::bit_cast<float>(unsigned(uppers[i]) << 16);
    rest = Numbers(plan::UINT8, {int64_t(bytes.size())});
    for (size_t i = 0; i < bytes.size(); ++i)
      rest[int64_t(i)] = double(bytes[i]);
  }
};

TEST_P(OptimizerStepConformance, SplitMastersHaveTheBitsOfFloat32) {
  for (const Optimizer &optimizer : optimizers)
    for (plan::DType gradient : {plan::FLOAT32, plan::BFLOAT16})
      for (bool bits : {false, true})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << optimizer.name << " by " << plan::DType_Name(gradient)
                       << ", bits " << bits);
          StepNumbers numbers = numbersOf(optimizer);
          Setting setting(optimizer, {plan::FLOAT32, gradient, plan::BFLOAT16});
          if (optimizer.kind == OptimizerKind::Sgd) {
            // Goes from numbers that are bfloat16 to halfway between two, some
            // of them above the even one and some below.
            numbers.learningRate = 1;
            setting.ranges = {{0, setting.count, {1, 0}}};
            for (int64_t i = 0; i < setting.count; ++i) {
              setting.master[i] = i % 5 ? 1 : 1 + std::ldexp(i % 2 ? 3 : 1, -8);
              setting.gradient[i] = i % 5 == 1   ? -std::ldexp(1, -8)
                                    : i % 5 == 2 ? -std::ldexp(3, -8)
                                    : i % 5 == 3 ? std::ldexp(1, -9)
                                                 : 0;
            }
          }
          setting.copy = Numbers(plan::BFLOAT16, {setting.count});
          for (int64_t i = 0; i < setting.count; ++i)
            setting.copy[i] = rounded(setting.master[i], plan::BFLOAT16);
          entry::OptimizerStep whole = setting.put(bench);
          entry::OptimizerStep split = setting.put(bench);
          Parts parts(setting.master, bits);
          split.master = bench.put(parts.upper);
          split.remainder = bench.put(parts.rest);
          split.copy = {};
          bench.run(whole, numbers);
          bench.run(split, numbers);
          EXPECT_EQ(bench.bytesOf(split.master), bench.bytesOf(whole.copy));
          for (size_t i = 0; i < whole.states.size(); ++i)
            EXPECT_EQ(bench.bytesOf(split.states[i]),
                      bench.bytesOf(whole.states[i]));
          std::vector<std::byte> uppers = bench.bytesOf(split.master),
                                 rest = bench.bytesOf(split.remainder);
          std::vector<float> joined(setting.count);
          joinFloats(reinterpret_cast<const unsigned short *>(uppers.data()),
                     reinterpret_cast<const unsigned short *>(rest.data()),
                     reinterpret_cast<const unsigned long long *>(
                         rest.data() + splitLowerBytes(setting.count)),
                     0, setting.count, joined.data());
          EXPECT_EQ(std::vector<double>(joined.begin(), joined.end()),
                    bench.get(whole.master));
        });
}

TEST_P(OptimizerStepConformance, ClipsByTheNorm) {
  struct Case {
    Norm norm;
    double powerSum, clip, clipping;
  };
  for (const Case &of :
       {Case{Norm::Two, 64, 1, 1 / (8 * 0.5 + 1e-6)},
        Case{Norm::One, 64, 1, 1 / (64 * 0.5 + 1e-6)},
        Case{Norm::Inf, 10, 2, 2 / (10 * 0.5 + 1e-6)},
        Case{Norm::Two, 0.01, 1, 1}, Case{Norm::Two, 64, 0, 1}})
    for (const Optimizer &optimizer : optimizers)
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(testing::Message()
                     << optimizer.name << ", norm " << int(of.norm) << ", clip "
                     << of.clip);
        StepNumbers numbers = numbersOf(optimizer);
        numbers.clip = of.clip;
        numbers.clipNorm = of.norm;
        numbers.gradientFactor = 0.5;
        Setting setting(optimizer, typesOf[1]);
        entry::OptimizerStep step = setting.put(bench);
        step.norm = bench.put(Numbers(plan::FLOAT64, {1}, of.powerSum));
        step.loss = bench.put(Numbers(plan::FLOAT64, {1}, 1.5));
        bench.run(step, numbers);
        setting.expect(bench, step, numbers, 0.5 * of.clipping);
      });
}

TEST_P(OptimizerStepConformance, IsSkippedWhereNormOrLossIsNotFinite) {
  for (double wrong : {double(INFINITY), double(NAN)})
    for (bool isNorm : {true, false})
      for (const Types &types : {typesOf[1], typesOf[3]})
        for (const Optimizer &optimizer : optimizers)
          onDevice([&](Bench &bench) {
            SCOPED_TRACE(optimizer.name);
            StepNumbers numbers = numbersOf(optimizer);
            Setting setting(optimizer, types);
            entry::OptimizerStep step = setting.put(bench);
            step.norm =
                bench.put(Numbers(plan::FLOAT64, {1}, isNorm ? wrong : 3));
            step.loss =
                bench.put(Numbers(plan::FLOAT64, {1}, isNorm ? 3 : wrong));
            bench.run(step, numbers);
            setting.expect(bench, step, numbers, NAN);
          });
}

TEST_P(OptimizerStepConformance, ANormToClipByMustBeThere) {
  onDevice([&](Bench &bench) {
    StepNumbers numbers;
    numbers.clip = 1;
    Setting setting(optimizers[0], typesOf[0]);
    std::string error = bench.errorOf({setting.put(bench)}, numbers);
    EXPECT_EQ(error.find("entry 0: "), 0u) << error;
  });
}

TEST_P(OptimizerStepConformance, NoRangeIsTrained) {
  onDevice([&](Bench &bench) {
    Setting setting(optimizers[0], typesOf[2]);
    setting.ranges.clear();
    entry::OptimizerStep step = setting.put(bench);
    bench.run(step);
    setting.expect(bench, step, {}, 1);
  });
}

} // namespace
} // namespace shardc::runtime
