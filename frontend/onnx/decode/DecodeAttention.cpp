// Attention and rotary positions as single ONNX ops (opset 23 on), in nn's
// layout [batch, sequence, heads, head_dim].
#include "frontend/nn/support/NeedsGradient.h"
#include "frontend/onnx/decode/Decoder.h"

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

/// Most elements of a mask of windows that is a constant of the program.
constexpr int64_t mostKnown = int64_t(1) << 20;

struct Scores {
  int64_t batch, heads, queries, keys;
  Type element;
};

/// One node: its operands in nn's layout, and what is added to their scores.
class Attending {
public:
  explicit Attending(NodeContext &context)
      : context(context), emit(context.emit),
        softcap(std::abs(context.floatAttribute("softcap", 0))) {}

  LogicalResult run();

private:
  LogicalResult readOperands();
  LogicalResult readWindow();
  /// Puts what earlier calls left in front of an operand; output `present` is
  /// both.
  LogicalResult joinPast(Operand &operand, size_t past, size_t present);
  LogicalResult readMask();
  /// Keys behind those that a sample has are hidden.
  LogicalResult readLengths();
  /// So are keys that are farther from a query's own than it sees: by
  /// nn.attention itself where it can say that, or as a bias.
  bool canSayWindow();
  void hideFarther();
  /// Where there are no earlier keys of this node's own, a sample's last query
  /// is that of its last key.
  bool endsByLength() { return lengths && !context.has(4); }
  void addBias(const Operand &more) {
    bias = bias ? emit.binary<nn::AddOp>(bias, more) : more;
  }
  void asOneOp();
  void writtenOut();

  NodeContext &context;
  Emitter &emit;
  Operand query, key, value, bias, keyMask;
  Operand lengths;     ///< keys that a sample has, i64 [batch, 1, 1, 1]
  int64_t earlier = 0; ///< keys of earlier calls
  /// How many keys before and behind its own a query sees; none: all.
  std::optional<int64_t> left, right;
  double softcap, scale = 1;
  Scores scores = {};
};

LogicalResult Attending::joinPast(Operand &operand, size_t past,
                                  size_t present) {
  if (context.has(past)) {
    const Operand &before = context.input(past);
    Shape shape(operand.shape());
    if (before.rank() != 4 || before.elementType() != operand.elementType() ||
        before.shape()[0] != shape[0] || before.shape()[1] != shape[2] ||
        before.shape()[3] != shape[3])
      return context.error("expects input " + Twine(past) +
                           " to be [batch, heads, keys, size] like those of "
                           "this call, got " +
                           shapeText(before.shape()));
    earlier = before.shape()[2];
    operand = emit.concat({emit.transpose(before, {0, 2, 1, 3}), operand}, 1);
  }
  if (context.wants(present))
    context.set(present, emit.transpose(operand, {0, 2, 1, 3}));
  return success();
}

LogicalResult Attending::readWindow() {
  for (auto [name, size] : {std::pair("left_window_size", &left),
                            std::pair("right_window_size", &right)}) {
    const int64_t given = context.intAttribute(name, -1);
    if (given < -1)
      return context.error("expects " + Twine(name) +
                           " to be -1, which hides no key, or more, got " +
                           Twine(given));
    // More than all there is is all.
    if (given >= 0)
      *size = std::min(given, scores.queries + scores.keys);
  }
  if (context.intAttribute("is_causal", 0) != 0)
    right = 0;
  return success();
}

LogicalResult Attending::readOperands() {
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 2)))
    return failure();
  if (context.has(4) != context.has(5))
    return context.error("expects past keys and past values, or neither");
  if (int64_t mode = context.intAttribute("qk_matmul_output_mode", 0);
      mode < 0 || mode > 3)
    return context.error(
        "expects qk_matmul_output_mode to be from 0 to 3, got " + Twine(mode));
  FailureOr<Operand> given[] = {sequenceMajor(context, 0, "q_num_heads"),
                                sequenceMajor(context, 1, "kv_num_heads"),
                                sequenceMajor(context, 2, "kv_num_heads")};
  for (const FailureOr<Operand> &operand : given)
    if (failed(operand))
      return failure();
  query = *given[0], key = *given[1], value = *given[2];
  if (failed(joinPast(key, 4, 1)) || failed(joinPast(value, 5, 2)))
    return failure();
  ArrayRef<int64_t> q = query.shape(), k = key.shape(), v = value.shape();
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] ||
      q[3] != k[3] || k[2] == 0 || q[2] % k[2] != 0)
    return context.error("expects query, key and value to agree in batch, keys "
                         "and head size, and the query's heads to be "
                         "a multiple of the key's; check the --dim flags");
  scores = {q[0], q[2], q[1], k[1], query.elementType()};
  scale = context.floatAttribute("scale", 1 / std::sqrt(double(q[3])));
  return success();
}

