// Attention.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/DrawnWords.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// [B, H, Sq, Sk]: what is dropped, if anything is.
template <typename Op> static SmallVector<int64_t, 4> squareShape(Op op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  return {query[0], query[2], query[1], shapeOf(op.getKey())[1]};
}

template <typename Op> static LogicalResult verifyDrawing(Op op) {
  if (op.getRate().has_value() != op.getSite().has_value())
    return op.emitOpError("expects a rate and a site, or neither");
  if (op.getRate())
    if (double rate = op.getRate()->convertToDouble();
        !(rate >= 0 && rate <= 1))
      return op.emitOpError("expects a rate in [0, 1], got ") << rate;
  if (!op.getWords())
    return success();
  if (op.getRate())
    return op.emitOpError("expects words or a rate, got both");
  SmallVector<int64_t, 4> square = squareShape(op);
  const int64_t stride = op.getSampleStride();
  if (failed(expectPlaced(op, op.getWords(), op.getSamples(), stride,
                          product(square))))
    return failure();
  if (square[3] != 0 && stride % square[3] != 0)
    return op.emitOpError("expects samples that have rows of ")
           << square[3] << " keys, got a stride of " << stride;
  return success();
}

/// What attention and its gradient have in common: query, key, value, bias,
/// key_mask, sinks, words, log_sum_exp.
template <typename Op> static LogicalResult verifyAttention(Op op) {
  if (failed(expectRank(op, "query", op.getQuery(), 4)) ||
      failed(expectRank(op, "key", op.getKey(), 4)) ||
      failed(expectRank(op, "value", op.getValue(), 4)))
    return failure();
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey()),
                    value = shapeOf(op.getValue());
  Type element = elementTypeOf(op.getQuery());
  if (failed(expectType(op, "key", op.getKey(),
                        {query[0], key[1], key[2], query[3]}, element)) ||
      failed(expectType(op, "value", op.getValue(),
                        {query[0], key[1], key[2], value[3]}, element)) ||
      failed(expectType(op, "log_sum_exp", op.getLogSumExp(),
                        {query[0], query[2], query[1]},
                        computeTypeOf(element))))
    return failure();
  if (key[2] == 0 || query[2] % key[2] != 0)
    return op.emitOpError("expects the number of query heads to be a multiple "
                          "of the key heads ")
           << key[2] << ", got " << query[2];
  for (int64_t size : {op.getLeft(), op.getRight()})
    if (size < -1)
      return op.emitOpError("expects left and right to be -1, which is all "
                            "keys, or more, got ")
             << size;
  if (op.getCausal() && int64_t(op.getRight()) != -1)
    return op.emitOpError("expects no right where it is causal, got ")
           << op.getRight();
  if (failed(expectSoftcap(op, op.getSoftcap())) || failed(verifyDrawing(op)))
    return failure();
  if (Value mask = op.getKeyMask())
    if (failed(expectShape(op, "key_mask", mask, {query[0], key[1]})))
      return failure();
  if (Value sinks = op.getSinks())
    if (failed(expectTypeOrWide(op, "sinks", sinks, {query[2]}, element)))
      return failure();
  Value bias = op.getBias();
  if (!bias)
    return success();
  if (failed(expectRank(op, "bias", bias, 4)) ||
      failed(expectTypeOrWide(op, "bias", bias, shapeOf(bias), element)))
    return failure();
  SmallVector<int64_t, 4> full = squareShape(op);
  for (int64_t dim = 0; dim < 4; ++dim) {
    const int64_t size = shapeOf(bias)[dim];
    if (size != full[dim] && (size != 1 || dim == 3))
      return op.emitOpError("expects dim ")
             << dim << " of bias to be " << full[dim]
             << (dim == 3 ? "" : " or 1") << ", got " << size;
  }
  return success();
}

