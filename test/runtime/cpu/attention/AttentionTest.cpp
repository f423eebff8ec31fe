// Attention and its gradient against plain loops in double, over layouts, masks
// and numbers of threads.
#include "runtime/cpu/attention/Attention.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/TestTensor.h"
#include "test/runtime/device/DroppedKeys.h"
#include "test/runtime/device/HiddenKeys.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

struct Case {
  int64_t batch, queries, keys, heads, groups, dim, valueDim;
  bool causal = false;
  bool mask = false;
  std::vector<int64_t> bias = {}; // shape
  bool interleaved = false;       // q, k and v are columns of one tensor
  bool biasLastDimStrided = false;
  int64_t left = -1, behind = -1; // of a window
  double softcap = 0;
  bool sinks = false;
  test::DroppedKeys drops = {};

  /// With a softcap (0: without) and perhaps sinks.
  Case with(double cap, bool hasSinks) const {
    Case copy = *this;
    copy.softcap = cap;
    copy.sinks = hasSinks;
    return copy;
  }
  /// With probabilities dropped; `stride`: of samples in rows of scores, 0:
  /// those of the batch.
  Case dropped(double rate, int64_t samples, int64_t stride = 0) const {
    Case copy = *this;
    copy.drops = {rate, samples, stride ? stride : heads * queries};
    if (samples == 0)
      copy.drops.rowStride = 0;
    return copy;
  }
  int64_t right() const { return causal ? 0 : behind; }
  bool hides(int64_t query, int64_t key) const {
    return test::KeyWindow{left, right()}.hides(query, queries, key, keys);
  }
};

const Case cases[] = {
    {1, 1, 1, 1, 1, 1, 1},
    {2, 5, 7, 2, 2, 3, 4},
    {2, 33, 33, 4, 2, 8, 8, true},
    {1, 65, 129, 2, 1, 16, 5, true},
    {1, 70, 300, 3, 3, 6, 6, false, true},
    {2, 130, 260, 2, 2, 8, 8, true, true},
    {1, 200, 90, 2, 1, 4, 4, true}, // the first 110 queries see nothing
    {2, 40, 150, 2, 2, 8, 8, false, false, {1, 1, 40, 150}},
    {2, 40, 40, 4, 4, 8, 8, true, false, {1, 4, 1, 40}}, // ALiBi
    {2, 40, 140, 2, 2, 8, 8, false, true, {2, 1, 40, 140}},
    {2, 20, 24, 2, 2, 8, 8, false, false, {2, 2, 20, 24}, false, true},
    {1, 17, 17, 2, 2, 8, 8, false, false, {1, 1, 1, 1}},
    {2, 66, 66, 4, 4, 8, 8, true, false, {}, true},
    {3, 1, 50, 4, 2, 8, 8, true},
    // Windows: within a block of keys and over several, causal and to both
    // sides, narrower than rows see nothing in, with biases and masks.
    {2, 130, 260, 2, 1, 8, 8, true, true, {}, false, false, 20},
    {1, 300, 300, 2, 2, 6, 6, true, false, {}, false, false, 150},
    {1, 200, 400, 1, 1, 8, 5, false, true, {}, false, false, 140, 9},
    {1, 200, 90, 2, 1, 4, 4, false, false, {}, false, false, 0, 3},
    {1, 150, 150, 2, 2, 8, 8, true, false, {1, 2, 1, 150}, false, false, 7},
    {1, 40, 150, 1, 1, 8, 8, false, false, {1, 1, 40, 150}, false, true, 30, 2},
    {1, 300, 300, 1, 1, 8, 8, false, false, {}, true, false, 0, 0},
    {1, 90, 90, 1, 1, 8, 8, false, false, {}, false, false, -1, 5},
    // Softcaps and sinks: alone, together, over several blocks of keys, and
    // where rows see nothing.
    Case{2, 66, 140, 4, 2, 8, 5, true, true}.with(1.5, false),
    Case{1, 40, 150, 2, 2, 8, 8, false, false, {1, 2, 1, 150}}.with(4, false),
    Case{2, 66, 140, 4, 2, 8, 5, true, true}.with(0, true),
    Case{1, 200, 90, 2, 1, 4, 4, true}.with(0, true),
    Case{1, 300, 300, 2, 2, 6, 6, true, false, {}, true, false, 150}.with(2,
                                                                          true),
    Case{2, 20, 0, 2, 1, 4, 4}.with(0, true),
    // Dropped: by samples of the batch and of a part of it, by samples among the
    // rows, in all samples alike, all, and beside all that there is else.
    Case{2, 66, 300, 4, 2, 8, 5}.dropped(0.25, 2),
    Case{4, 5, 70, 2, 1, 8, 8, true, true}.dropped(0.5, 2),
    Case{1, 60, 33, 1, 1, 4, 4}.dropped(0.1, 3, 20),
    Case{2, 140, 140, 2, 2, 8, 8, true, false, {}, true}.dropped(0.9, 0),
    Case{1, 9, 9, 1, 1, 4, 4}.dropped(1, 1),
    Case{2, 66, 200, 4, 2, 8, 8, true, true, {1, 4, 1, 200}, false, false, 90}
        .with(2, true)
        .dropped(0.25, 2),
};

