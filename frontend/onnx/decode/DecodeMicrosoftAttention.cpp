// Attention of the domain com.microsoft, with its masks, and rotary embeddings.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include "frontend/onnx/decode/StandardNode.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// What a mask adds to the scores. Of integers: [B] of how many keys are seen,
/// [B, L] or, for each query, [B, S, L] that are not 0 where one is.
FailureOr<Operand> maskBias(NodeContext &context, size_t i, int64_t batch,
                            int64_t queries, int64_t keys, Type element) {
  Operand mask = context.input(i);
  Shape perBatch = {batch}, perKey = {batch, keys},
        perQuery = {batch, queries, keys};
  if (mask.isFloat() || !llvm::is_contained({ArrayRef<int64_t>(perBatch),
                                             ArrayRef<int64_t>(perKey),
                                             ArrayRef<int64_t>(perQuery)},
                                            ArrayRef<int64_t>(mask.shape())))
    return context.error(
        "expects input " + Twine(i) + ", a mask, to be integers of shape " +
        shapeText(perBatch) + ", " + shapeText(perKey) + " or " +
        shapeText(perQuery) + ", got " + shapeText(mask.shape()));
  Emitter &emit = context.emit;
  const size_t rank = mask.rank();
  mask = emit.reshape(
      mask, {batch, 1, rank == 3 ? queries : 1, rank == 1 ? 1 : keys});
  Operand isSeen =
      rank == 1
          ? emit.compare(nn::CompareKind::lt,
                         emit.cast(emit.iota(keys, 3, 4), mask.elementType()),
                         mask)
          : emit.compare(nn::CompareKind::ne, mask,
                         emit.scalar(mask.elementType(), 0));
  return emit.select(
      isSeen, emit.scalar(element, 0),
      emit.scalar(element, context.floatAttribute("mask_filter_value", -1e4f)));
}

/// Attention of query, key and value [B, S, H D], with what is added to the
/// scores: input `mask`, and input `bias`.
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
        maskBias(context, mask, query.shape()[0], query.shape()[1], keys,
                 query.elementType());
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

/// Queries, keys and values of one product: input times weights [D, 3 H D], or
/// of the sizes that qkv_hidden_sizes says, plus a bias.
LogicalResult packedAttention(NodeContext &context) {
  if (context.has(4) || context.has(6) || context.wants(1) ||
      context.intAttribute("do_rotary", 0))
    return context.error("past, present and do_rotary are not supported");
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
  const int64_t all = sum->shape().back();
  auto said = context.intsAttribute("qkv_hidden_sizes");
  SmallVector<int64_t> sizes(3, all / 3);
  if (said)
    sizes.assign(said->begin(), said->end());
  if (sizes.size() != 3 ||
      llvm::any_of(sizes, [](int64_t s) { return s < 1; }) ||
      sizes[0] + sizes[1] + sizes[2] != all)
    return context.error(
        "expects weights of queries, keys and values, " +
        Twine(said ? "of sizes " + shapeText(sizes) + ", " : std::string()) +
        "got " + shapeText(context.input(1).shape()));
  SmallVector<Operand> operands;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    operands.push_back(
        context.emit.sliceDim(*sum, sum->rank() - 1, begin, size));
    begin += size;
  }
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

} // namespace

ArrayRef<Decoder> shardc::onnx::microsoftAttentionDecoders() {
  static constexpr Decoder decoders[] = {
      {"com.microsoft.Attention", 1, 2, 7, packedAttention},
      {"com.microsoft.MultiHeadAttention", 1, 1, 8, multiHeadAttention},
      {"com.microsoft.RotaryEmbedding", 1, 4, 4, rotaryEmbedding},
  };
  return decoders;
}
