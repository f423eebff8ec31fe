// Layers that carry a state along the sequence, in place of attention's scores:
// the state is one value per step, unrolled.
// https://onnx.ai/onnx/operators/onnx__LinearAttention.html
// https://onnx.ai/onnx/operators/onnx__CausalConvWithState.html
#include "frontend/onnx/decode/Decoder.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// Each is a few ops.
constexpr int64_t mostSteps = 4096;

/// S [B, H, K, V], to which each step adds the outer product of a key and what
/// its value lacks.
class LinearAttention {
public:
  explicit LinearAttention(NodeContext &context)
      : context(context), emit(context.emit),
        rule(context.stringAttribute("update_rule", "gated_delta")),
        isGated(rule.starts_with("gated")), isDelta(rule.ends_with("delta")) {}

  LogicalResult check();
  void decode();

private:
  /// Step t of input i, [B, 1, heads size] as [B, heads, rows, columns], in the
  /// type that is computed in.
  Operand step(size_t i, int64_t t, ArrayRef<int64_t> shape) {
    return emit.reshape(
        emit.cast(emit.sliceDim(context.input(i), 1, t, 1), type), shape);
  }
  Operand matMul(const Operand &x, const Operand &y, bool transposesX) {
    Shape shape(y.shape());
    shape[2] = x.shape()[transposesX ? 3 : 2];
    SmallVector<NamedAttribute> attributes;
    if (transposesX)
      attributes.push_back(emit.flag("transpose_lhs"));
    return emit.emit<nn::MatMulOp>(emit.typeOf(shape, type), {x, y},
                                   attributes);
  }
  Operand advanced(Operand state, int64_t t);

  NodeContext &context;
  Emitter &emit;
  StringRef rule;
  bool isGated, isDelta;
  Type type;
  int64_t batch = 0, steps = 0, queryHeads = 0, heads = 0, keySize = 0,
          valueSize = 0;
};

LogicalResult LinearAttention::check() {
  if (rule != "linear" && rule != "gated" && rule != "delta" &&
      rule != "gated_delta")
    return context.error("has the update rule '" + rule +
                         "'; supported are linear, gated, delta and "
                         "gated_delta");
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 2)))
    return failure();
  for (size_t i : {0, 1, 2})
    if (context.input(i).rank() != 3 ||
        context.input(i).shape().take_front(2) !=
            context.input(0).shape().take_front(2))
      return context.error("expects query, key and value of shape [B, T, H D], "
                           "got " +
                           shapeText(context.input(i).shape()));
  batch = context.input(0).shape()[0];
  steps = context.input(0).shape()[1];
  queryHeads = context.intAttribute("q_num_heads", 0);
  heads = context.intAttribute("kv_num_heads", 0);
  if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
    return context.error("expects q_num_heads to be a multiple of "
                         "kv_num_heads, got " +
                         Twine(queryHeads) + " and " + Twine(heads));
  keySize = context.input(1).shape()[2] / heads;
  valueSize = context.input(2).shape()[2] / heads;
  if (context.input(0).shape()[2] != queryHeads * keySize ||
      context.input(1).shape()[2] != heads * keySize ||
      context.input(2).shape()[2] != heads * valueSize)
    return context.error(
        "cannot split query " + shapeText(context.input(0).shape()) + ", key " +
        shapeText(context.input(1).shape()) + " and value " +
        shapeText(context.input(2).shape()) + " into heads of one size");
  if (steps > mostSteps)
    return context.error("has " + Twine(steps) +
                         " steps, which are unrolled; supported are " +
                         Twine(mostSteps));
  auto fits = [&](size_t i, StringRef what,
                  ArrayRef<int64_t> sizes) -> LogicalResult {
    if (!context.has(i))
      return context.error("expects a " + what + " for the update rule '" +
                           rule + "'");
    const Operand &input = context.input(i);
    if (input.isFloat() && input.rank() == 3 && input.shape()[0] == batch &&
        input.shape()[1] == steps &&
        llvm::is_contained(sizes, input.shape()[2]))
      return success();
    return context.error("expects a " + what + " of shape " +
                         shapeText({batch, steps, sizes.front()}) + ", got " +
                         shapeText(input.shape()));
  };
  if (isGated && failed(fits(4, "decay", {heads * keySize, heads})))
    return failure();
  if (isDelta && failed(fits(5, "beta", {heads, 1})))
    return failure();
  if (context.has(3) &&
      (!context.input(3).isFloat() ||
       context.input(3).shape() !=
           ArrayRef<int64_t>{batch, heads, keySize, valueSize}))
    return context.error("expects a past state of shape " +
                         shapeText({batch, heads, keySize, valueSize}) +
                         ", got " + shapeText(context.input(3).shape()));
  return success();
}