template <typename T> struct Setting {
  TestTensor<T> query, key, value, all, bias, sinks, output, gradient,
      queryGradient, keyGradient, valueGradient;
  TestTensor<ComputeOf<T>> logSumExp;
  TestTensor<uint8_t> mask;
  TestTensor<int32_t> words;
  Attention attention;
  AttentionGradients gradients;

  explicit Setting(const Case &of) {
    std::vector<int64_t> q = {of.batch, of.queries, of.heads, of.dim},
                         k = {of.batch, of.keys, of.groups, of.dim},
                         v = {of.batch, of.keys, of.groups, of.valueDim},
                         o = {of.batch, of.queries, of.heads, of.valueDim};
    if (of.interleaved) {
      int64_t width = 3 * of.heads * of.dim;
      all = TestTensor<T>::random({of.batch, of.queries, width}, 1);
      auto columns = [&](int64_t which) {
        Tensor view = all.view;
        view.shape = q;
        view.strides = {of.queries * width, width, of.dim, 1};
        view.data += which * of.heads * of.dim * sizeof(T);
        return view;
      };
      attention.query = columns(0);
      attention.key = columns(1);
      attention.value = columns(2);
    } else {
      query = TestTensor<T>::random(q, 1, 2);
      // Keys as [B, G, S, D] in memory.
      key = TestTensor<T>::random(
          k, {of.groups * of.keys * of.dim, of.dim, of.keys * of.dim, 1}, 2, 2);
      value = TestTensor<T>::random(v, 3);
      attention.query = query.view;
      attention.key = key.view;
      attention.value = value.view;
    }
    if (!of.bias.empty()) {
      std::vector<int64_t> strides = rowMajorStrides(of.bias);
      if (of.biasLastDimStrided)
        for (int64_t &stride : strides)
          stride *= 3;
      bias = TestTensor<T>::random(of.bias, strides, 4, 3);
      // Some scores are masked by the bias, in some rows all.
      for (int64_t i = 0; i < bias.elements(); ++i)
        if (i % 7 == 3 || (bias.elements() > 100 && i / of.keys % 11 == 2))
          bias[i] = element<T>(-INFINITY);
      if (bias.elements() == 1)
        bias[0] = element<T>(1);
      attention.bias = bias.view;
    }
    if (of.mask) {
      mask = TestTensor<uint8_t>({of.batch, of.keys});
      for (int64_t i = 0; i < mask.elements(); ++i)
        mask[i] = i % 5 != 2 && i / of.keys != 1; // all of sample 1 is masked
      attention.keyMask = mask.view;
    }
    if (of.sinks) {
      sinks = TestTensor<T>::random({of.heads}, 6, 3);
      attention.sinks = sinks.view;
    }
    if (of.drops.rate != 0) {
      words = TestTensor<int32_t>({8});
      words.storage = of.drops.words();
      words.view.data = reinterpret_cast<std::byte *>(words.storage.data());
      attention.words = words.view;
      attention.samples = of.drops.samples;
      attention.rowStride = of.drops.rowStride;
    }
    attention.scale = 0.7;
    attention.softcap = of.softcap;
    attention.left = of.left, attention.right = of.right();
    const T other = element<T>(77);
    output = TestTensor<T>(o, other);
    logSumExp = TestTensor<ComputeOf<T>>({of.batch, of.heads, of.queries}, 77);
    gradient = TestTensor<T>::random(o, 5);
    queryGradient = TestTensor<T>(q, other);
    keyGradient = TestTensor<T>(k, other);
    valueGradient = TestTensor<T>(v, other);
    gradients = {gradient.view,      output.view,      logSumExp.view,
                 queryGradient.view, keyGradient.view, valueGradient.view};
  }

  void run(int workers) {
    ThreadPool pool(workers, false);
    std::vector<double> workspace(std::max(attentionWorkspace(attention),
                                           attentionGradWorkspace(attention)) *
                                  workers / sizeof(double));
    auto *bytes = reinterpret_cast<std::byte *>(workspace.data());
    cpu::attention(attention, output.view, logSumExp.view, bytes, workers,
                   pool);
    attentionGrad(attention, gradients, bytes, workers, pool);
  }
};

