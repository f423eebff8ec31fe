// Library calls: products, attention, losses, embeddings, and what the runtime
// does on the host.
#include "codegen/lower/ProgramLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

// All leading dims are rows of one matrix.
static SmallVector<int64_t> rowsByColumns(Value tensor) {
  ArrayRef<int64_t> shape = shapeOf(tensor);
  return {product(shape.drop_back()), shape.back()};
}

static int64_t bytesOf(Value tensor) {
  return step::elementBytes(getElementTypeOrSelf(tensor.getType()));
}

static step::AttentionSizes attentionSizes(Value query, Value key,
                                           Value value) {
  return {bytesOf(query), shapeOf(query).back(), shapeOf(value).back(),
          shapeOf(key)[1], product(shapeOf(query).drop_back())};
}

LogicalResult ProgramLowering::lowerLibraryCall(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::LinearOp linearOp) { return linear(linearOp), success(); })
      .Case([&](nn::LinearWeightGradOp grad) {
        return linearWeightGrad(grad), success();
      })
      .Case([&](nn::MatMulOp product) { return matmul(product), success(); })
      .Case([&](nn::AttentionOp call) { return attention(call), success(); })
      .Case([&](nn::AttentionGradOp grad) {
        return attentionGrad(grad), success();
      })
      .Case([&](nn::CrossEntropyOp loss) {
        return crossEntropy(loss), success();
      })
      .Case([&](nn::CrossEntropyGradOp grad) {
        return crossEntropyGrad(grad), success();
      })
      .Case<nn::LinearCrossEntropyOp, nn::LinearCrossEntropyGradOp>(
          [&](auto loss) { return linearCrossEntropy(loss), success(); })
      .Case([&](nn::EmbeddingOp embedding) {
        View table = contiguous(embedding.getTable());
        View ids = contiguous(embedding.getIds());
        View output = allocate(embedding->getResult(0));
        emit<step::EmbeddingOp>(ref(table), ref(ids), ref(output));
        return success();
      })
      .Case([&](nn::EmbeddingGradOp grad) {
        return embeddingGrad(grad), success();
      })
      .Case([&](nn::GatherOp gather) {
        return indexCall(op, "gather", {{"axis", gather.getAxis()}}), success();
      })
      .Case([&](nn::GatherGradOp grad) {
        return indexCall(op, "gather_grad", {{"axis", grad.getAxis()}}),
               success();
      })
      .Case([&](nn::GatherNdOp gather) {
        return indexCall(op, "gather_nd",
                         {{"batch_dims", gather.getBatchDims()}}),
               success();
      })
      .Case([&](nn::CumsumOp sum) {
        return indexCall(op, "cumsum",
                         {{"axis", sum.getAxis()},
                          {"exclusive", sum.getExclusive()},
                          {"reverse", sum.getReverse()}}),
               success();
      })
      .Case([&](nn::ConcatOp pieces) { return concat(pieces), success(); })
      .Case([&](nn::PadOp placed) { return pad(placed), success(); })
      .Default([](Operation *op) {
        return op->emitOpError()
               << "is no library call, view, constant or launch; run "
                  "step-outline-kernels before step-lower";
      });
}

void ProgramLowering::gemm(const View &a, bool transposeA, const View &b,
                           bool transposeB, const std::optional<View> &bias,
                           const View &c) {
  ArrayRef<int64_t> rows = ArrayRef(a.shape).take_back(2),
                    columns = ArrayRef(c.shape).take_back(2);
  std::optional<View> workspace;
  if (int64_t bytes = plan.workspaces().gemm(columns[0], columns[1],
                                             rows[transposeA ? 0 : 1],
                                             step::elementBytes(a.elementType)))
    workspace = newWorkspace(bytes);
  emit<step::GemmOp>(ref(a), ref(b), ref(bias), ref(c), ref(workspace),
                     transposeA, transposeB, /*accumulate=*/false);
}

void ProgramLowering::linear(nn::LinearOp op) {
  bool transposeA = false, transposeB = op.getTransposeWeight();
  View a = matrix(op.getInput(), rowsByColumns(op.getInput()), transposeA);
  View b = matrix(op.getWeight(), shapeOf(op.getWeight()), transposeB);
  std::optional<View> bias;
  if (op.getBias())
    bias = contiguous(op.getBias());
  View c = *allocate(op->getResult(0)).reshape(rowsByColumns(op.getResult()));
  gemm(a, transposeA, b, transposeB, bias, c);
}