/// [B, Sq, H, E]: what attention returns.
template <typename Op> static SmallVector<int64_t> attentionShape(Op op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  return {query[0], query[1], query[2], shapeOf(op.getValue())[3]};
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  return expectType(*this, "result", getResult(), attentionShape(*this),
                    elementTypeOf(getQuery()));
}

LogicalResult AttentionGradOp::verify() {
  Type element = elementTypeOf(getQuery());
  if (failed(verifyAttention(*this)) ||
      failed(expectType(*this, "gradient", getGradient(), attentionShape(*this),
                        element)) ||
      failed(expectType(*this, "output", getOutput(), attentionShape(*this),
                        element)) ||
      failed(expectType(*this, "query_gradient", getQueryGradient(),
                        shapeOf(getQuery()), element)) ||
      failed(expectType(*this, "key_gradient", getKeyGradient(),
                        shapeOf(getKey()), element)))
    return failure();
  return expectType(*this, "value_gradient", getValueGradient(),
                    shapeOf(getValue()), element);
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
AttentionOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  if (resultGradients[1])
    return emitOpError("has no gradient of its log_sum_exp");
  if (getBias() && needed[3])
    return emitOpError("has no gradient of its bias; keep a trained bias out "
                       "of attention, or freeze it");
  operandGradients.assign(needed.size(), Value());
  auto gradients = AttentionGradOp::create(
      builder, getLoc(), getQuery().getType(), getKey().getType(),
      getValue().getType(), resultGradients[0], getQuery(), getKey(),
      getValue(), getResult(), getLogSumExp(), getBias(), getKeyMask(),
      getSinks(), getWords(), getScaleAttr(), getCausalAttr(), getLeftAttr(),
      getRightAttr(), getSoftcapAttr(), getRateAttr(), getSiteAttr(),
      getSamplesAttr(), getSampleStrideAttr());
  operandGradients[0] = gradients.getQueryGradient();
  operandGradients[1] = gradients.getKeyGradient();
  operandGradients[2] = gradients.getValueGradient();
  constexpr unsigned sinksOperand = 5;
  auto [sinks, present] = getODSOperandIndexAndLength(sinksOperand);
  if (present && needed[sinks]) {
    // A sink's probability, which no value meets: dS = P (0 - sum(dO O)).
    Formula f(builder, getLoc());
    Type sums = elementTypeOf(getLogSumExp());
    ArrayRef<int64_t> rows = shapeOf(getLogSumExp());
    Value delta = f.reduceSum(
        f.mul(f.cast(resultGradients[0], sums), f.cast(getResult(), sums)),
        {3});
    delta = f.reshape(f.transpose(delta, {0, 2, 1, 3}), rows);
    Value sink = f.reshape(f.cast(getSinks(), sums), {1, rows[1], 1});
    Value probability =
        f.exp(f.sub(f.broadcast(sink, getLogSumExp()), getLogSumExp()));
    Value ofHeads = f.reduceSum(f.mul(probability, f.neg(delta)), {0, 2});
    operandGradients[sinks] = f.cast(f.reshape(ofHeads, shapeOf(getSinks())),
                                     elementTypeOf(getSinks()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Site
//===----------------------------------------------------------------------===//

/// Samples that lie in one of queries' dims lie in the one of scores that it
/// becomes.
template <typename Op>
static int64_t drawnStrideOf(Op op, int64_t stride, int64_t samples) {
  SmallVector<int64_t, 4> square = squareShape(op);
  const int64_t dim = shapeOf(op.getQuery())[3], heads = square[1],
                queries = square[2], keys = square[3];
  const int64_t position = heads * dim, batch = queries * position;
  if (stride == 0 || product(square) == 0)
    return 0;
  if (stride % batch == 0)
    return stride / batch * heads * queries * keys;
  if (stride % position == 0 && batch % (stride * samples) == 0)
    return stride / position * keys;
  if (stride % dim == 0 && position % (stride * samples) == 0)
    return stride / dim * queries * keys;
  const int64_t elements = product(square);
  return elements % (samples * keys) == 0 ? elements / samples : 0;
}

template <typename Op>
static void placeAt(Op op, Value words, int64_t samples, int64_t stride) {
  op.getWordsMutable().assign(words);
  op.removeRateAttr();
  op.removeSiteAttr();
  op.setSamples(stride ? samples : 0);
  op.setSampleStride(stride);
}

bool AttentionOp::isDrawing() { return getSite().has_value(); }
int64_t AttentionOp::drawnSite() { return *getSite(); }
Value AttentionOp::sampledLike() { return getQuery(); }
int64_t AttentionOp::drawnStride(int64_t stride, int64_t samples) {
  return drawnStrideOf(*this, stride, samples);
}
bool AttentionOp::samplesComeFirst() { return false; }
FloatAttr AttentionOp::droppedShare() { return getRateAttr(); }
void AttentionOp::keepAll() {
  removeRateAttr();
  removeSiteAttr();
}
void AttentionOp::place(Value words, int64_t samples, int64_t stride) {
  placeAt(*this, words, samples, stride);
}

bool AttentionGradOp::isDrawing() { return getSite().has_value(); }
int64_t AttentionGradOp::drawnSite() { return *getSite(); }
Value AttentionGradOp::sampledLike() { return getQuery(); }
int64_t AttentionGradOp::drawnStride(int64_t stride, int64_t samples) {
  return drawnStrideOf(*this, stride, samples);
}
bool AttentionGradOp::samplesComeFirst() { return false; }
FloatAttr AttentionGradOp::droppedShare() { return getRateAttr(); }
void AttentionGradOp::keepAll() {
  removeRateAttr();
  removeSiteAttr();
}
void AttentionGradOp::place(Value words, int64_t samples, int64_t stride) {
  placeAt(*this, words, samples, stride);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

namespace {
/// The keys that queries see by their positions.
struct SeenKeys {
  int64_t queries, keys, left, right;

  template <typename Op>
  explicit SeenKeys(Op op)
      : queries(shapeOf(op.getQuery())[1]), keys(shapeOf(op.getKey())[1]),
        left(op.getLeft()), right(op.getCausal() ? 0 : op.getRight()) {}

  bool isSeen(int64_t query, int64_t key) const {
    const int64_t own = query + keys - queries;
    return (left < 0 || key >= own - left) && (right < 0 || key <= own + right);
  }
  int64_t count(int64_t query) const {
    const int64_t own = query + keys - queries;
    const int64_t begin = left < 0 ? 0 : std::max<int64_t>(own - left, 0);
    const int64_t end = right < 0 ? keys : std::min(own + right + 1, keys);
    return std::max<int64_t>(end - begin, 0);
  }
};
} // namespace

/// Pairs of a query row and a key row that meet, over all heads: half of the
/// square where it is causal.
template <typename Op> static int64_t attendedPairs(Op op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  const SeenKeys seen(op);
  int64_t pairs = 0;
  for (int64_t i = 0; i < seen.queries; ++i)
    pairs += seen.count(i);
  return pairs * query[0] * query[2];
}

/// Of one of them, whose key is drawn with three others.
template <typename Op> static int64_t flopsOfDrawing(Op op) {
  return op.getWords() || op.getSite() ? flopsOfWords / 4 : 0;
}

int64_t AttentionOp::flops() {
  // Two products, and a softmax of the scores.
  return attendedPairs(*this) *
         (2 * shapeOf(getQuery())[3] + 2 * shapeOf(getValue())[3] + 5 +
          flopsOfDrawing(*this));
}

int64_t AttentionGradOp::flops() {
  // The scores again and four products: dV = P^T dO, dP = dO V^T, dQ = dS K, dK
  // = dS^T Q.
  return attendedPairs(*this) *
         (6 * shapeOf(getQuery())[3] + 4 * shapeOf(getValue())[3] + 8 +
          flopsOfDrawing(*this));
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

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
