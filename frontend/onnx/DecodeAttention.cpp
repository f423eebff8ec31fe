// Attention and rotary positions as single ONNX ops (opset 23 on), in nn's
// layout [batch, sequence, heads, head_dim].
#include "frontend/onnx/Decoder.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// [B, H, S, D], or [B, S, H D] with the number of heads given, as [B, S, H,
/// D].
FailureOr<Operand> sequenceMajor(NodeContext &context, size_t i,
                                 StringRef headsAttribute) {
  const Operand &input = context.input(i);
  if (input.rank() == 4)
    return context.emit.transpose(input, {0, 2, 1, 3});
  int64_t heads = context.intAttribute(headsAttribute, 0);
  if (input.rank() != 3 || heads <= 0 || input.shape()[2] % heads != 0)
    return context.error("expects input " + Twine(i) +
                         " to have rank 4, or rank 3 with " + headsAttribute +
                         " dividing its last dim");
  return context.emit.reshape(input, {input.shape()[0], input.shape()[1], heads,
                                      input.shape()[2] / heads});
}

/// Back to the layout of the node's input `like`.
Operand originalLayout(Emitter &emit, const Operand &result,
                       const Operand &like) {
  if (like.rank() == 4)
    return emit.transpose(result, {0, 2, 1, 3});
  return emit.reshape(result, {result.shape()[0], result.shape()[1],
                               result.shape()[2] * result.shape()[3]});
}

/// 0 where true, -inf where false.
Operand maskBias(Emitter &emit, const Operand &mask, Type element) {
  return emit.select(
      mask, emit.scalar(element, 0),
      emit.scalar(element, -std::numeric_limits<double>::infinity()));
}

struct Scores {
  int64_t batch, heads, queries, keys;
  Type element;
};

/// The mask input as a key mask or as a bias that is added to the scores.
LogicalResult decodeMask(NodeContext &context, const Scores &scores,
                         Operand &bias, Operand &keyMask) {
  Emitter &emit = context.emit;
  Operand mask = context.input(3);
  Shape full = {scores.batch, scores.heads, scores.queries, scores.keys};
  FailureOr<Shape> shape =
      context.broadcastShape({mask, emit.splat(full, scores.element, 0)});
  if (failed(shape))
    return failure();
  if (*shape != full)
    return context.error("expects its mask to broadcast to the scores [batch, "
                         "heads, queries, keys]");
  Shape aligned(4 - mask.rank(), 1);
  llvm::append_range(aligned, mask.shape());
  mask = emit.reshape(mask, aligned);
  aligned[3] = scores.keys;
  mask = emit.broadcast(mask, aligned);
  if (!mask.elementType().isInteger(1)) {
    if (mask.elementType() != scores.element)
      return context.error(
          "expects its mask to be bool or of the queries' type");
    bias = mask;
  } else if (aligned[1] == 1 && aligned[2] == 1) {
    keyMask = emit.broadcast(emit.reshape(mask, {aligned[0], scores.keys}),
                             {scores.batch, scores.keys});
  } else {
    bias = maskBias(emit, mask, scores.element);
  }
  return success();
}