/// The mask input as a key mask or as a bias that is added to the scores.
LogicalResult Attending::readMask() {
  if (!context.has(3))
    return success();
  Operand mask = context.input(3);
  const bool isBool = mask.elementType().isInteger(1);
  if (!isBool && mask.elementType() != scores.element)
    return context.error("expects its mask to be bool or of the queries' type");
  // What it does not reach is hidden.
  if (mask.rank() > 0 && mask.shape().back() > 1 &&
      mask.shape().back() < scores.keys) {
    Shape rest(mask.shape());
    rest.back() = scores.keys - rest.back();
    const double hidden = isBool ? 0 : -std::numeric_limits<double>::infinity();
    mask = emit.concat({mask, emit.splat(rest, mask.elementType(), hidden)},
                       mask.rank() - 1);
  }
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
  if (!isBool)
    addBias(mask);
  else if (aligned[1] == 1 && aligned[2] == 1)
    keyMask = emit.broadcast(emit.reshape(mask, {aligned[0], scores.keys}),
                             {scores.batch, scores.keys});
  else
    addBias(maskBias(emit, mask, scores.element));
  return success();
}

LogicalResult Attending::readLengths() {
  if (!context.has(6))
    return success();
  const Operand &given = context.input(6);
  if (given.isFloat() || given.shape() != ArrayRef(scores.batch))
    return context.error("expects nonpad_kv_seqlen to be integers " +
                         shapeText(scores.batch) + ", got " +
                         shapeText(given.shape()));
  lengths = emit.reshape(emit.cast(given, emit.attributes().getI64Type()),
                         {scores.batch, 1, 1, 1});
  addBias(maskBias(
      emit,
      emit.compare(nn::CompareKind::lt, emit.iota(scores.keys, 3, 4), lengths),
      scores.element));
  return success();
}

bool Attending::canSayWindow() {
  if (endsByLength())
    return false;
  // A query's own key is here `earlier` behind the first query's, and there as
  // many as keys are more than queries.
  const int64_t further = scores.keys - scores.queries - earlier;
  if ((left && *left + further < 0) || (right && *right < further))
    return false;
  if (left)
    *left += further;
  if (right)
    *right -= further;
  // What reaches as far as there are keys hides none.
  if (left && *left >= scores.keys - 1)
    left.reset();
  if (right && *right >= scores.queries - 1)
    right.reset();
  return true;
}

void Attending::hideFarther() {
  if (!left && !right)
    return;
  Operand place = emit.iota(scores.keys, 3, 4),
          row = emit.iota(scores.queries, 2, 4);
  // A large mask is computed by the run: it would be a large constant.
  if (scores.queries * scores.keys > mostKnown)
    place = emit.materialize(place), row = emit.materialize(row);
  Operand own = emit.binary<nn::AddOp>(
      row, endsByLength()
               ? emit.binary<nn::SubOp>(lengths, emit.integer(scores.queries))
               : emit.integer(earlier));
  Operand seen;
  if (right)
    seen = emit.compare(nn::CompareKind::le, place,
                        emit.binary<nn::AddOp>(own, emit.integer(*right)));
  if (left) {
    Operand near =
        emit.compare(nn::CompareKind::ge, place,
                     emit.binary<nn::SubOp>(own, emit.integer(*left)));
    seen = seen ? emit.binary<nn::AndOp>(seen, near) : near;
  }
  addBias(maskBias(emit, seen, scores.element));
}

