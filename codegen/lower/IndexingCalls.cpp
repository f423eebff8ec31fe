// Ops that read and write at positions become calls.
#include "codegen/lower/CallModel.h"

using namespace mlir;

namespace shardc {

using View = step::View;

static void embedding(nn::EmbeddingOp op, EntryBuilder &entries) {
  View table = entries.contiguous(op.getTable());
  View ids = entries.contiguous(op.getIds());
  View output = entries.allocate(op->getResult(0));
  entries.emit<step::EmbeddingOp>(entries.ref(table), entries.ref(ids),
                                  entries.ref(output));
}

struct EmbeddingGradCall
    : nn::LibraryCall::ExternalModel<EmbeddingGradCall, nn::EmbeddingGradOp> {
  Value changedOperand(Operation *op) const {
    return cast<nn::EmbeddingGradOp>(op).getBase();
  }

  void lowerCall(Operation *call, EntryBuilder &entries) const {
    auto op = cast<nn::EmbeddingGradOp>(call);
    View gradient = entries.contiguous(op.getGradient());
    View ids = entries.contiguous(op.getIds());
    std::optional<View> base;
    View table;
    if (!op.getBase()) {
      table = entries.allocate(op->getResult(0));
    } else if (!entries.hasPlace(op.getResult())) {
      base = table = entries.changeable(op.getBase());
      entries.set(op.getResult(), table);
    } else {
      // A base with the same place was written there.
      base = table = entries.allocate(op->getResult(0));
      View source = entries.view(op.getBase());
      if (source.buffer != table.buffer || source.offset != table.offset)
        entries.emit<step::CopyOp>(entries.ref(source), entries.ref(table));
    }
    entries.emit<step::EmbeddingGradOp>(entries.ref(gradient), entries.ref(ids),
                                        entries.ref(base), entries.ref(table));
  }
};

static void topK(nn::TopKOp op, EntryBuilder &entries) {
  View input = entries.contiguous(op.getInput());
  View values = entries.allocate(op->getResult(0));
  View indices = entries.allocate(op->getResult(1));
  entries.emit<step::TopKOp>(entries.ref(input), entries.ref(values),
                             entries.ref(indices), op.getSmallest());
}

// The rarer ops share one kind of entry. It names what it does, and has all
// operands and results, and the op's own numbers by name.
static void indexCall(Operation *op, StringRef name, EntryBuilder &entries,
                      ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  SmallVector<Value> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(entries.ref(entries.contiguous(operand)));
  for (OpResult result : op->getResults())
    outputs.push_back(entries.ref(entries.allocate(result)));
  Builder &builder = entries.attributes();
  SmallVector<NamedAttribute> attributes;
  for (auto [key, number] : numbers)
    attributes.push_back(
        builder.getNamedAttr(key, builder.getI64IntegerAttr(number)));
  entries.emit<step::IndexCallOp>(name, inputs, outputs,
                                  builder.getDictionaryAttr(attributes));
}

static void gather(nn::GatherOp op, EntryBuilder &entries) {
  indexCall(op, "gather", entries, {{"axis", op.getAxis()}});
}

static void gatherGrad(nn::GatherGradOp op, EntryBuilder &entries) {
  indexCall(op, "gather_grad", entries, {{"axis", op.getAxis()}});
}

static void gatherNd(nn::GatherNdOp op, EntryBuilder &entries) {
  indexCall(op, "gather_nd", entries, {{"batch_dims", op.getBatchDims()}});
}

static void cumsum(nn::CumsumOp op, EntryBuilder &entries) {
  indexCall(op, "cumsum", entries,
            {{"axis", op.getAxis()},
             {"exclusive", op.getExclusive()},
             {"reverse", op.getReverse()}});
}

void attachIndexingCalls(MLIRContext *context) {
  attachCall<nn::EmbeddingOp, embedding>(context);
  nn::EmbeddingGradOp::attachInterface<EmbeddingGradCall>(*context);
  attachCall<nn::TopKOp, topK>(context);
  attachCall<nn::GatherOp, gather>(context);
  attachCall<nn::GatherGradOp, gatherGrad>(context);
  attachCall<nn::GatherNdOp, gatherNd>(context);
  attachCall<nn::CumsumOp, cumsum>(context);
}

} // namespace shardc
