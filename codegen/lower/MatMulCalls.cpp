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
          step::elementBytes(a.elementType)))
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
  attachCall<nn::MatMulOp, matmul>(context);
}

} // namespace shardc
