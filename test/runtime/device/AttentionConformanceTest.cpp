// Attention and its gradient: softmax(scale q k^T + bias) v from the
// definition.
#include "test/runtime/device/ConformanceSuite.h"
#include "test/runtime/device/DroppedKeys.h"
#include "test/runtime/device/HiddenKeys.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {
namespace {

struct Case {
  int64_t batch, queries, keys, heads, groups, dim, valueDim;
  bool causal = false, mask = false;
  std::vector<int64_t> bias = {}; // shape; empty: none
  bool wideBias = false;          // float32, whatever the queries are
  /// Heads lie outside of positions in memory; else inside.
  bool headsOutside = false;
  /// Keys before and behind its own that a query sees; -1: all.
  int64_t left = -1, behind = -1;
  double softcap = 0;
  bool sinks = false, wideSinks = false;
  test::DroppedKeys drops = {};

  /// With a softcap (0: without) and perhaps sinks.
  Case with(double cap, bool hasSinks, bool wide = false) const {
    Case copy = *this;
    copy.softcap = cap;
    copy.sinks = hasSinks;
    copy.wideSinks = wide;
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
    {1, 65, 130, 2, 1, 16, 5, true, false, {}, false, true},
    {1, 20, 140, 3, 3, 6, 6, false, true},
    {2, 10, 20, 2, 2, 8, 8, true, true, {}, false, true},
    {1, 12, 5, 2, 1, 4, 4, true}, // the first queries see nothing
    {2, 9, 15, 2, 2, 8, 8, false, false, {1, 1, 9, 15}},
    {2, 10, 10, 4, 4, 8, 8, true, false, {1, 4, 1, 10}, true},
    {2, 8, 14, 2, 2, 8, 8, false, true, {2, 1, 8, 14}, true, true},
    {2, 7, 6, 2, 2, 8, 8, false, false, {1, 1, 1, 1}},
    {3, 1, 50, 4, 2, 8, 8, true},
    {2, 33, 40, 4, 2, 8, 8, true, false, {}, false, false, 5},
    {1, 40, 140, 2, 1, 8, 8, false, true, {}, false, true, 0, 9},
    {1, 9, 5, 1, 1, 4, 4, false, false, {1, 1, 9, 5}, true, false, -1, 1},
    {1, 140, 150, 1, 1, 4, 4, true, false, {1, 1, 1, 150}, false, false, 3},
    Case{2, 20, 33, 4, 2, 8, 8, true, true}.with(1.5, false),
    Case{1, 9, 5, 2, 1, 4, 4, false, false, {1, 1, 9, 5}, true}.with(3, false),
    Case{2, 20, 33, 4, 2, 8, 8, true, true}.with(0, true),
    Case{1, 40, 20, 2, 2, 12, 12, true, false, {}, false, true, 9}.with(2, true,
                                                                        true),
    Case{2, 3, 0, 2, 1, 4, 4}.with(0, true),
    Case{2, 20, 70, 4, 2, 8, 8, true, true}.dropped(0.25, 2),
    Case{1, 24, 33, 1, 1, 8, 4}.dropped(0.5, 3, 8),
    Case{2, 9, 40, 2, 2, 12, 12, false, false, {1, 2, 1, 40}, true, true, 20}
        .with(0, true)
        .dropped(0.1, 0),
    {2, 3, 0, 2, 1, 4, 4}, // nothing to see
    {2, 0, 3, 2, 1, 4, 4},
    {0, 3, 3, 2, 1, 4, 4}};

/// Setting holds operands, and results in float64 with what they may be off by.
class Setting {
public:
  Setting(const Case &of, plan::DType dtype);

  entry::AttentionOperands operands(Bench &bench) const;
  Layout layout(const std::vector<int64_t> &shape) const;
  Tensor put(Bench &bench, const Numbers &numbers) const;
  Tensor room(Bench &bench, const std::vector<int64_t> &shape) const;

  const Case &of;
  plan::DType dtype;
  double scale = 0.7;
  Numbers query, key, value, gradient, bias, mask, sinks, stored, storedSums;
  Expected output, logSumExp, queryGradient, keyGradient, valueGradient;

private:
  Numbers random(std::vector<int64_t> shape, unsigned seed, double size) const;
  void
  forRows(const std::function<void(int64_t, int64_t, int64_t)> &visit) const;
  /// Returns where the elements of [b, s, h] begin in [batch, positions, heads,
  /// dim].
  static int64_t place(const Numbers &of, int64_t b, int64_t s, int64_t h);
  int64_t rowOf(int64_t b, int64_t h, int64_t i) const;

