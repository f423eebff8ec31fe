// Optimizer steps: numbers are in double as torch computes them, elements go
// through the loops of Simd.h. Memory is walked once, in blocks that stay in
// the first-level cache; what is stored in another type than it is computed in
// is converted there.
#include "runtime/cpu/optimizer/Optimizer.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/SplitMaster.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <type_traits>

namespace shardc::runtime::cpu {

/// The number of elements below which a fork costs more than it brings.
static constexpr int64_t grainElements = 16 << 10;
/// The number of elements of a block: a multiple of the lanes of every vector.
static constexpr int64_t blockElements = 1024;
static constexpr size_t mostStates =
    std::tuple_size_v<decltype(Optimizer::stateNames)>;

namespace {

/// A block of a tensor as T: it lies in the tensor, if that has this type, else
/// here.
template <typename T> class Block {
public:
  /// The block is elements [at, at + count) of the tensor.
  Block(const Tensor &tensor, int64_t at, int64_t count)
      : count(count), dtype(tensor.dtype),
        stored(tensor.data + at * int64_t(elementSize(tensor.dtype))) {}
  T *read() {
    if (isInPlace())
      return reinterpret_cast<T *>(stored);
    convertElements(stored, dtype, values, own, count);
    return values;
  }
  /// Stores what was written to read()'s or room()'s elements.
  void write() {
    if (!isInPlace())
      convertElements(values, own, stored, dtype, count);
  }

private:
  static constexpr plan::DType own =
      std::is_same_v<T, float> ? plan::FLOAT32 : plan::FLOAT64;
  bool isInPlace() const { return dtype == own; }

  int64_t count;
  plan::DType dtype;
  std::byte *stored;
  alignas(64) T values[blockElements];
};

/// A block of float32 masters that are split.
class SplitBlock {
public:
  SplitBlock(const OptimizerStep &step, int64_t at, int64_t count)
      : upper(step.master.as<unsigned short>() + at),
        lower(step.remainder.as<unsigned short>() + at),
        words(
            reinterpret_cast<unsigned long long *>(
                step.remainder.data + splitLowerBytes(step.master.elements())) +
            at / splitWord),
        bit(int(at % splitWord)), count(count) {}
  float *read() {
    joinFloats(upper, lower, words, bit, count, values);
    return values;
  }
  void write() { splitFloats(values, count, upper, lower, words, bit); }

private:
  unsigned short *upper, *lower;
  unsigned long long *words;
  int bit;
  int64_t count;
  alignas(64) float values[blockElements];
};

/// Calls body(at, count) for the blocks of [begin, end), split over threads.
template <typename Body>
void forBlocks(int64_t begin, int64_t end, ThreadPool &pool, Body body) {
  pool.forRanges(end - begin, grainElements,
                 [&](int64_t first, int64_t last, int) {
                   for (int64_t at = first; at < last; at += blockElements)
                     body(begin + at, std::min(blockElements, last - at));
                 });
}

template <typename T>
void accumulateAs(const Tensor &to, const Tensor &from, ThreadPool &pool) {
  forBlocks(0, to.elements(), pool, [&](int64_t at, int64_t count) {
    Block<T> sum(to, at, count), value(from, at, count);
    simd::loops<T>().add(sum.read(), value.read(), count);
    sum.write();
  });
}

} // namespace

void assign(const Tensor &to, const Tensor &from, ThreadPool &pool) {
  if (to.dtype == plan::INT64) {
    std::copy_n(from.as<int64_t>(), to.elements(), to.as<int64_t>());
    return;
  }
  forBlocks(0, to.elements(), pool, [&](int64_t at, int64_t count) {
    convertElements(from.data + at * elementSize(from.dtype), from.dtype,
                    to.data + at * elementSize(to.dtype), to.dtype, count);
  });
}

void accumulate(const Tensor &to, const Tensor &from, ThreadPool &pool) {
  if (to.dtype == plan::INT64) { // words of exact sums, which are few
    for (int64_t i = 0; i < to.elements(); ++i)
      to.as<int64_t>()[i] += from.as<int64_t>()[i];
    return;
  }
  if (to.dtype == plan::FLOAT64 || from.dtype == plan::FLOAT64)
    accumulateAs<double>(to, from, pool);
  else
    accumulateAs<float>(to, from, pool);
}

static simd::AdamNumbers adamNumbers(OptimizerKind kind,
                                     const StepNumbers &numbers, double rate,
                                     double weightDecay, double factor) {
  bool isDecoupled = kind != OptimizerKind::Adam;
  simd::AdamNumbers adam{};
  adam.gradientFactor = factor;
  adam.weightDecay = isDecoupled ? 0 : weightDecay;
  adam.decay = isDecoupled ? 1 - rate * weightDecay : 1;
  adam.beta1 = numbers.beta1;
  adam.beta2 = numbers.beta2;
  adam.stepSize = rate / (1 - std::pow(numbers.beta1, numbers.step));
  adam.secondCorrection = std::sqrt(1 - std::pow(numbers.beta2, numbers.step));
  adam.epsilon = numbers.epsilon;
  return adam;
}

/// Calls the formula on one block as update(master, states, gradient, count);
/// states[i] is null where the optimizer has no such state.
template <typename T>
static std::function<void(T *, T *const *, const T *, int64_t)>
formulaOf(OptimizerKind kind, const StepNumbers &numbers,
          const ParameterNumbers &own, double factor) {
  double rate = numbers.learningRate * own.learningRateScale;
  const simd::Simd<T> &loops = simd::loops<T>();
  switch (kind) {
  case OptimizerKind::AdamW:
  case OptimizerKind::Adam:
  case OptimizerKind::AmsGrad:
  case OptimizerKind::Muon: // of what is no matrix
    return [&loops,
            adam = adamNumbers(kind, numbers, rate, own.weightDecay, factor)](
               T *master, T *const *states, const T *gradient, int64_t count) {
      loops.adam(master, states[0], states[1], states[2], gradient, adam,
                 count);
    };
  case OptimizerKind::Sgd:
    return [&loops,
            sgd = simd::SgdNumbers{factor, own.weightDecay, numbers.momentum,
                                   rate, numbers.nesterov}](
               T *master, T *const *states, const T *gradient, int64_t count) {
      loops.sgd(master, states[0], gradient, sgd, count);
    };
  case OptimizerKind::Lion:
    return
        [&loops, lion = simd::LionNumbers{factor, 1 - rate * own.weightDecay,
                                          numbers.beta1, numbers.beta2, rate}](
            T *master, T *const *states, const T *gradient, int64_t count) {
          loops.lion(master, states[0], gradient, lion, count);
        };
  case OptimizerKind::Adagrad:
    return [&loops, adagrad = simd::AdagradNumbers{factor, own.weightDecay,
                                                   rate, numbers.epsilon}](
               T *master, T *const *states, const T *gradient, int64_t count) {
      loops.adagrad(master, states[0], gradient, adagrad, count);
    };
  }
  fail("no formula of this optimizer");
}

/// The same of rows of matrices, whose `gradient` is their direction.
template <typename T>
static std::function<void(T *, T *const *, const T *, int64_t)>
matrixFormula(const StepNumbers &numbers, const ParameterNumbers &own) {
  double rate = numbers.learningRate * own.learningRateScale;
  return [&loops = simd::loops<T>(), decay = 1 - rate * own.weightDecay,
          rate = rate * own.matrixScale](T *master, T *const *,
                                         const T *direction, int64_t count) {
    loops.follow(master, direction, decay, rate, count);
  };
}

/// The same of running statistics.
template <typename T>
static std::function<void(T *, T *const *, const T *, int64_t)>
runningFormula() {
  return [&loops = simd::loops<T>()](T *master, T *const *, const T *gradient,
                                     int64_t count) {
    loops.follow(master, gradient, 1, 1, count);
  };
}

template <typename T>
static void runOn(const OptimizerStep &step, const StepNumbers &numbers,
                  const Range &range, double factor, ThreadPool &pool) {
  auto formula = range.isRunning ? runningFormula<T>()
                 : range.isMatrix
                     ? matrixFormula<T>(numbers, range.numbers)
                     : formulaOf<T>(step.kind, numbers, range.numbers, factor);
  const Tensor &by = range.isMatrix ? step.direction : step.gradient;
  size_t stateCount =
      range.isMatrix || range.isRunning ? 0 : step.states.size();
  auto onBlock = [&](auto &master, int64_t at, int64_t count) {
    Block<T> gradient(by, at, count);
    std::array<std::optional<Block<T>>, mostStates> states;
    std::array<T *, mostStates> values = {};
    for (size_t i = 0; i < stateCount; ++i) {
      int64_t place = i == 0 ? at : range.laterStates + at - range.begin;
      values[i] = states[i].emplace(step.states[i], place, count).read();
    }
    formula(master.read(), values.data(), gradient.read(), count);
    for (size_t i = 0; i < stateCount; ++i)
      states[i]->write();
    master.write();
  };
  forBlocks(range.begin, range.end, pool, [&](int64_t at, int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      if (step.remainder) {
        SplitBlock master(step, at, count);
        return onBlock(master, at, count);
      }
    }
    Block<T> master(step.master, at, count);
    onBlock(master, at, count);
    if (!step.copy)
      return;
    // The copy is rounded from the master as stored, so that gathers and
    // exports agree.
    size_t masterSize = elementSize(step.master.dtype);
    convertElements(step.master.data + at * masterSize, step.master.dtype,
                    step.copy.data + at * elementSize(step.copy.dtype),
                    step.copy.dtype, count);
  });
}

