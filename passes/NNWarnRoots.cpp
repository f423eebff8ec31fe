// nn-warn-roots: roots of sums of squares, whose gradient is NaN for zeros.
#include "passes/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNWARNROOTS
#include "passes/Passes.h.inc"

namespace {

/// Whether the result has the elements of the operand, perhaps converted.
bool isMoved(Operation *op) {
  return op->hasTrait<nn::IsView>() || isa<nn::CastOp>(op);
}

std::optional<double> splatOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      auto host = nn::HostTensor::fromAttribute(constant.getValue());
      if (!host || !host.isFloat() || !host.isSplat())
        return std::nullopt;
      return host.floatAt(SmallVector<int64_t>(host.rank(), 0));
    }
    if (!isMoved(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// What is under a root, or under 1 / a root; null for other ops.
Value radicandOf(Operation &op) {
  if (isa<nn::SqrtOp, nn::RsqrtOp>(op))
    return op.getOperand(0);
  if (auto pow = dyn_cast<nn::PowOp>(op))
    if (std::optional<double> exponent = splatOf(pow.getRhs());
        exponent == 0.5 || exponent == -0.5)
      return pow.getLhs();
  return Value();
}

bool isSquare(Operation *op) {
  if (auto mul = dyn_cast<nn::MulOp>(op))
    return mul.getLhs() == mul.getRhs();
  auto pow = dyn_cast<nn::PowOp>(op);
  return pow && splatOf(pow.getRhs()) == 2;
}

/// Whether a value is zero wherever what it squares is: nothing is added, and
/// nothing is chosen instead.
bool isSumOfSquares(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isSquare(op))
      return true;
    auto mul = dyn_cast<nn::MulOp>(op);
    bool isScaled = (mul && splatOf(mul.getRhs())) ||
                    (isa<nn::DivOp>(op) && splatOf(op->getOperand(1)));
    if (!isScaled && !isMoved(op) &&
        !isa<nn::ReduceSumOp, nn::ReduceMeanOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

struct NNWarnRoots : impl::NNWarnRootsBase<NNWarnRoots> {
  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("model");
    if (!function)
      return;
    SymbolTable symbols(getOperation());
    // What a trainable parameter reaches.
    llvm::SmallPtrSet<Operation *, 32> varying;
    SmallVector<Operation *> roots;
    for (Operation &op : function.front()) {
      auto get = dyn_cast<nn::GetParameterOp>(op);
      if (get ? symbols.lookup<nn::ParameterOp>(get.getParameter())
                    .getTrainable()
              : llvm::any_of(op.getOperands(), [&](Value operand) {
                  return varying.contains(operand.getDefiningOp());
                }))
        varying.insert(&op);
      Value radicand = radicandOf(op);
      if (radicand && varying.contains(&op) && isSumOfSquares(radicand))
        roots.push_back(&op);
    }
    if (roots.empty())
      return;
    InFlightDiagnostic warning = roots.front()->emitWarning();
    warning << "the gradient of a root of a sum of squares is NaN where all "
               "that is summed is 0";
    if (roots.size() > 1)
      warning << " (and " << roots.size() - 1 << " more such roots)";
    warning << ", as in PyTorch; add a small number under the root, or export "
               "torch.linalg.vector_norm, whose gradient is 0 there";
  }
};

} // namespace
} // namespace shardc
