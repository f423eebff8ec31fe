// What onnxruntime's optimizers fuse, of the domain com.microsoft: each is
// expanded to the operators that it was fused from.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include "frontend/onnx/decode/DecoderTable.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// A node of the default domain in place of another one.
class StandardNode {
public:
  StandardNode(NodeContext &context, StringRef op, size_t outputs = 1)
      : context(context), node(context.node) {
    proto.set_name(node.name);
    proto.set_op_type(op.str());
    for (size_t i = 0; i < outputs; ++i)
      proto.add_output("output_" + std::to_string(i));
    node.proto = &proto;
    node.opset = latestOpset;
  }
  void omitOutput(int i) { proto.set_output(i, ""); }
  void set(StringRef name, int64_t value) {
    auto &attribute = *proto.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  void set(StringRef name, double value) {
    auto &attribute = *proto.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::FLOAT);
    attribute.set_f(float(value));
  }
  void set(StringRef name, StringRef value) {
    auto &attribute = *proto.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::STRING);
    attribute.set_s(value.str());
  }

  FailureOr<SmallVector<Operand>> decode(ArrayRef<Operand> inputs) {
    static const DecoderTable table;
    NodeContext inner(node, context.fileName(), context.emit,
                      SmallVector<Operand>(inputs));
    if (failed(table.find(node)->decode(inner)))
      return failure();
    return SmallVector<Operand>(inner.results());
  }

private:
  static constexpr int64_t latestOpset = 24;
  NodeContext &context;
  ::onnx::NodeProto proto;
  Node node;
};

/// `op` of the inputs, with one attribute of the node's own.
LogicalResult setTo(NodeContext &context, StandardNode &node,
                    ArrayRef<Operand> inputs) {
  FailureOr<SmallVector<Operand>> results = node.decode(inputs);
  if (failed(results))
    return failure();
  context.set(0, results->front());
  return success();
}

FailureOr<Operand> sumOf(NodeContext &context, ArrayRef<Operand> operands) {
  Operand sum = operands.front();
  for (const Operand &operand : operands.drop_front()) {
    if (operand.elementType() != sum.elementType())
      return context.error("adds " + typeName(sum.elementType()) + " and " +
                           typeName(operand.elementType()));
    if (failed(context.broadcastShape({sum, operand})))
      return failure();
    sum = context.emit.binary<nn::AddOp>(sum, operand);
  }
  return sum;
}

/// Gelu, FastGelu and BiasGelu: input 1 is added first, where there is one.
template <bool isFast> LogicalResult gelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter::OneRounding one(context.emit);
  SmallVector<Operand> terms = {context.input(0)};
  if (context.has(1))
    terms.push_back(context.input(1));
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  StandardNode node(context, "Gelu");
  node.set("approximate", StringRef(isFast ? "tanh" : "none"));
  return setTo(context, node, {*sum});
}

LogicalResult quickGelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  const Operand &x = context.input(0);
  Operand factor =
      emit.scalar(x.elementType(), context.floatAttribute("alpha", 1.702f));
  context.set(
      0, one.result(emit.binary<nn::MulOp>(
             x, emit.unary<nn::SigmoidOp>(emit.binary<nn::MulOp>(x, factor)))));
  return success();
}

LogicalResult fusedMatMul(NodeContext &context) {
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  SmallVector<Operand> factors;
  for (size_t i : {0, 1}) {
    Operand factor = context.input(i);
    if (context.intAttribute(i ? "transBatchB" : "transBatchA", 0))
      return context.error("transBatchA and transBatchB are not supported");
    if (context.intAttribute(i ? "transB" : "transA", 0) && factor.rank() > 1) {
      Shape order = llvm::to_vector(llvm::seq<int64_t>(0, factor.rank()));
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      factor = emit.transpose(factor, order);
    }
    factors.push_back(factor);
  }
  StandardNode node(context, "MatMul");
  FailureOr<SmallVector<Operand>> product = node.decode(factors);
  if (failed(product))
    return failure();
  double alpha = context.floatAttribute("alpha", 1);
  Operand result = product->front();
  if (alpha != 1)
    result = emit.binary<nn::MulOp>(result,
                                    emit.scalar(result.elementType(), alpha));
  context.set(0, one.result(result));
  return success();
}