double at(const Tensor &tensor, int64_t b, int64_t s, int64_t h, int64_t d) {
  const int64_t index[] = {b, s, h, d};
  int64_t offset = 0;
  for (int dim = 0; dim < 4; ++dim)
    if (tensor.shape[dim] != 1)
      offset += index[dim] * tensor.strides[dim];
  double result;
  convertElements(tensor.data + offset * elementSize(tensor.dtype),
                  tensor.dtype, &result, plan::FLOAT64, 1);
  return result;
}

struct Reference {
  std::vector<double> output, logSumExp, query, key, value;
};

/// softmax(scale q k^T + bias) v and its gradients, from the definition.
Reference reference(const Case &of, const Attention &a,
                    const Tensor &gradient) {
  Reference r;
  r.output.assign(of.batch * of.queries * of.heads * of.valueDim, 0);
  r.logSumExp.assign(of.batch * of.heads * of.queries, -INFINITY);
  r.query.assign(of.batch * of.queries * of.heads * of.dim, 0);
  r.key.assign(of.batch * of.keys * of.groups * of.dim, 0);
  r.value.assign(of.batch * of.keys * of.groups * of.valueDim, 0);
  std::vector<double> p(of.keys), dp(of.keys), slope(of.keys);
  for (int64_t b = 0; b < of.batch; ++b)
    for (int64_t h = 0; h < of.heads; ++h)
      for (int64_t i = 0; i < of.queries; ++i) {
        int64_t g = h / (of.heads / of.groups);
        double sink = -INFINITY;
        if (a.sinks)
          convertElements(a.sinks.data + h * elementSize(a.sinks.dtype),
                          a.sinks.dtype, &sink, plan::FLOAT64, 1);
        double maximum = sink, sum = 0;
        for (int64_t j = 0; j < of.keys; ++j) {
          p[j] = 0;
          for (int64_t d = 0; d < of.dim; ++d)
            p[j] += at(a.query, b, i, h, d) * at(a.key, b, j, g, d);
          p[j] *= a.scale;
          slope[j] = 1;
          if (a.softcap != 0) {
            slope[j] = 1 / std::pow(std::cosh(p[j] / a.softcap), 2);
            p[j] = a.softcap * std::tanh(p[j] / a.softcap);
          }
          if (a.bias)
            p[j] += at(a.bias, b, h, i, j);
          if ((a.keyMask && !a.keyMask.as<uint8_t>()[b * of.keys + j]) ||
              of.hides(i, j))
            p[j] = -INFINITY;
          maximum = std::max(maximum, p[j]);
        }
        if (maximum == -INFINITY)
          continue;
        sum = std::exp(sink - maximum);
        for (double &score : p)
          sum += score = std::exp(score - maximum);
        r.logSumExp[(b * of.heads + h) * of.queries + i] =
            maximum + std::log(sum);
        double delta = 0;
        for (int64_t j = 0; j < of.keys; ++j) {
          p[j] /= sum;
          const double kept =
              of.drops.factor((b * of.heads + h) * of.queries + i, j);
          dp[j] = 0;
          for (int64_t e = 0; e < of.valueDim; ++e) {
            double upstream = at(gradient, b, i, h, e);
            r.output[((b * of.queries + i) * of.heads + h) * of.valueDim + e] +=
                p[j] * kept * at(a.value, b, j, g, e);
            r.value[((b * of.keys + j) * of.groups + g) * of.valueDim + e] +=
                p[j] * kept * upstream;
            dp[j] += upstream * kept * at(a.value, b, j, g, e);
          }
          delta += p[j] * dp[j];
        }
        for (int64_t j = 0; j < of.keys; ++j)
          for (int64_t d = 0; d < of.dim; ++d) {
            double ds = p[j] * (dp[j] - delta) * a.scale * slope[j];
            r.query[((b * of.queries + i) * of.heads + h) * of.dim + d] +=
                ds * at(a.key, b, j, g, d);
            r.key[((b * of.keys + j) * of.groups + g) * of.dim + d] +=
                ds * at(a.query, b, i, h, d);
          }
      }
  return r;
}

