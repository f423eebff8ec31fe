// Matrix products become calls.
#include "codegen/lower/CallModel.h"

using namespace mlir;

namespace shardc {

using View = step::View;

// All leading dims are rows of one matrix.
static SmallVector<int64_t> rowsByColumns(Value tensor) {
  ArrayRef<int64_t> shape = shapeOf(tensor);
  return {elementsOf(shape.drop_back()), shape.back()};
}

// All leading dims are the batch.
static SmallVector<int64_t> batched(Value tensor) {
  ArrayRef<int64_t> shape = shapeOf(tensor);
  SmallVector<int64_t> result(shape.take_back(2));
  if (shape.size() > 2)
    result.insert(result.begin(), elementsOf(shape.drop_back(2)));
  return result;
}

namespace {

// What a product does beside multiplying.
struct Beside {
  std::optional<View> bias, residual, biasGradient;
  bool gradientOfA = false;
};

} // namespace

// Emits c = op(a) op(b), and what it does beside, with the scratch memory that
// their type asks for.
static void gemm(EntryBuilder &entries, const View &a, bool transposeA,
                 const View &b, bool transposeB, const View &c,
                 const Beside &beside = {}) {
  ArrayRef<int64_t> rows = ArrayRef(a.shape).take_back(2),
                    columns = ArrayRef(c.shape).take_back(2);
  std::optional<View> workspace;
  if (int64_t bytes = entries.workspaces().gemm(
          columns[0], columns[1], rows[transposeA ? 0 : 1],
          nn::elementBytes(a.elementType)))
    workspace = entries.newWorkspace(bytes);
  entries.emit<step::GemmOp>(
      entries.ref(a), entries.ref(b), entries.ref(beside.bias),
      entries.ref(beside.residual), entries.ref(c),
      entries.ref(beside.biasGradient), entries.ref(workspace), transposeA,
      transposeB, /*accumulate=*/false, beside.gradientOfA);
}

static void linear(nn::LinearOp op, EntryBuilder &entries) {
  bool transposeA = false, transposeB = op.getTransposeWeight();
  View a =
      entries.matrix(op.getInput(), rowsByColumns(op.getInput()), transposeA);
  View b = entries.matrix(op.getWeight(), shapeOf(op.getWeight()), transposeB);
  Beside beside;
  if (op.getBias())
    beside.bias = entries.contiguous(op.getBias());
  SmallVector<int64_t> shape = rowsByColumns(op.getResult());
  if (op.getResidual()) {
    // Columns first would be the library's other order, of c alone.
    bool isFlipped = false;
    beside.residual = entries.matrix(op.getResidual(), shape, isFlipped);
    if (isFlipped)
      beside.residual = *entries.contiguous(op.getResidual()).reshape(shape);
  }
  View c = *entries.allocate(op->getResult(0)).reshape(shape);
  gemm(entries, a, transposeA, b, transposeB, c, beside);
}

static void linearWeightGrad(nn::LinearWeightGradOp op, EntryBuilder &entries) {
  // The gradient [in, out] is input^T gradient; that of a transposed weight,
  // [out, in], is gradient^T input.
  Value first = op.getInput(), second = op.getGradient();
  if (op.getTransposeWeight())
    std::swap(first, second);
  bool transposeA = true, transposeB = false;
  View a = entries.matrix(first, rowsByColumns(first), transposeA);
  View b = entries.matrix(second, rowsByColumns(second), transposeB);
  View c = entries.allocate(op->getResult(0));
  Beside beside;
  if (op.getBiasGradient()) {
    beside.biasGradient = entries.allocate(op->getResult(1));
    beside.gradientOfA = op.getTransposeWeight();
  }
  gemm(entries, a, transposeA, b, transposeB, c, beside);
}

// Returns the matrix (or vector) of all rows where the tensors lie one behind
// the other.
static std::optional<View> stackedView(ArrayRef<View> parts) {
  View all = parts.front();
  for (const View &part : parts.drop_front()) {
    if (part.buffer != all.buffer || !all.isContiguous() ||
        !part.isContiguous() || part.offset != all.offset + all.spanBytes())
      return std::nullopt;
    all.shape[0] += part.shape[0];
  }
  return all;
}

// Elsewhere their rows are copied behind each other.
static View stacked(EntryBuilder &entries, OperandRange tensors) {
  SmallVector<View> parts;
  for (Value tensor : tensors)
    parts.push_back(entries.view(tensor));
  if (std::optional<View> all = stackedView(parts))
    return *all;
  SmallVector<int64_t> shape(parts.front().shape);
  shape[0] = 0;
  for (const View &part : parts)
    shape[0] += part.shape[0];
  View all = View::contiguous(
      {}, 0, RankedTensorType::get(shape, parts.front().elementType));
  all.buffer =
      entries.newBuffer(step::Kind::activation, all.spanBytes(), "stacked");
  int64_t begin = 0;
  for (const View &part : parts) {
    SmallVector<int64_t> starts(shape.size(), 0), limits(shape),
        steps(shape.size(), 1);
    starts[0] = begin, limits[0] = begin += part.shape[0];
    entries.emit<step::CopyOp>(entries.ref(part),
                               entries.ref(all.slice(starts, limits, steps)));
  }
  return all;
}

static void stackedLinear(nn::StackedLinearOp op, EntryBuilder &entries) {
  bool transposeA = false;
  View a =
      entries.matrix(op.getInput(), rowsByColumns(op.getInput()), transposeA);
  View b = stacked(entries, op.getWeights());
  Beside beside;
  if (!op.getBiases().empty())
    beside.bias = stacked(entries, op.getBiases());
  View c = *entries.allocate(op->getResult(0))
                .reshape(rowsByColumns(op.getResult()));
  gemm(entries, a, transposeA, b, op.getTransposeWeight(), c, beside);
}

// One product where the gradients lie one behind the other, else one for each.
static void stackedLinearWeightGrad(nn::StackedLinearWeightGradOp op,
                                    EntryBuilder &entries) {
  bool transposeB = false;
  View columns = entries.matrix(op.getColumns(), rowsByColumns(op.getColumns()),
                                transposeB);
  auto allocate = [&](ResultRange results) {
    SmallVector<View> views;
    for (OpResult result : results)
      views.push_back(entries.allocate(result));
    return views;
  };
  SmallVector<View> weights = allocate(op.getWeightGradients()),
                    biases = allocate(op.getBiasGradients());
  std::optional<View> allWeights = stackedView(weights), allBiases;
  if (!biases.empty())
    allBiases = stackedView(biases);
  if (allWeights && (biases.empty() || allBiases)) {
    bool transposeA = true;
    View rows =
        entries.matrix(op.getRows(), rowsByColumns(op.getRows()), transposeA);
    return gemm(entries, rows, transposeA, columns, transposeB, *allWeights,
                {{}, {}, allBiases, /*gradientOfA=*/!biases.empty()});
  }
  View rows =
      *entries.contiguous(op.getRows()).reshape(rowsByColumns(op.getRows()));
  int64_t begin = 0;
  for (auto [index, weight] : llvm::enumerate(weights)) {
    int64_t end = begin + weight.shape[0];
    View part = rows.slice({0, begin}, {rows.shape[0], end}, {1, 1});
    Beside beside;
    if (!biases.empty())
      beside.biasGradient = biases[index], beside.gradientOfA = true;
    gemm(entries, part, /*transposeA=*/true, columns, transposeB, weight,
         beside);
    begin = end;
  }
}

static void matmul(nn::MatMulOp op, EntryBuilder &entries) {
  bool transposeA = op.getTransposeLhs(), transposeB = op.getTransposeRhs();
  View a = entries.matrix(op.getLhs(), batched(op.getLhs()), transposeA);
  View b = entries.matrix(op.getRhs(), batched(op.getRhs()), transposeB);
  View c = *entries.allocate(op->getResult(0)).reshape(batched(op.getResult()));
  gemm(entries, a, transposeA, b, transposeB, c);
}

void attachMatMulCalls(MLIRContext *context) {
  attachCall<nn::LinearOp, linear>(context);
  attachCall<nn::LinearWeightGradOp, linearWeightGrad>(context);
  attachCall<nn::StackedLinearOp, stackedLinear>(context);
  attachCall<nn::StackedLinearWeightGradOp, stackedLinearWeightGrad>(context);
  attachCall<nn::MatMulOp, matmul>(context);
}

} // namespace shardc