  /// Probabilities of a row of scores, and the relative error of each.
  struct Row {
    std::vector<double> p, error;
    std::vector<double> slopes; // of a softcap
    double logSumExp = -INFINITY, scoreError = 0;
  };
  Row row(int64_t b, int64_t h, int64_t i) const;

  void addOutput(int64_t b, int64_t h, int64_t i);
  void addGradients(int64_t b, int64_t h, int64_t i);
};

Setting::Setting(const Case &of, plan::DType dtype)
    : of(of), dtype(dtype),
      query(random({of.batch, of.queries, of.heads, of.dim}, 1, 2)),
      key(random({of.batch, of.keys, of.groups, of.dim}, 2, 2)),
      value(random({of.batch, of.keys, of.groups, of.valueDim}, 3, 1)),
      gradient(random({of.batch, of.queries, of.heads, of.valueDim}, 5, 1)),
      output(gradient.elements()), logSumExp(of.batch * of.heads * of.queries),
      queryGradient(query.elements()), keyGradient(key.elements()),
      valueGradient(value.elements()) {
  if (!of.bias.empty()) {
    bias = Numbers::random(of.wideBias ? sumType(dtype) : dtype, of.bias, 4, 3);
    for (int64_t i = 3; i < bias.elements(); i += 7)
      bias[i] = -INFINITY;
  }
  if (of.mask) {
    mask = Numbers(plan::BOOL, {of.batch, of.keys}, 1.0);
    for (int64_t i = 0; i < mask.elements(); ++i)
      if (i % 5 == 2 || i / of.keys == 1) // all of sample 1
        mask[i] = 0;
  }
  if (of.sinks)
    sinks = Numbers::random(of.wideSinks ? sumType(dtype) : dtype, {of.heads},
                            6, 3);
  forRows([&](int64_t b, int64_t h, int64_t i) { addOutput(b, h, i); });
  // What a gradient is given: rounded.
  stored = Numbers(dtype, gradient.shape, output.values);
  storedSums = Numbers(sumType(dtype), {of.batch, of.heads, of.queries},
                       logSumExp.values);
  forRows([&](int64_t b, int64_t h, int64_t i) { addGradients(b, h, i); });
}

entry::AttentionOperands Setting::operands(Bench &bench) const {
  entry::AttentionOperands a;
  a.query = put(bench, query);
  a.key = put(bench, key);
  a.value = put(bench, value);
  if (!of.bias.empty())
    a.bias = bench.put(bias);
  if (of.mask)
    a.keyMask = bench.put(mask);
  if (of.sinks)
    a.sinks = bench.put(sinks);
  if (of.drops.rate != 0) {
    std::vector<int32_t> words = of.drops.words();
    a.words = bench.put(Numbers(
        plan::INT32, {8}, std::vector<double>(words.begin(), words.end())));
    a.samples = of.drops.samples, a.rowStride = of.drops.rowStride;
  }
  a.scale = scale, a.softcap = of.softcap;
  a.left = of.left, a.right = of.right();
  return a;
}

Layout Setting::layout(const std::vector<int64_t> &shape) const {
  return of.headsOutside ? permuted(shape, {0, 2, 1, 3}) : Layout();
}

Tensor Setting::put(Bench &bench, const Numbers &numbers) const {
  return bench.put(numbers, layout(numbers.shape));
}

Tensor Setting::room(Bench &bench, const std::vector<int64_t> &shape) const {
  return bench.room(dtype, shape, layout(shape));
}

Numbers Setting::random(std::vector<int64_t> shape, unsigned seed,
                        double size) const {
  return Numbers::random(dtype, std::move(shape), seed, size);
}

void Setting::forRows(
    const std::function<void(int64_t, int64_t, int64_t)> &visit) const {
  for (int64_t b = 0; b < of.batch; ++b)
    for (int64_t h = 0; h < of.heads; ++h)
      for (int64_t i = 0; i < of.queries; ++i)
        visit(b, h, i);
}

int64_t Setting::place(const Numbers &of, int64_t b, int64_t s, int64_t h) {
  return ((b * of.shape[1] + s) * of.shape[2] + h) * of.shape[3];
}

int64_t Setting::rowOf(int64_t b, int64_t h, int64_t i) const {
  return (b * of.heads + h) * of.queries + i;
}

Setting::Row Setting::row(int64_t b, int64_t h, int64_t i) const {
  double u = sumRoundoff(dtype), sum = 0;
  const double sink = of.sinks ? sinks[h] : -INFINITY;
  double maximum = sink;
  Row row{std::vector<double>(of.keys), std::vector<double>(of.keys),
          std::vector<double>(of.keys, 1)};
  int64_t from = place(query, b, i, h);
  for (int64_t j = 0; j < of.keys; ++j) {
    int64_t to = place(key, b, j, h / (of.heads / of.groups));
    double score = 0, size = 0;
    for (int64_t d = 0; d < of.dim; ++d) {
      double term = scale * query[from + d] * key[to + d];
      score += term;
      size += std::fabs(term);
    }
    if (of.softcap != 0) {
      row.slopes[j] = 1 / std::pow(std::cosh(score / of.softcap), 2);
      score = of.softcap * std::tanh(score / of.softcap);
      size += 4 * of.softcap;
    }
    if (!of.bias.empty()) {
      const std::vector<int64_t> &s = of.bias;
      double term = bias.at({s[0] > 1 ? b : 0, s[1] > 1 ? h : 0,
                             s[2] > 1 ? i : 0, s[3] > 1 ? j : 0});
      score += term;
      size += std::isinf(term) ? 0 : std::fabs(term);
    }
    if ((of.mask && !mask[b * of.keys + j]) || of.hides(i, j))
      score = -INFINITY;
    row.p[j] = score;
    maximum = std::max(maximum, score);
    row.scoreError = std::max(row.scoreError, double(of.dim + 4) * u * size);
  }
  if (maximum == -INFINITY) {
    row.p.assign(of.keys, 0);
    return row;
  }
  sum = std::exp(sink - maximum);
  for (double score : row.p)
    sum += std::exp(score - maximum);
  row.logSumExp = maximum + std::log(sum);
  for (int64_t j = 0; j < of.keys; ++j) {
    double below = maximum - row.p[j];
    row.p[j] = std::exp(-below) / sum;
    row.error[j] =
        row.p[j] > 0
            ? 2 * row.scoreError +
                  (32 + double(of.keys) + below + std::fabs(row.logSumExp)) * u
            : 0;
  }
  return row;
}

void Setting::addOutput(int64_t b, int64_t h, int64_t i) {
  double u = sumRoundoff(dtype);
  Row row = this->row(b, h, i);
  logSumExp.values[rowOf(b, h, i)] = row.logSumExp;
  logSumExp.slack[rowOf(b, h, i)] =
      row.scoreError + double(16 + of.keys) * u * (1 + row.scoreError);
  for (int64_t j = 0; j < of.keys; ++j)
    for (int64_t e = 0; e < of.valueDim; ++e) {
      double term = row.p[j] * of.drops.factor(rowOf(b, h, i), j) *
                    value[place(value, b, j, h / (of.heads / of.groups)) + e];
      output.add(place(gradient, b, i, h) + e, term,
                 std::fabs(term) * (row.error[j] + double(of.keys + 2) * u));
    }
}

void Setting::addGradients(int64_t b, int64_t h, int64_t i) {
  double u = sumRoundoff(dtype), delta = 0, deltaError = 0;
  Row row = this->row(b, h, i);
  int64_t from = place(gradient, b, i, h), q = place(query, b, i, h);
  for (int64_t e = 0; e < of.valueDim; ++e) {
    double term = gradient[from + e] * stored[from + e];
    delta += term;
    deltaError += double(of.valueDim + 2) * u * std::fabs(term);
  }
  for (int64_t j = 0; j < of.keys; ++j) {
    int64_t group = h / (of.heads / of.groups);
    int64_t k = place(key, b, j, group), v = place(value, b, j, group);
    double p = row.p[j], dp = 0, dpError = 0;
    const double factor = of.drops.factor(rowOf(b, h, i), j);
    // All queries that read the key, of all heads of its group.
    double sums = double(of.queries * of.heads / of.groups + 2) * u;
    for (int64_t e = 0; e < of.valueDim; ++e) {
      double term = factor * gradient[from + e] * value[v + e];
      dp += term;
      dpError += double(of.valueDim + 2) * u * std::fabs(term);
      double own = p * factor * gradient[from + e];
      valueGradient.add(v + e, own, std::fabs(own) * (row.error[j] + sums));
    }
    double slope = p * (dp - delta) * scale * row.slopes[j];
    double error = p * scale *
                   (row.error[j] * std::fabs(dp - delta) + dpError +
                    deltaError + 4 * u * (std::fabs(dp) + std::fabs(delta)));
    // What a score is off by is off by as much of a softcap, twice in a square.
    if (of.softcap != 0)
      error += p * scale * std::fabs(dp - delta) *
               (2 * row.scoreError / of.softcap + 8 * u);
    for (int64_t d = 0; d < of.dim; ++d) {
      queryGradient.add(
          q + d, slope * key[k + d],
          std::fabs(key[k + d]) *
              (error + double(of.keys + 2) * u * std::fabs(slope)));
      keyGradient.add(k + d, slope * query[q + d],
                      std::fabs(query[q + d]) *
                          (error + sums * std::fabs(slope)));
    }
  }
}

SHARDC_CONFORMANCE(Attention);
SHARDC_CONFORMANCE(AttentionGrad);

TEST_P(AttentionConformance, IsSoftmaxOfScoresTimesValues) {
  for (const Case &of : cases)
    for (plan::DType dtype : floatTypes)
      for (bool withSums : {true, false}) {
        // Where nobody wants them, one type of each case does.
        if (!withSums && dtype != floatTypes[(&of - cases) % 4])
          continue;
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - cases << ", " << plan::DType_Name(dtype));
          Setting setting(of, dtype);
          entry::Attention entry;
          entry.operands = setting.operands(bench);
          entry.output = setting.room(bench, setting.gradient.shape);
          if (withSums)
            entry.logSumExp =
                bench.room(sumType(dtype), setting.storedSums.shape);
          bench.giveWorkspace(entry);
          bench.run(entry);
          bench.expect(entry.output, setting.output, "output");
          if (withSums)
            bench.expect(entry.logSumExp, setting.logSumExp, "log_sum_exp");
        });
      }
}