template <typename T> class AttentionOf : public testing::Test {};
using Types = testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(AttentionOf, Types);

TYPED_TEST(AttentionOf, MatchesTheDefinition) {
  using T = TypeParam;
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    Setting<T> setting(cases[i]);
    setting.run(1);
    Reference expected =
        reference(cases[i], setting.attention, setting.gradient.view);
    double bound = 4 * tolerance<T>();
    EXPECT_LE(deviation(setting.output, expected.output), bound);
    EXPECT_LE(deviation(setting.queryGradient, expected.query), bound);
    EXPECT_LE(deviation(setting.keyGradient, expected.key), bound);
    EXPECT_LE(deviation(setting.valueGradient, expected.value), bound);
    for (int64_t row = 0; row < setting.logSumExp.elements(); ++row)
      if (std::isinf(expected.logSumExp[row]))
        EXPECT_EQ(setting.logSumExp[row], -INFINITY);
      else
        EXPECT_NEAR(setting.logSumExp[row], expected.logSumExp[row],
                    40 * tolerance<ComputeOf<T>>());
  }
}

TYPED_TEST(AttentionOf, HasTheSameBitsForEveryNumberOfThreads) {
  using T = TypeParam;
  for (const Case &of : cases) {
    Setting<T> one(of);
    one.run(1);
    for (int workers : {2, 3, 4}) {
      Setting<T> many(of);
      many.run(workers);
      EXPECT_TRUE(sameBits(one.output, many.output));
      EXPECT_TRUE(sameBits(one.logSumExp, many.logSumExp));
      EXPECT_TRUE(sameBits(one.queryGradient, many.queryGradient));
      EXPECT_TRUE(sameBits(one.keyGradient, many.keyGradient));
      EXPECT_TRUE(sameBits(one.valueGradient, many.valueGradient));
    }
  }
}

TYPED_TEST(AttentionOf, TakesABiasInTheTypeThatIsComputedIn) {
  using T = TypeParam;
  Case of{2, 40, 140, 2, 2, 8, 8, false, true, {2, 1, 40, 140}};
  Setting<T> setting(of);
  TestTensor<ComputeOf<T>> bias(of.bias);
  for (int64_t i = 0; i < bias.elements(); ++i)
    bias[i] = ComputeOf<T>(number(setting.bias[i]));
  setting.run(1);
  Setting<T> wide(of);
  wide.attention.bias = bias.view;
  wide.run(1);
  EXPECT_TRUE(sameBits(setting.output, wide.output));
  EXPECT_TRUE(sameBits(setting.queryGradient, wide.queryGradient));
}

TYPED_TEST(AttentionOf, RowsThatSeeNothingGiveZerosAndZeroGradients) {
  using T = TypeParam;
  Case of{1, 4, 6, 1, 1, 4, 4, false, true};
  Setting<T> setting(of);
  std::fill(setting.mask.storage.begin(), setting.mask.storage.end(), 0);
  setting.run(1);
  for (TestTensor<T> *tensor : {&setting.output, &setting.queryGradient,
                                &setting.keyGradient, &setting.valueGradient})
    for (T value : tensor->storage)
      EXPECT_EQ(number(value), 0);
}

TYPED_TEST(AttentionOf, ANotANumberReachesTheOutput) {
  using T = TypeParam;
  Setting<T> setting(Case{1, 3, 3, 1, 1, 4, 4});
  setting.query.storage[5] = element<T>(NAN);
  setting.run(1);
  EXPECT_TRUE(std::isnan(number(setting.output.at({0, 1, 0, 0}))));
  EXPECT_FALSE(std::isnan(number(setting.output.at({0, 0, 0, 0}))));
}

} // namespace