Operand LinearAttention::advanced(Operand state, int64_t t) {
  Operand key = step(1, t, {batch, heads, keySize, 1}),
          value = step(2, t, {batch, heads, 1, valueSize});
  if (isGated) {
    int64_t decays = context.input(4).shape()[2] / heads;
    Operand kept = emit.unary<nn::ExpOp>(step(4, t, {batch, heads, decays, 1}));
    state = emit.binary<nn::MulOp>(state, kept);
  }
  if (isDelta) {
    int64_t betas = context.input(5).shape()[2];
    value = emit.binary<nn::SubOp>(value, matMul(key, state, true));
    value = emit.binary<nn::MulOp>(value, step(5, t, {batch, betas, 1, 1}));
  }
  return emit.binary<nn::AddOp>(state, emit.binary<nn::MulOp>(key, value));
}

void LinearAttention::decode() {
  Type stored = context.input(0).elementType();
  type = emit.arithmeticType(stored);
  Emitter::OneRounding one(emit);
  double scale = context.floatAttribute("scale", 0);
  Operand factor =
      emit.scalar(type, scale != 0 ? scale : 1 / std::sqrt(double(keySize)));
  Type stateType = context.has(3) ? context.input(3).elementType() : stored;
  Operand state = context.has(3)
                      ? emit.cast(context.input(3), type)
                      : emit.splat({batch, heads, keySize, valueSize}, type, 0);
  SmallVector<Operand> outputs;
  for (int64_t t = 0; t < steps; ++t) {
    state = advanced(state, t);
    // The queries of one state are rows.
    Operand query = step(0, t, {batch, heads, queryHeads / heads, keySize});
    outputs.push_back(emit.reshape(
        emit.binary<nn::MulOp>(matMul(query, state, false), factor),
        {batch, 1, queryHeads * valueSize}));
  }
  context.set(0, one.result(emit.cast(emit.concat(outputs, 1), stored)));
  if (context.wants(1))
    context.set(1, emit.cast(state, stateType));
}

LogicalResult linearAttention(NodeContext &context) {
  LinearAttention attention(context);
  if (failed(attention.check()))
    return failure();
  attention.decode();
  return success();
}

/// A convolution along the sequence, each channel by itself, of the input with
/// the k - 1 elements before it.
LogicalResult causalConv(NodeContext &context) {
  const Operand &input = context.input(0), &weight = context.input(1);
  if (failed(context.expectFloat(0)) ||
      failed(context.sameElementType(0, context.inputCount() - 1)))
    return failure();
  if (input.rank() != 3 || weight.rank() != 3 ||
      weight.shape()[0] != input.shape()[1] || weight.shape()[1] != 1)
    return context.error("expects an input [B, C, L] and a weight [C, 1, k], "
                         "got " +
                         shapeText(input.shape()) + " and " +
                         shapeText(weight.shape()));
  StringRef activation = context.stringAttribute("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return context.error("has the activation '" + activation +
                         "'; supported are none, silu and swish");
  Shape shape(input.shape());
  int64_t channels = shape[1], length = shape[2], taps = weight.shape()[2];
  Shape before = {shape[0], channels, taps - 1};
  if (context.has(3) && context.input(3).shape() != ArrayRef<int64_t>(before))
    return context.error("expects a past state of shape " + shapeText(before) +
                         ", got " + shapeText(context.input(3).shape()));
  if (context.has(2) && context.input(2).shape() != ArrayRef<int64_t>(channels))
    return context.error("expects a bias of shape " + shapeText({channels}) +
                         ", got " + shapeText(context.input(2).shape()));
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Type type = emit.arithmeticType(input.elementType());
  auto wide = [&](size_t i) { return emit.cast(context.input(i), type); };
  Operand padded = wide(0);
  if (taps > 1)
    padded = context.has(3)
                 ? emit.concat({wide(3), padded}, 2)
                 : emit.pad(padded, {0, 0, taps - 1}, {0, 0, 0}, {0, 0, 0});
  Operand kernels = wide(1), sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Operand kernel =
        emit.reshape(emit.sliceDim(kernels, 2, tap, 1), {channels, 1});
    Operand term =
        emit.binary<nn::MulOp>(emit.sliceDim(padded, 2, tap, length), kernel);
    sum = sum ? emit.binary<nn::AddOp>(sum, term) : term;
  }
  if (context.has(2))
    sum = emit.binary<nn::AddOp>(sum, emit.reshape(wide(2), {channels, 1}));
  if (activation != "none")
    sum = emit.unary<nn::SiluOp>(sum);
  context.set(0, one.result(emit.cast(sum, input.elementType())));
  if (context.wants(1))
    context.set(1, taps == 1
                       ? emit.splat(before, input.elementType(), 0)
                       : emit.cast(emit.sliceDim(padded, 2, length, taps - 1),
                                   input.elementType()));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::linearAttentionDecoders() {
  static constexpr Decoder decoders[] = {
      {"CausalConvWithState", 27, 2, 4, causalConv},
      {"LinearAttention", 27, 3, 6, linearAttention},
  };
  return decoders;
}
