// Reference evaluation of attention, head by head, on whole rows.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/AttentionSizes.h"
#include "frontend/nn/support/DrawnWords.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

namespace {
using Floats = HostTensor::Floats;

/// What probabilities are multiplied with, of those that are dropped or kept.
struct DroppedKeys {
  RunWords words;
  Placement placement;

  template <typename Op>
  DroppedKeys(Op op, const HostTensor &drawn)
      : words{drawn.toInts()}, placement(op.getSamples(), op.getSampleStride(),
                                         product(squareShape(op))) {}

  /// Of key j, in the row that begins with element `first`.
  double factor(int64_t first, int64_t keys, int64_t j) const {
    using runtime::Bits32;
    const Bits32 row{static_cast<uint32_t>(placement.numberOf(first) / keys)};
    const auto key = static_cast<uint32_t>(j);
    const int part = runtime::drawnPart(
        runtime::threefry2x32(words[Key0], words[Key1] + row,
                              Bits32{runtime::drawOfKey(key)},
                              words.sampleOf(placement, first)),
        runtime::partOfKey(key));
    return part >= words.threshold() >> 16 ? words.scale() : 0;
  }
};

/// Scores and softmax rows of attention, head by head, on whole rows.
struct PlainAttention {
  int64_t batch, queries, keys, heads, keyHeads, headDim, valueDim;
  double scale, softcap;
  SeenKeys seen;
  Floats query, key, value;
  HostTensor bias, keyMask, sinks;
  std::optional<DroppedKeys> dropped;

  /// `next`: the first of the optional operands.
  template <typename Op>
  PlainAttention(Op op, const HostTensor &query, const HostTensor &key,
                 const HostTensor &value, const HostTensor *next)
      : batch(query.shape()[0]), queries(query.shape()[1]),
        keys(key.shape()[1]), heads(query.shape()[2]), keyHeads(key.shape()[2]),
        headDim(query.shape()[3]), valueDim(value.shape()[3]),
        scale(op.getScale().convertToDouble()),
        softcap(op.getSoftcap().convertToDouble()), seen(op),
        query(query.toFloats()), key(key.toFloats()), value(value.toFloats()) {
    if (op.getBias())
      bias = *next++;
    if (op.getKeyMask())
      keyMask = *next++;
    if (op.getSinks())
      sinks = *next++;
    if (op.getWords())
      dropped.emplace(op, *next);
  }

  /// Position of a row of a tensor [B, length, heads, dim].
  int64_t queryRow(int64_t b, int64_t i, int64_t h) const {
    return (b * queries + i) * heads + h;
  }
  int64_t keyRow(int64_t b, int64_t j, int64_t h) const {
    return (b * keys + j) * keyHeads + h / (heads / keyHeads);
  }
  /// A row of scores, -inf where a key is not attended to, and the sink's behind
  /// them. `slopes` become what a softcap's derivative is, 1 where there is
  /// none.
  Floats scores(int64_t b, int64_t h, int64_t i, Floats &slopes) const {
    Floats row(keys, -std::numeric_limits<double>::infinity());
    slopes.assign(keys, 1);
    for (int64_t j = 0; j < keys; ++j) {
      if (!seen.isSeen(i, j) || (keyMask && !keyMask.intAt({b, j})))
        continue;
      double dot = 0;
      for (int64_t d = 0; d < headDim; ++d)
        dot += query[queryRow(b, i, h) * headDim + d] *
               key[keyRow(b, j, h) * headDim + d];
      row[j] = scale * dot;
      if (softcap != 0) {
        const double bounded = std::tanh(row[j] / softcap);
        row[j] = softcap * bounded;
        slopes[j] = 1 - bounded * bounded;
      }
      if (bias) {
        ArrayRef<int64_t> shape = bias.shape();
        row[j] += bias.floatAt({shape[0] == 1 ? 0 : b, shape[1] == 1 ? 0 : h,
                                shape[2] == 1 ? 0 : i, j});
      }
    }
    if (sinks)
      row.push_back(sinks.floatAt(ArrayRef(h)));
    return row;
  }
  /// Turns scores into probabilities; returns their log-sum-exp. A row of -inf
  /// becomes zeros.
  static double softmax(Floats &row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (double score : row)
      largest = std::max(largest, score);
    if (std::isinf(largest) && largest < 0) {
      std::fill(row.begin(), row.end(), 0);
      return largest;
    }
    for (double &score : row)
      sum += score = std::exp(score - largest);
    for (double &probability : row)
      probability /= sum;
    return largest + std::log(sum);
  }
  /// What a row of probabilities is multiplied with before it meets values.
  Floats factors(int64_t b, int64_t h, int64_t i) const {
    Floats row(keys, 1);
    for (int64_t j = 0; dropped && j < keys; ++j)
      row[j] = dropped->factor(((b * heads + h) * queries + i) * keys, keys, j);
    return row;
  }
  template <typename Visit> void forEachRow(Visit visit) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i)
          visit(b, h, i);
  }
};
} // namespace

LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  // What is not drawn yet has no value.
  if (getSite())
    return failure();
  PlainAttention attention(*this, operands[0], operands[1], operands[2],
                           operands.data() + 3);
  const int64_t dim = attention.valueDim;
  Floats output(tensorType(getResult()).getNumElements(), 0),
      logSumExp(tensorType(getLogSumExp()).getNumElements());
  attention.forEachRow([&](int64_t b, int64_t h, int64_t i) {
    Floats slopes, row = attention.scores(b, h, i, slopes);
    logSumExp[(b * attention.heads + h) * attention.queries + i] =
        PlainAttention::softmax(row);
    const Floats factors = attention.factors(b, h, i);
    for (int64_t j = 0; j < attention.keys; ++j)
      for (int64_t d = 0; d < dim; ++d)
        output[attention.queryRow(b, i, h) * dim + d] +=
            row[j] * factors[j] *
            attention.value[attention.keyRow(b, j, h) * dim + d];
  });
  results.push_back(
      HostTensor::floats(tensorType(getResult()), std::move(output)));
  results.push_back(
      HostTensor::floats(tensorType(getLogSumExp()), std::move(logSumExp)));
  return success();
}

LogicalResult AttentionGradOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  if (getSite())
    return failure();
  PlainAttention attention(*this, operands[1], operands[2], operands[3],
                           operands.data() + 6);
  const Floats gradient = operands[0].toFloats(),
               output = operands[4].toFloats();
  const int64_t headDim = attention.headDim, valueDim = attention.valueDim;
  Floats dQuery(attention.query.size(), 0), dKey(attention.key.size(), 0),
      dValue(attention.value.size(), 0);
  attention.forEachRow([&](int64_t b, int64_t h, int64_t i) {
    Floats slopes, probabilities = attention.scores(b, h, i, slopes);
    PlainAttention::softmax(probabilities);
    const Floats factors = attention.factors(b, h, i);
    const int64_t queryRow = attention.queryRow(b, i, h);
    const double *dOut = &gradient[queryRow * valueDim],
                 *out = &output[queryRow * valueDim];
    const double dot = std::inner_product(dOut, dOut + valueDim, out, 0.0);
    for (int64_t j = 0; j < attention.keys; ++j) {
      const int64_t keyRow = attention.keyRow(b, j, h);
      const double *value = &attention.value[keyRow * valueDim];
      const double dProbability =
          factors[j] * std::inner_product(dOut, dOut + valueDim, value, 0.0);
      const double dScore =
          attention.scale * probabilities[j] * (dProbability - dot) * slopes[j];
      for (int64_t d = 0; d < valueDim; ++d)
        dValue[keyRow * valueDim + d] +=
            probabilities[j] * factors[j] * dOut[d];
      for (int64_t d = 0; d < headDim; ++d) {
        dQuery[queryRow * headDim + d] +=
            dScore * attention.key[keyRow * headDim + d];
        dKey[keyRow * headDim + d] +=
            dScore * attention.query[queryRow * headDim + d];
      }
    }
  });
  results.push_back(
      HostTensor::floats(tensorType(getQueryGradient()), std::move(dQuery)));
  results.push_back(
      HostTensor::floats(tensorType(getKeyGradient()), std::move(dKey)));
  results.push_back(
      HostTensor::floats(tensorType(getValueGradient()), std::move(dValue)));
  return success();
}