/// What gradients are multiplied by, for the loss scale and the clipping.
static double factorOf(const StepNumbers &numbers, double norm) {
  // torch.nn.utils.clip_grad_norm_: the coefficient is clamped to 1; a norm
  // that is not a number stays visible.
  double clipping = 1;
  if (numbers.clip > 0)
    clipping = numbers.clip / (norm + 1e-6);
  if (clipping > 1)
    clipping = 1;
  return numbers.gradientFactor * clipping;
}

template <typename T>
static void directRange(const entry::MatrixDirection &entry, const Range &range,
                        const simd::MomentumNumbers &momentum,
                        ThreadPool &pool) {
  forBlocks(range.begin, range.end, pool, [&](int64_t at, int64_t count) {
    Block<T> gradient(entry.gradient, at, count), state(entry.state, at, count);
    simd::loops<T>().momentum(entry.direction.as<T>() + at, state.read(),
                              gradient.read(), momentum, count);
    state.write();
  });
}

void runDirection(const entry::MatrixDirection &entry,
                  const StepNumbers &numbers, double norm, ThreadPool &pool) {
  simd::MomentumNumbers momentum{factorOf(numbers, norm), numbers.momentum,
                                 numbers.nesterov};
  for (const Range &range : entry.ranges)
    if (entry.direction.dtype == plan::FLOAT64)
      directRange<double>(entry, range, momentum, pool);
    else
      directRange<float>(entry, range, momentum, pool);
}

void OptimizerStep::run(const StepNumbers &numbers, double norm,
                        ThreadPool &pool) const {
  double factor = factorOf(numbers, norm);
  for (const Range &range : ranges)
    if (master.dtype == plan::FLOAT64)
      runOn<double>(*this, numbers, range, factor, pool);
    else
      runOn<float>(*this, numbers, range, factor, pool);
}

} // namespace shardc::runtime::cpu