LogicalResult attention(NodeContext &context) {
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 2)))
    return failure();
  for (size_t i : {4, 5, 6})
    if (context.has(i))
      return context.error("past keys and values are not supported; export the "
                           "model without a cache");
  for (size_t i : {1, 2, 3})
    if (context.wants(i))
      return context.error(
          "output " + Twine(i) +
          " is not supported; supported is the attention's result");
  if (context.floatAttribute("softcap", 0) != 0)
    return context.error("softcap is not supported");
  FailureOr<Operand> query = sequenceMajor(context, 0, "q_num_heads"),
                     key = sequenceMajor(context, 1, "kv_num_heads"),
                     value = sequenceMajor(context, 2, "kv_num_heads");
  if (failed(query) || failed(key) || failed(value))
    return failure();
  ArrayRef<int64_t> q = query->shape(), k = key->shape(), v = value->shape();
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] ||
      q[3] != k[3] || k[2] == 0 || q[2] % k[2] != 0)
    return context.error("expects query, key and value to agree in batch, keys "
                         "and head size, and the query's heads to be "
                         "a multiple of the key's; check the --dim flags");

  Emitter &emit = context.emit;
  Scores scores{q[0], q[2], q[1], k[1], query->elementType()};
  Operand bias, keyMask;
  if (context.has(3) && failed(decodeMask(context, scores, bias, keyMask)))
    return failure();
  SmallVector<NamedAttribute> attributes = {emit.named(
      "scale", emit.attributes().getF64FloatAttr(context.floatAttribute(
                   "scale", 1 / std::sqrt(double(q[3])))))};
  if (context.intAttribute("is_causal", 0)) {
    if (scores.queries == scores.keys) {
      attributes.push_back(emit.flag("causal"));
    } else { // ONNX aligns the first query with the first key
      Operand seen =
          emit.compare(nn::CompareKind::ge, emit.iota(scores.queries, 2, 4),
                       emit.iota(scores.keys, 3, 4));
      Operand causal = maskBias(emit, seen, scores.element);
      bias = bias ? emit.binary<nn::AddOp>(bias, causal) : causal;
    }
  }
  SmallVector<Operand> operands = {*query, *key, *value};
  SmallVector<int32_t> segments = {1, 1, 1, bias ? 1 : 0, keyMask ? 1 : 0};
  if (bias)
    operands.push_back(bias);
  if (keyMask)
    operands.push_back(keyMask);
  attributes.push_back(emit.named(
      "operandSegmentSizes", emit.attributes().getDenseI32ArrayAttr(segments)));
  // Log-sum-exp has the type of the arithmetic.
  Type sums =
      scores.element.isF64() ? scores.element : emit.attributes().getF32Type();
  SmallVector<Type> types = {
      emit.typeOf({q[0], q[1], q[2], v[3]}, scores.element),
      emit.typeOf({q[0], q[2], q[1]}, sums)};
  SmallVector<Operand> results = emit.emit(nn::AttentionOp::getOperationName(),
                                           types, operands, attributes);
  context.set(0, originalLayout(emit, results[0], context.input(0)));
  return success();
}

LogicalResult rotaryEmbedding(NodeContext &context) {
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 2)))
    return failure();
  FailureOr<Operand> input = sequenceMajor(context, 0, "num_heads");
  if (failed(input))
    return failure();
  Emitter &emit = context.emit;
  int64_t batch = input->shape()[0], sequence = input->shape()[1],
          size = input->shape()[3];
  int64_t rotated = context.intAttribute("rotary_embedding_dim", 0);
  rotated = rotated == 0 ? size : rotated;
  bool interleaved = context.intAttribute("interleaved", 0) != 0;
  if (rotated < 2 || rotated > size || rotated % 2 != 0)
    return context.error("expects an even rotary_embedding_dim of at most " +
                         Twine(size) + ", got " + Twine(rotated));

  Operand tables[2];
  for (size_t i : {0, 1}) {
    Operand table = context.input(i + 1);
    if (context.has(3)) {
      const Operand &positions = context.input(3);
      if (table.rank() != 2 || positions.rank() != 2 || positions.isFloat())
        return context.error("expects tables [positions, size] and integer "
                             "position_ids [batch, sequence]");
      Shape shape = {positions.shape()[0], positions.shape()[1],
                     table.shape()[1]};
      table = emit.emit<nn::GatherOp>(
          emit.typeOf(shape, table.elementType()),
          {table, emit.cast(positions, emit.attributes().getI64Type())},
          {emit.named("axis", int64_t(0))});
    }
    if (table.rank() != 3 || table.shape()[1] != sequence ||
        table.shape()[2] != rotated / 2 ||
        (table.shape()[0] != 1 && table.shape()[0] != batch))
      return context.error("expects its tables to be [batch, sequence, " +
                           Twine(rotated / 2) + "]; check the --dim flags");
    if (interleaved) {
      Shape pairs = {table.shape()[0], sequence, rotated / 2, 1},
            doubled = pairs;
      doubled[3] = 2;
      table = emit.reshape(emit.broadcast(emit.reshape(table, pairs), doubled),
                           {table.shape()[0], sequence, rotated});
    } else {
      table = emit.concat({table, table}, 2);
    }
    tables[i] = table;
  }
  SmallVector<NamedAttribute> attributes;
  if (interleaved)
    attributes.push_back(emit.flag("interleaved"));
  Operand turned = emit.sliceDim(*input, 3, 0, rotated);
  turned = emit.emit<nn::RopeOp>(turned.type(), {turned, tables[0], tables[1]},
                                 attributes);
  if (rotated < size)
    turned = emit.concat(
        {turned, emit.sliceDim(*input, 3, rotated, size - rotated)}, 3);
  context.set(0, originalLayout(emit, turned, context.input(0)));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::attentionDecoders() {
  static constexpr Decoder decoders[] = {
      {"Attention", 23, 3, 7, attention},
      {"RotaryEmbedding", 23, 3, 4, rotaryEmbedding},
  };
  return decoders;
}
