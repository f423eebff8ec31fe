// Attention by plain loops in float64, for tests of what computes it otherwise.
#ifndef SHARDC_TEST_EMULATEDCUDA_ATTENTIONPROBLEM_H
#define SHARDC_TEST_EMULATEDCUDA_ATTENTIONPROBLEM_H

#include "runtime/base/Tensor.h"
#include "test/runtime/device/DroppedKeys.h"
#include "test/runtime/device/HiddenKeys.h"
#include "test/runtime/device/Numbers.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace shardc::test {

using namespace runtime;

struct Case {
  int64_t batch, queries, keys, heads, groups, dim, valueDim;
  bool causal = false, mask = false;
  std::vector<int64_t> bias = {}; // shape; empty: none
  bool wideBias = false;          // float32, whatever the queries are
  /// What is added to every bias, of masks that hide keys by a number.
  double depth = 0;
  /// Keys before and behind its own that a query sees; -1: all.
  int64_t left = -1, behind = -1;
  double softcap = 0;
  bool sinks = false;
  DroppedKeys drops = {};

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
    return KeyWindow{left, right()}.hides(query, queries, key, keys);
  }
};

/// A tensor in memory of its own, at a multiple of 16 bytes: [batch, positions,
/// heads, dim] with positions `gap` elements further apart than they need be.
class Room {
public:
  Room(plan::DType dtype, std::vector<int64_t> shape, int64_t gap = 0)
      : bytes(countOf(shape) * 8 +
                  shape[0] * gap * 8 * (shape.size() > 1 ? shape[1] : 1) + 64,
              std::byte(0xff)) {
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.strides = rowMajorStrides(shape);
    if (gap) {
      tensor.strides[1] += gap;
      tensor.strides[0] = shape[1] * tensor.strides[1];
    }
    auto address = reinterpret_cast<uintptr_t>(bytes.data());
    tensor.data = bytes.data() + (64 - address % 64) % 64;
  }
  explicit Room(const Numbers &numbers, int64_t gap = 0)
      : Room(numbers.dtype, numbers.shape, gap) {
    forIndices(numbers.shape, [&](const auto &index, int64_t position) {
      encode(numbers[position], numbers.dtype, place(index));
    });
  }
  std::vector<double> numbers() {
    std::vector<double> all(countOf(tensor.shape));
    forIndices(tensor.shape, [&](const auto &index, int64_t position) {
      all[position] = decode(place(index), tensor.dtype);
    });
    return all;
  }
  Tensor tensor;

private:
  std::byte *place(const std::vector<int64_t> &index) {
    int64_t at = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      at += index[dim] * tensor.strides[dim];
    return tensor.data + at * sizeOf(tensor.dtype);
  }
  std::vector<std::byte> bytes;
};

/// What an element should be, and the sum of its terms' sizes, which errors go
/// with.
struct Result {
  std::vector<double> values, sizes;
  explicit Result(const std::vector<int64_t> &shape)
      : values(countOf(shape)), sizes(values) {}
  void add(int64_t at, double term, double size) {
    values[at] += term;
    sizes[at] += std::fabs(size);
  }
};

struct Problem {
  const Case &of;
  plan::DType dtype;
  double scale;
  Numbers query, key, value, gradient, bias, mask, sinks, stored, storedSums;
  Result output, logSumExp, queryGradient, keyGradient, valueGradient;

  Problem(const Case &of, plan::DType dtype)
      : of(of), dtype(dtype), scale(1.3 / std::sqrt(double(of.dim))),
        query(random({of.batch, of.queries, of.heads, of.dim}, 1, 2)),
        key(random({of.batch, of.keys, of.groups, of.dim}, 2, 2)),
        value(random({of.batch, of.keys, of.groups, of.valueDim}, 3, 1)),
        gradient(random({of.batch, of.queries, of.heads, of.valueDim}, 4, 1)),
        output(gradient.shape), logSumExp({of.batch, of.heads, of.queries}),
        queryGradient(query.shape), keyGradient(key.shape),
        valueGradient(value.shape) {
    if (!of.bias.empty()) {
      plan::DType type = of.wideBias ? plan::FLOAT32 : dtype;
      bias = Numbers::random(type, of.bias, 5, 3);
      for (int64_t i = 0; i < bias.elements(); ++i)
        bias[i] = i % 7 == 3 ? -INFINITY : rounded(bias[i] + of.depth, type);
    }
    if (of.mask) {
      mask = Numbers(plan::BOOL, {of.batch, of.keys}, 1.0);
      for (int64_t i = 0; i < mask.elements(); ++i)
        if (i % 5 == 2 || i / of.keys == 1) // all of sample 1
          mask[i] = 0;
    }
    if (of.sinks)
      sinks = random({of.heads}, 6, 3);
    forRows([&](auto... at) { addOutput(at...); });
    // What a gradient is given: rounded.
    stored = Numbers(dtype, gradient.shape, output.values);
    storedSums = Numbers(sumType(dtype), {of.batch, of.heads, of.queries},
                         logSumExp.values);
    forRows([&](auto... at) { addGradients(at...); });
  }

