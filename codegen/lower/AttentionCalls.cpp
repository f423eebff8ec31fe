// Attention becomes calls.
#include "codegen/lower/CallModel.h"

using namespace mlir;

namespace shardc {

using View = step::View;

template <typename Op> static step::AttentionSizes sizesOf(Op op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey());
  step::AttentionSizes sizes = {bytesOf(op.getQuery()), query.back(),
                                shapeOf(op.getValue()).back(), key[1],
                                elementsOf(query.drop_back())};
  sizes.queryLength = query[1];
  sizes.heads = query[2], sizes.groups = key[2];
  if (!op.getBias() && !op.getKeyMask())
    return sizes;
  SmallVector<int64_t> shape = {1, 1, 1, key[1]};
  if (op.getBias())
    shape = llvm::to_vector(shapeOf(op.getBias()));
  if (op.getKeyMask())
    shape[0] = query[0];
  shape[3] = key[1];
  sizes.addends = elementsOf(shape);
  return sizes;
}

static void attention(nn::AttentionOp op, EntryBuilder &entries) {
  View query = entries.heads(op.getQuery());
  View key = entries.heads(op.getKey()), value = entries.heads(op.getValue());
  std::optional<View> bias, mask, sinks, words, logSumExp;
  if (op.getBias())
    bias = entries.view(op.getBias());
  if (op.getKeyMask())
    mask = entries.contiguous(op.getKeyMask());
  if (op.getSinks())
    sinks = entries.contiguous(op.getSinks());
  if (op.getWords())
    words = entries.contiguous(op.getWords());
  View output = entries.allocate(op->getResult(0));
  if (!op.getLogSumExp().use_empty())
    logSumExp = entries.allocate(op->getResult(1));
  View workspace =
      entries.newWorkspace(entries.workspaces().attention(sizesOf(op)));
  entries.emit<step::AttentionOp>(
      entries.ref(query), entries.ref(key), entries.ref(value),
      entries.ref(bias), entries.ref(mask), entries.ref(sinks),
      entries.ref(words), entries.ref(output), entries.ref(logSumExp),
      entries.ref(workspace), op.getScale(), op.getCausal(), op.getLeft(),
      op.getRight(), op.getSoftcap(), op.getSamples(), op.getSampleStride());
}

static void attentionGrad(nn::AttentionGradOp op, EntryBuilder &entries) {
  View gradient = entries.heads(op.getGradient());
  View query = entries.heads(op.getQuery()), key = entries.heads(op.getKey());
  View value = entries.heads(op.getValue());
  View output = entries.heads(op.getOutput());
  View logSumExp = entries.contiguous(op.getLogSumExp());
  std::optional<View> bias, mask, sinks, words;
  if (op.getBias())
    bias = entries.view(op.getBias());
  if (op.getKeyMask())
    mask = entries.contiguous(op.getKeyMask());
  if (op.getSinks())
    sinks = entries.contiguous(op.getSinks());
  if (op.getWords())
    words = entries.contiguous(op.getWords());
  View queryGradient = entries.allocate(op->getResult(0));
  View keyGradient = entries.allocate(op->getResult(1));
  View valueGradient = entries.allocate(op->getResult(2));
  View workspace =
      entries.newWorkspace(entries.workspaces().attentionGrad(sizesOf(op)));
  entries.emit<step::AttentionGradOp>(
      entries.ref(gradient), entries.ref(query), entries.ref(key),
      entries.ref(value), entries.ref(output), entries.ref(logSumExp),
      entries.ref(bias), entries.ref(mask), entries.ref(sinks),
      entries.ref(words), entries.ref(queryGradient), entries.ref(keyGradient),
      entries.ref(valueGradient), entries.ref(workspace), op.getScale(),
      op.getCausal(), op.getLeft(), op.getRight(), op.getSoftcap(),
      op.getSamples(), op.getSampleStride());
}

void attachAttentionCalls(MLIRContext *context) {
  attachCall<nn::AttentionOp, attention>(context);
  attachCall<nn::AttentionGradOp, attentionGrad>(context);
}

} // namespace shardc
