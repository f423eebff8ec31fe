// Attention becomes calls.
#include "codegen/lower/CallModel.h"

using namespace mlir;

namespace shardc {

using View = step::View;

static step::AttentionSizes sizesOf(Value query, Value key, Value value) {
  return {bytesOf(query), shapeOf(query).back(), shapeOf(value).back(),
          shapeOf(key)[1], elementsOf(shapeOf(query).drop_back())};
}

static void attention(nn::AttentionOp op, EntryBuilder &entries) {
  View query = entries.heads(op.getQuery());
  View key = entries.heads(op.getKey()), value = entries.heads(op.getValue());
  std::optional<View> bias, mask, logSumExp;
  if (op.getBias())
    bias = entries.view(op.getBias());
  if (op.getKeyMask())
    mask = entries.contiguous(op.getKeyMask());
  View output = entries.allocate(op->getResult(0));
  if (!op.getLogSumExp().use_empty())
    logSumExp = entries.allocate(op->getResult(1));
  View workspace = entries.newWorkspace(entries.workspaces().attention(
      sizesOf(op.getQuery(), op.getKey(), op.getValue())));
  entries.emit<step::AttentionOp>(
      entries.ref(query), entries.ref(key), entries.ref(value),
      entries.ref(bias), entries.ref(mask), entries.ref(output),
      entries.ref(logSumExp), entries.ref(workspace), op.getScale(),
      op.getCausal());
}

static void attentionGrad(nn::AttentionGradOp op, EntryBuilder &entries) {
  View gradient = entries.heads(op.getGradient());
  View query = entries.heads(op.getQuery()), key = entries.heads(op.getKey());
  View value = entries.heads(op.getValue());
  View output = entries.heads(op.getOutput());
  View logSumExp = entries.contiguous(op.getLogSumExp());
  std::optional<View> bias, mask;
  if (op.getBias())
    bias = entries.view(op.getBias());
  if (op.getKeyMask())
    mask = entries.contiguous(op.getKeyMask());
  View queryGradient = entries.allocate(op->getResult(0));
  View keyGradient = entries.allocate(op->getResult(1));
  View valueGradient = entries.allocate(op->getResult(2));
  View workspace = entries.newWorkspace(entries.workspaces().attentionGrad(
      sizesOf(op.getQuery(), op.getKey(), op.getValue())));
  entries.emit<step::AttentionGradOp>(
      entries.ref(gradient), entries.ref(query), entries.ref(key),
      entries.ref(value), entries.ref(output), entries.ref(logSumExp),
      entries.ref(bias), entries.ref(mask), entries.ref(queryGradient),
      entries.ref(keyGradient), entries.ref(valueGradient),
      entries.ref(workspace), op.getScale(), op.getCausal());
}

void attachAttentionCalls(MLIRContext *context) {
  attachCall<nn::AttentionOp, attention>(context);
  attachCall<nn::AttentionGradOp, attentionGrad>(context);
}

} // namespace shardc