  Numbers random(std::vector<int64_t> shape, unsigned seed, double size) {
    return Numbers::random(dtype, std::move(shape), seed, size);
  }
  void forRows(const auto &visit) {
    for (int64_t b = 0; b < of.batch; ++b)
      for (int64_t h = 0; h < of.heads; ++h)
        for (int64_t i = 0; i < of.queries; ++i)
          visit(b, h, i);
  }
  static int64_t place(const Numbers &in, int64_t b, int64_t s, int64_t h) {
    return ((b * in.shape[1] + s) * in.shape[2] + h) * in.shape[3];
  }
  double kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return of.drops.factor((b * of.heads + h) * of.queries + i, j);
  }
  int64_t group(int64_t h) const { return h / (of.heads / of.groups); }

  /// Probabilities of a row, its log_sum_exp, and a softcap's slopes.
  std::vector<double> row(int64_t b, int64_t h, int64_t i, double &sums,
                          std::vector<double> &slopes) const {
    std::vector<double> p(of.keys);
    slopes.assign(of.keys, 1);
    const double sink = of.sinks ? sinks[h] : -INFINITY;
    double maximum = sink, sum = 0;
    for (int64_t j = 0; j < of.keys; ++j) {
      for (int64_t d = 0; d < of.dim; ++d)
        p[j] += scale * query[place(query, b, i, h) + d] *
                key[place(key, b, j, group(h)) + d];
      if (of.softcap != 0) {
        slopes[j] = 1 / std::pow(std::cosh(p[j] / of.softcap), 2);
        p[j] = of.softcap * std::tanh(p[j] / of.softcap);
      }
      if (const auto &s = of.bias; !s.empty())
        p[j] += bias.at({s[0] > 1 ? b : 0, s[1] > 1 ? h : 0, s[2] > 1 ? i : 0,
                         s[3] > 1 ? j : 0});
      // Beside such a number the scores have float32's digits.
      if (of.depth && dtype != plan::FLOAT64)
        p[j] = float(p[j]);
      if ((of.mask && !mask[b * of.keys + j]) || of.hides(i, j))
        p[j] = -INFINITY;
      maximum = std::max(maximum, p[j]);
    }
    sums = -INFINITY;
    if (maximum == -INFINITY)
      return std::vector<double>(of.keys);
    sum = std::exp(sink - maximum);
    for (double &each : p)
      sum += each = std::exp(each - maximum);
    for (double &each : p)
      each /= sum;
    sums = maximum + std::log(sum);
    return p;
  }
  void addOutput(int64_t b, int64_t h, int64_t i) {
    double sums;
    std::vector<double> slopes, p = row(b, h, i, sums, slopes);
    logSumExp.add((b * of.heads + h) * of.queries + i, sums,
                  std::isinf(sums) ? 0 : 2 + std::fabs(sums));
    for (int64_t j = 0; j < of.keys; ++j)
      for (int64_t e = 0; e < of.valueDim; ++e) {
        double term =
            p[j] * kept(b, h, i, j) * value[place(value, b, j, group(h)) + e];
        output.add(place(gradient, b, i, h) + e, term, term);
      }
  }
  void addGradients(int64_t b, int64_t h, int64_t i) {
    double unused, delta = 0, deltaSize = 0;
    std::vector<double> slopes, p = row(b, h, i, unused, slopes);
    int64_t g = place(gradient, b, i, h), q = place(query, b, i, h);
    for (int64_t e = 0; e < of.valueDim; ++e) {
      delta += gradient[g + e] * stored[g + e];
      deltaSize += std::fabs(gradient[g + e] * stored[g + e]);
    }
    for (int64_t j = 0; j < of.keys; ++j) {
      int64_t k = place(key, b, j, group(h)), v = place(value, b, j, group(h));
      double dp = 0, size = deltaSize, factor = kept(b, h, i, j);
      for (int64_t e = 0; e < of.valueDim; ++e) {
        dp += factor * gradient[g + e] * value[v + e];
        size += std::fabs(factor * gradient[g + e] * value[v + e]);
        double term = p[j] * factor * gradient[g + e];
        valueGradient.add(v + e, term, term);
      }
      double slope = p[j] * (dp - delta) * scale * slopes[j];
      size *= p[j] * scale;
      for (int64_t d = 0; d < of.dim; ++d) {
        queryGradient.add(q + d, slope * key[k + d], size * key[k + d]);
        keyGradient.add(k + d, slope * query[q + d], size * query[q + d]);
      }
    }
  }

  /// What a result may be off by, as a part of its terms' sizes: sums and
  /// exponentials of sumType(), and where there are matrix units, their
  /// operands, rounded once.
  double tolerance(bool hasMatrixUnits) const {
    double sums = (of.depth ? 200 : 40) * roundoff(sumType(dtype));
    return sums + (hasMatrixUnits ? 2 * roundoff(dtype) : 0);
  }
};

inline void expectNear(Room &room, const Result &expected, double tolerance,
                       const char *what) {
  std::vector<double> got = room.numbers();
  double rounding = roundoff(room.tensor.dtype);
  double least = room.tensor.dtype == plan::FLOAT16 ? 0x1p-25 : 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double want = expected.values[i];
    double slack = tolerance * expected.sizes[i];
    slack += rounding * (std::fabs(want) + slack) + least;
    if (std::isinf(want) ? got[i] == want : std::fabs(got[i] - want) <= slack)
      continue;
    ADD_FAILURE() << what << "[" << i << "] is " << got[i] << ", not " << want
                  << " +- " << slack;
    return;
  }
}

} // namespace shardc::test

#endif