TEST_P(AttentionGradConformance, IsTheGradientOfEachOperand) {
  for (const Case &of : cases)
    for (plan::DType dtype : floatTypes)
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(testing::Message()
                     << &of - cases << ", " << plan::DType_Name(dtype));
        Setting setting(of, dtype);
        entry::AttentionGrad entry;
        entry.operands = setting.operands(bench);
        entry.gradient = setting.put(bench, setting.gradient);
        entry.output = setting.put(bench, setting.stored);
        entry.logSumExp = bench.put(setting.storedSums);
        entry.queryGradient = setting.room(bench, setting.query.shape);
        entry.keyGradient = setting.room(bench, setting.key.shape);
        entry.valueGradient = setting.room(bench, setting.value.shape);
        bench.giveWorkspace(entry);
        bench.run(entry);
        bench.expect(entry.queryGradient, setting.queryGradient,
                     "query_gradient");
        bench.expect(entry.keyGradient, setting.keyGradient, "key_gradient");
        bench.expect(entry.valueGradient, setting.valueGradient,
                     "value_gradient");
      });
}

/// Queries, keys and values that are columns of one tensor, as one projection
/// leaves them; their gradients as well.
TEST_P(AttentionGradConformance, TakesColumnsOfOneTensor) {
  const Case of{2, 9, 9, 2, 2, 4, 4, true};
  for (plan::DType dtype : floatTypes)
    onDevice([&](Bench &bench) {
      SCOPED_TRACE(plan::DType_Name(dtype));
      Setting setting(of, dtype);
      constexpr int64_t width = 3 * 2 * 4;
      Numbers all(dtype, {2, 9, width});
      const Numbers *parts[] = {&setting.query, &setting.key, &setting.value};
      for (int64_t i = 0; i < 2 * 9 * 8; ++i)
        for (int64_t part = 0; part < 3; ++part)
          all[i / 8 * width + part * 8 + i % 8] = (*parts[part])[i];
      auto columns = [&](Tensor tensor, int64_t part) {
        tensor.data += part * 8 * sizeOf(dtype);
        tensor.shape = {2, 9, 2, 4};
        tensor.strides = {9 * width, width, 4, 1};
        return tensor;
      };
      Tensor from = bench.put(all), to = bench.room(dtype, all.shape);
      entry::AttentionGrad entry;
      entry.operands = {columns(from, 0),
                        columns(from, 1),
                        columns(from, 2),
                        {},
                        {},
                        {},
                        setting.scale,
                        of.softcap,
                        of.left,
                        of.right()};
      entry.gradient = bench.put(setting.gradient);
      entry.output = bench.put(setting.stored);
      entry.logSumExp = bench.put(setting.storedSums);
      entry.queryGradient = columns(to, 0);
      entry.keyGradient = columns(to, 1);
      entry.valueGradient = columns(to, 2);
      bench.giveWorkspace(entry);
      bench.run(entry);
      bench.expect(entry.queryGradient, setting.queryGradient,
                   "query_gradient");
      bench.expect(entry.keyGradient, setting.keyGradient, "key_gradient");
      bench.expect(entry.valueGradient, setting.valueGradient,
                   "value_gradient");
    });
}

} // namespace
} // namespace shardc::runtime