/// A norm of a sum, which is output 3. isSimple: the root of the mean square,
/// without a beta.
template <bool isSimple> LogicalResult skipNorm(NodeContext &context) {
  const size_t bias = isSimple ? 3 : 4;
  SmallVector<Operand> terms = {context.input(0), context.input(1)};
  if (context.has(bias))
    terms.push_back(context.input(bias));
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  StandardNode node(context,
                    isSimple ? "RMSNormalization" : "LayerNormalization",
                    isSimple ? 1 : 3);
  node.set("axis", int64_t(-1));
  node.set("epsilon", context.floatAttribute("epsilon", 1e-12f));
  SmallVector<Operand> inputs = {*sum, context.input(2)};
  if (!isSimple && context.has(3))
    inputs.push_back(context.input(3));
  for (int i : {1, 2})
    if (!isSimple && !context.wants(i))
      node.omitOutput(i);
  FailureOr<SmallVector<Operand>> results = node.decode(inputs);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    if (result && context.wants(i))
      context.set(i, result);
  if (context.wants(3))
    context.set(3, *sum);
  return success();
}

LogicalResult simpleNorm(NodeContext &context) {
  StandardNode node(context, "RMSNormalization");
  node.set("axis", context.intAttribute("axis", -1));
  node.set("epsilon", context.floatAttribute("epsilon", 1e-5f));
  return setTo(context, node, context.allInputs());
}

/// A part of a bias [3 D], or of what is packed behind each other.
Operand third(Emitter &emit, const Operand &packed, int64_t part) {
  int64_t size = packed.shape().back() / 3;
  return emit.sliceDim(packed, packed.rank() - 1, part * size, size);
}

/// What a mask of keys adds to the scores: [B, L] of integers that are not 0
/// where a key is seen.
FailureOr<Operand> keyBias(NodeContext &context, size_t i, int64_t batch,
                           int64_t keys, Type element) {
  const Operand &mask = context.input(i);
  if (mask.isFloat() || mask.shape() != ArrayRef<int64_t>{batch, keys})
    return context.error(
        "expects input " + Twine(i) + ", a mask, to be integers of shape " +
        shapeText({batch, keys}) + ", got " + shapeText(mask.shape()));
  Emitter &emit = context.emit;
  Operand isSeen = emit.compare(nn::CompareKind::ne, mask,
                                emit.scalar(mask.elementType(), 0));
  Operand bias = emit.select(
      isSeen, emit.scalar(element, 0),
      emit.scalar(element, context.floatAttribute("mask_filter_value", -1e4f)));
  return emit.reshape(bias, {batch, 1, 1, keys});
}

/// Attention of query, key and value [B, S, H D], with what is added to the
/// scores: the mask of keys, input `mask`, and input `bias`.
LogicalResult attend(NodeContext &context, ArrayRef<Operand> operands,
                     size_t mask, size_t bias, ArrayRef<Operand> past = {}) {
  const Operand &query = operands[0], &key = operands[1];
  int64_t heads = context.intAttribute("num_heads", 0);
  if (heads < 1 || query.rank() != 3 || query.shape()[2] % heads != 0)
    return context.error("expects num_heads to divide the size of queries "
                         "[batch, sequence, size], got " +
                         Twine(heads) + " and " + shapeText(query.shape()));
  int64_t keys = key.rank() == 4 ? key.shape()[2] : key.shape()[1];
  if (!past.empty())
    keys += past.front().shape()[2];
  SmallVector<Operand> terms;
  if (context.has(mask)) {
    FailureOr<Operand> hidden =
        keyBias(context, mask, query.shape()[0], keys, query.elementType());
    if (failed(hidden))
      return failure();
    terms.push_back(*hidden);
  }
  if (context.has(bias))
    terms.push_back(context.input(bias));
  SmallVector<Operand> inputs(operands);
  inputs.emplace_back();
  if (!terms.empty()) {
    FailureOr<Operand> sum = sumOf(context, terms);
    if (failed(sum))
      return failure();
    inputs.back() = *sum;
  }
  llvm::append_range(inputs, past);
  bool givesPresent = context.wants(1) || context.wants(2);
  StandardNode node(context, "Attention", givesPresent ? 3 : 1);
  node.set("q_num_heads", heads);
  node.set("kv_num_heads", heads);
  node.set("is_causal", context.intAttribute("unidirectional", 0));
  // onnxruntime takes 0 for none, too.
  if (double scale = context.floatAttribute("scale", 0); scale != 0)
    node.set("scale", scale);
  FailureOr<SmallVector<Operand>> results = node.decode(inputs);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    if (context.wants(i))
      context.set(i, result);
  return success();
}