void Attending::asOneOp() {
  SmallVector<NamedAttribute> attributes = {
      emit.named("scale", emit.attributes().getF64FloatAttr(scale))};
  if (right == 0)
    attributes.push_back(emit.flag("causal"));
  else if (right)
    attributes.push_back(emit.named("right", *right));
  if (left)
    attributes.push_back(emit.named("left", *left));
  SmallVector<Operand> operands = {query, key, value};
  if (softcap != 0)
    attributes.push_back(
        emit.named("softcap", emit.attributes().getF64FloatAttr(softcap)));
  SmallVector<int32_t> segments = {
      1, 1, 1, bias ? 1 : 0, keyMask ? 1 : 0, /*sinks=*/0, /*words=*/0};
  if (bias)
    operands.push_back(bias);
  if (keyMask)
    operands.push_back(keyMask);
  attributes.push_back(emit.named(
      "operandSegmentSizes", emit.attributes().getDenseI32ArrayAttr(segments)));
  // Log-sum-exp has the type of the arithmetic.
  Type sums = emit.arithmeticType(scores.element);
  SmallVector<Type> types = {
      emit.typeOf(
          {scores.batch, scores.queries, scores.heads, value.shape()[3]},
          scores.element),
      emit.typeOf({scores.batch, scores.heads, scores.queries}, sums)};
  SmallVector<Operand> results = emit.emit(nn::AttentionOp::getOperationName(),
                                           types, operands, attributes);
  context.set(0, originalLayout(emit, results[0], context.input(0)));
}

/// Step by step, where scores are given out, or a mask is trained.
void Attending::writtenOut() {
  Emitter::OneRounding one(emit);
  Type element = emit.arithmeticType(scores.element);
  auto headsFirst = [&](const Operand &operand) {
    Operand turned = emit.cast(emit.transpose(operand, {0, 2, 1, 3}), element);
    Shape shape(turned.shape());
    // Heads that share keys stand side by side.
    const int64_t shared = scores.heads / shape[1];
    Shape grouped = {shape[0], shape[1], 1, shape[2], shape[3]};
    Operand all = emit.reshape(turned, grouped);
    grouped[2] = shared;
    return emit.reshape(emit.broadcast(all, grouped),
                        {shape[0], scores.heads, shape[2], shape[3]});
  };
  hideFarther();
  if (keyMask)
    addBias(maskBias(emit,
                     emit.reshape(keyMask, {scores.batch, 1, 1, scores.keys}),
                     scores.element));
  if (bias)
    bias = emit.cast(bias, element);
  Operand raw = emit.emit<nn::MatMulOp>(
      emit.typeOf({scores.batch, scores.heads, scores.queries, scores.keys},
                  element),
      {headsFirst(query), headsFirst(key)}, {emit.flag("transpose_rhs")});
  raw = emit.binary<nn::MulOp>(raw, emit.scalar(element, scale));
  Operand bounded = raw;
  if (softcap != 0)
    bounded =
        emit.binary<nn::MulOp>(emit.unary<nn::TanhOp>(emit.binary<nn::DivOp>(
                                   raw, emit.scalar(element, softcap))),
                               emit.scalar(element, softcap));
  Operand biased = bias ? emit.binary<nn::AddOp>(bounded, bias) : bounded;
  Operand weights = emit.unary<nn::SoftmaxOp>(biased);
  if (bias) {
    // A query that sees no key attends to none; no NaN comes near it.
    Operand hidden = emit.compare(
        nn::CompareKind::eq, emit.reduce<nn::ReduceMaxOp>(bias, {3}),
        emit.scalar(element, -std::numeric_limits<double>::infinity()));
    Operand zero = emit.scalar(element, 0);
    weights = emit.select(
        hidden, zero,
        emit.unary<nn::SoftmaxOp>(emit.select(hidden, zero, biased)));
  }
  if (context.wants(3)) {
    const Operand stages[] = {raw, bounded, biased, weights};
    const int64_t mode = context.intAttribute("qk_matmul_output_mode", 0);
    context.set(3, one.result(emit.cast(stages[mode], scores.element)));
  }
  Operand result =
      emit.emit<nn::MatMulOp>(emit.typeOf({scores.batch, scores.heads,
                                           scores.queries, value.shape()[3]},
                                          element),
                              {weights, headsFirst(value)});
  result = one.result(emit.cast(result, scores.element));
  context.set(0, originalLayout(emit, emit.transpose(result, {0, 2, 1, 3}),
                                context.input(0)));
}

LogicalResult Attending::run() {
  if (!std::isfinite(softcap))
    return context.error("expects softcap to be finite, got " +
                         std::to_string(softcap));
  if (failed(readOperands()) || failed(readWindow()) || failed(readMask()) ||
      failed(readLengths()))
    return failure();
  // nn.attention's bias has no gradient.
  const bool isTrained =
      bias && bias.value() && nn::needsGradient(bias.value());
  if (context.wants(3) || isTrained) {
    writtenOut();
    return success();
  }
  if (!canSayWindow()) {
    hideFarther();
    left.reset();
    right.reset();
  }
  asOneOp();
  return success();
}

LogicalResult attention(NodeContext &context) {
  return Attending(context).run();
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