void ProgramLowering::linearWeightGrad(nn::LinearWeightGradOp op) {
  // [in, out] = input^T gradient; transposed, [out, in] = gradient^T input.
  Value first = op.getInput(), second = op.getGradient();
  if (op.getTransposeWeight())
    std::swap(first, second);
  bool transposeA = true, transposeB = false;
  View a = matrix(first, rowsByColumns(first), transposeA);
  View b = matrix(second, rowsByColumns(second), transposeB);
  View c = allocate(op->getResult(0));
  gemm(a, transposeA, b, transposeB, std::nullopt, c);
}

void ProgramLowering::matmul(nn::MatMulOp op) {
  auto batched = [](Value tensor) {
    ArrayRef<int64_t> shape = shapeOf(tensor);
    SmallVector<int64_t> result(shape.take_back(2));
    if (shape.size() > 2)
      result.insert(result.begin(), product(shape.drop_back(2)));
    return result;
  };
  bool transposeA = op.getTransposeLhs(), transposeB = op.getTransposeRhs();
  View a = matrix(op.getLhs(), batched(op.getLhs()), transposeA);
  View b = matrix(op.getRhs(), batched(op.getRhs()), transposeB);
  View c = *allocate(op->getResult(0)).reshape(batched(op.getResult()));
  gemm(a, transposeA, b, transposeB, std::nullopt, c);
}

void ProgramLowering::attention(nn::AttentionOp op) {
  View query = heads(op.getQuery());
  View key = heads(op.getKey()), value = heads(op.getValue());
  std::optional<View> bias, mask, logSumExp;
  if (op.getBias())
    bias = view(op.getBias());
  if (op.getKeyMask())
    mask = contiguous(op.getKeyMask());
  View output = allocate(op->getResult(0));
  if (!op.getLogSumExp().use_empty())
    logSumExp = allocate(op->getResult(1));
  View workspace = newWorkspace(plan.workspaces().attention(
      attentionSizes(op.getQuery(), op.getKey(), op.getValue())));
  emit<step::AttentionOp>(ref(query), ref(key), ref(value), ref(bias),
                          ref(mask), ref(output), ref(logSumExp),
                          ref(workspace), op.getScale(), op.getCausal());
}

void ProgramLowering::attentionGrad(nn::AttentionGradOp op) {
  View gradient = heads(op.getGradient());
  View query = heads(op.getQuery()), key = heads(op.getKey());
  View value = heads(op.getValue());
  View output = heads(op.getOutput());
  View logSumExp = contiguous(op.getLogSumExp());
  std::optional<View> bias, mask;
  if (op.getBias())
    bias = view(op.getBias());
  if (op.getKeyMask())
    mask = contiguous(op.getKeyMask());
  View queryGradient = allocate(op->getResult(0));
  View keyGradient = allocate(op->getResult(1));
  View valueGradient = allocate(op->getResult(2));
  View workspace = newWorkspace(plan.workspaces().attentionGrad(
      attentionSizes(op.getQuery(), op.getKey(), op.getValue())));
  emit<step::AttentionGradOp>(ref(gradient), ref(query), ref(key), ref(value),
                              ref(output), ref(logSumExp), ref(bias), ref(mask),
                              ref(queryGradient), ref(keyGradient),
                              ref(valueGradient), ref(workspace), op.getScale(),
                              op.getCausal());
}

void ProgramLowering::crossEntropy(nn::CrossEntropyOp op) {
  View logits = contiguous(op.getLogits());
  View labels = contiguous(op.getLabels());
  View scale = view(op.getScale());
  View loss = allocate(op->getResult(0));
  View workspace =
      newWorkspace(plan.workspaces().crossEntropy(labels.elements()));
  emit<step::CrossEntropyOp>(ref(logits), ref(labels), ref(scale), ref(loss),
                             ref(workspace), op.getIgnoreIndex(),
                             op.getShift());
}

void ProgramLowering::crossEntropyGrad(nn::CrossEntropyGradOp op) {
  View gradient = view(op.getGradient());
  View logits = contiguous(op.getLogits());
  View labels = contiguous(op.getLabels());
  View scale = view(op.getScale());
  View result = allocate(op->getResult(0));
  emit<step::CrossEntropyGradOp>(ref(gradient), ref(logits), ref(labels),
                                 ref(scale), ref(result), op.getIgnoreIndex(),
                                 op.getShift());
}