LogicalResult multiHeadAttention(NodeContext &context) {
  if (!context.has(1) || !context.has(2) || context.input(0).rank() != 3)
    return context.error("expects query, key and value by themselves, of rank "
                         "3; packed ones are not supported");
  Emitter &emit = context.emit;
  SmallVector<Operand> operands = {context.input(0), context.input(1),
                                   context.input(2)};
  int64_t heads = context.intAttribute("num_heads", 0);
  for (Operand &operand : operands)
    // Keys of another sequence may have their heads in front.
    if (operand.rank() == 4 && heads > 0)
      operand = emit.reshape(emit.transpose(operand, {0, 2, 1, 3}),
                             {operand.shape()[0], operand.shape()[2],
                              operand.shape()[1] * operand.shape()[3]});
  if (context.has(3)) {
    int64_t begin = 0;
    for (Operand &operand : operands) {
      int64_t size = operand.shape().back();
      if (context.input(3).rank() != 1 ||
          begin + size > context.input(3).shape()[0])
        return context.error("expects a bias of all queries, keys and values, "
                             "got " +
                             shapeText(context.input(3).shape()));
      FailureOr<Operand> sum = sumOf(
          context, {operand, emit.sliceDim(context.input(3), 0, begin, size)});
      if (failed(sum))
        return failure();
      operand = *sum;
      begin += size;
    }
  }
  if (context.has(6) != context.has(7) || context.inputCount() > 8)
    return context.error("expects past keys and past values, or neither, and "
                         "no buffer that both share");
  SmallVector<Operand> past;
  if (context.has(6))
    past = {context.input(6), context.input(7)};
  return attend(context, operands, 4, 5, past);
}

/// Queries, keys and values of one product: input times weights [D, 3 H D],
/// plus a bias.
LogicalResult packedAttention(NodeContext &context) {
  if (context.intsAttribute("qkv_hidden_sizes") || context.has(4) ||
      context.has(6) || context.wants(1) ||
      context.intAttribute("do_rotary", 0))
    return context.error("qkv_hidden_sizes, past, present and do_rotary are "
                         "not supported");
  StandardNode product(context, "MatMul");
  FailureOr<SmallVector<Operand>> packed =
      product.decode({context.input(0), context.input(1)});
  if (failed(packed))
    return failure();
  SmallVector<Operand> terms = {packed->front()};
  if (context.has(2))
    terms.push_back(context.input(2));
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  if (sum->shape().back() % 3 != 0)
    return context.error("expects weights of queries, keys and values, got " +
                         shapeText(context.input(1).shape()));
  SmallVector<Operand> operands;
  for (int64_t part : {0, 1, 2})
    operands.push_back(third(context.emit, *sum, part));
  return attend(context, operands, 3, 5);
}