template <typename OpTy> void ProgramLowering::linearCrossEntropy(OpTy op) {
  View input = contiguous(op.getInput()), weight = contiguous(op.getWeight());
  View labels = contiguous(op.getLabels()), scale = view(op.getScale());
  std::optional<View> bias, inputGradient, weightGradient, biasGradient;
  if (op.getBias())
    bias = contiguous(op.getBias());
  View loss = allocate(cast<OpResult>(op.getLoss()));
  if constexpr (std::is_same_v<OpTy, nn::LinearCrossEntropyGradOp>) {
    auto allocated = [&](Value result) -> std::optional<View> {
      if (!result || result.use_empty())
        return std::nullopt;
      return allocate(cast<OpResult>(result));
    };
    inputGradient = allocated(op.getInputGradient());
    weightGradient = allocated(op.getWeightGradient());
    biasGradient = allocated(op.getBiasGradient());
  }
  auto isNarrow = [](const std::optional<View> &view) {
    return view && step::elementBytes(view->elementType) < 4;
  };
  step::LinearCrossEntropySizes sizes;
  sizes.rows = labels.elements();
  sizes.features = input.shape.back();
  sizes.classes = weight.shape[op.getTransposeWeight() ? 0 : 1];
  sizes.elementBytes = bytesOf(op.getInput());
  sizes.roundsWeightGradient = isNarrow(weightGradient);
  sizes.roundsBiasGradient = isNarrow(biasGradient);
  View workspace = newWorkspace(plan.workspaces().linearCrossEntropy(sizes));
  int64_t chunk = plan.workspaces().linearCrossEntropyChunk(sizes);
  emit<step::LinearCrossEntropyOp>(
      ref(input), ref(weight), ref(bias), ref(labels), ref(scale), ref(loss),
      ref(inputGradient), ref(weightGradient), ref(biasGradient),
      ref(workspace), chunk, op.getIgnoreIndex(), op.getShift(),
      op.getTransposeWeight());
}

void ProgramLowering::embeddingGrad(nn::EmbeddingGradOp op) {
  View gradient = contiguous(op.getGradient());
  View ids = contiguous(op.getIds());
  std::optional<View> base;
  View table;
  if (!op.getBase()) {
    table = allocate(op->getResult(0));
  } else if (!places.contains(op.getResult())) {
    base = table = changeable(op.getBase());
    set(op.getResult(), table);
  } else {
    // A base with the same place was written there.
    base = table = allocate(op->getResult(0));
    View source = view(op.getBase());
    if (source.buffer != table.buffer || source.offset != table.offset)
      emit<step::CopyOp>(ref(source), ref(table));
  }
  emit<step::EmbeddingGradOp>(ref(gradient), ref(ids), ref(base), ref(table));
}

// Each piece to its place.
void ProgramLowering::concat(nn::ConcatOp op) {
  View joined = allocate(op->getResult(0));
  SmallVector<int64_t> starts(joined.rank(), 0), steps(joined.rank(), 1);
  for (Value piece : op.getInputs()) {
    SmallVector<int64_t> limits(joined.shape);
    limits[op.getAxis()] = starts[op.getAxis()] + shapeOf(piece)[op.getAxis()];
    if (!llvm::is_contained(shapeOf(piece), 0))
      emit<step::CopyOp>(ref(view(piece)),
                         ref(joined.slice(starts, limits, steps)));
    starts[op.getAxis()] = limits[op.getAxis()];
  }
}

// Zeros, and the input in its place.
void ProgramLowering::pad(nn::PadOp op) {
  View whole = allocate(op->getResult(0));
  emit<step::FillOp>(ref(whole), llvm::APFloat(0.0));
  SmallVector<int64_t> limits, steps;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getInput()))) {
    if (size == 0)
      return;
    steps.push_back(op.getInterior()[dim] + 1);
    limits.push_back(op.getLow()[dim] + (size - 1) * steps.back() + 1);
  }
  emit<step::CopyOp>(ref(view(op.getInput())),
                     ref(whole.slice(op.getLow(), limits, steps)));
}

void ProgramLowering::indexCall(
    Operation *op, StringRef name,
    ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  SmallVector<Value> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(ref(contiguous(operand)));
  for (OpResult result : op->getResults())
    outputs.push_back(ref(allocate(result)));
  SmallVector<NamedAttribute> attributes;
  for (auto [key, number] : numbers)
    attributes.push_back(
        builder.getNamedAttr(key, builder.getI64IntegerAttr(number)));
  emit<step::IndexCallOp>(name, inputs, outputs,
                          builder.getDictionaryAttr(attributes));
}

} // namespace shardc