LogicalResult rotaryEmbedding(NodeContext &context) {
  const Operand &x = context.input(0), &positions = context.input(1),
                &cosines = context.input(2);
  if (positions.rank() != 2 || cosines.rank() != 2 ||
      context.intAttribute("is_packed_batching", 0))
    return context.error("expects position_ids [batch, sequence] and tables "
                         "[positions, size], not packed");
  if (double scale = context.floatAttribute("scale", 1); scale != 1)
    return context.error("scale is not supported");
  StandardNode node(context, "RotaryEmbedding");
  int64_t rotated = context.intAttribute("rotary_embedding_dim", 0),
          heads = context.intAttribute("num_heads", 0);
  if (heads == 0 && x.rank() == 3)
    heads = x.shape()[2] / (2 * cosines.shape()[1]);
  node.set("num_heads", heads);
  node.set("rotary_embedding_dim", rotated);
  node.set("interleaved", context.intAttribute("interleaved", 0));
  return setTo(context, node, {x, cosines, context.input(3), positions});
}

/// The sum of up to three embeddings, normalized; output 1 counts the mask, and
/// output 2 is the sum.
LogicalResult embedNorm(NodeContext &context) {
  const Operand &ids = context.input(0);
  Emitter &emit = context.emit;
  for (size_t i : {2, 3, 5, 6})
    if (!context.has(i))
      return context.error("its input " + Twine(i) + " is missing");
  if (ids.rank() != 2)
    return context.error("expects input_ids [batch, sequence], got " +
                         shapeText(ids.shape()));
  Operand places =
      context.has(8)
          ? context.input(8)
          : emit.reshape(emit.iota(ids.shape()[1], 1, 2), {1, ids.shape()[1]});
  SmallVector<Operand> terms;
  for (auto [table, indices] :
       {std::pair<size_t, Operand>(2, ids),
        {3, places},
        {4, context.has(1) ? context.input(1) : Operand()}}) {
    if (!context.has(table) || !indices)
      continue;
    StandardNode gather(context, "Gather");
    FailureOr<SmallVector<Operand>> rows =
        gather.decode({context.input(table), indices});
    if (failed(rows))
      return failure();
    terms.push_back(rows->front());
  }
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  StandardNode norm(context, "LayerNormalization");
  norm.set("epsilon", context.floatAttribute("epsilon", 1e-12f));
  Type counted = emit.attributes().getI32Type();
  if (context.has(7) &&
      (context.input(7).isFloat() || context.input(7).shape() != ids.shape()))
    return context.error("expects an integer mask of shape " +
                         shapeText(ids.shape()) + ", got " +
                         shapeText(context.input(7).shape()));
  if (context.wants(1))
    context.set(
        1, context.has(7)
               ? emit.reshape(emit.reduce<nn::ReduceSumOp>(
                                  emit.cast(context.input(7), counted), {1}),
                              {ids.shape()[0]})
               : emit.splat({ids.shape()[0]}, counted, 0));
  if (context.wants(2))
    context.set(2, *sum);
  return setTo(context, norm, {*sum, context.input(5), context.input(6)});
}

} // namespace

ArrayRef<Decoder> shardc::onnx::microsoftDecoders() {
  static constexpr Decoder decoders[] = {
      {"com.microsoft.Attention", 1, 2, 7, packedAttention},
      {"com.microsoft.BiasGelu", 1, 2, 2, gelu<false>},
      {"com.microsoft.EmbedLayerNormalization", 1, 1, 9, embedNorm},
      {"com.microsoft.FastGelu", 1, 1, 2, gelu<true>},
      {"com.microsoft.FusedMatMul", 1, 2, 2, fusedMatMul},
      {"com.microsoft.Gelu", 1, 1, 1, gelu<false>},
      {"com.microsoft.MultiHeadAttention", 1, 1, 8, multiHeadAttention},
      {"com.microsoft.QuickGelu", 1, 1, 1, quickGelu},
      {"com.microsoft.RotaryEmbedding", 1, 4, 4, rotaryEmbedding},
      {"com.microsoft.SkipLayerNormalization", 1, 3, 5, skipNorm<false>},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 3, 4,
       skipNorm<true>},
      {"SimplifiedLayerNormalization", 1, 2, 2, simpleNorm},
  };
  return decoders;
}
