// What passes ask of an nn op. An op answers in its family's .cpp; there is no central switch.
#ifndef SHARDC_FRONTEND_NN_NNINTERFACES_TD
#define SHARDC_FRONTEND_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that knows its own vector-Jacobian product. `nn-differentiate` walks the ops backwards and
    asks each.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands. `resultGradients[i]` is the gradient of result i, or
      null if none flows there. `needed[j]` says whether operand j's gradient is used; only those
      need be built. On return `operandGradients[j]` is set, or null where the gradient is zero. Ops
      are created through `builder`, which stands behind the last op of the backward pass so far.
    }],
    "::llvm::LogicalResult", "differentiate", (ins "::mlir::OpBuilder &":$builder,
      "::mlir::ValueRange":$resultGradients, "::llvm::ArrayRef<bool>":$needed,
      "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>
  ];
}

def NN_KernelBody : OpInterface<"KernelBody"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that is generated code (not a library call): it writes itself as linalg ops on tensors,
    one body for every target. `step-outline-kernels` groups such ops into kernels.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the op as linalg on `operands` (tensors of this op's operand types) and returns one
      tensor per result. Elementwise ops become one linalg.generic with identity maps; reductions
      keep their dims as size 1.
    }],
    "::llvm::LogicalResult", "buildKernel", (ins "::mlir::OpBuilder &":$builder,
      "::mlir::ValueRange":$operands, "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}

def NN_CostModel : OpInterface<"CostModel"> {
  let cppNamespace = "::shardc::nn";
  let description = "An op that knows its arithmetic cost.";
  let methods = [
    InterfaceMethod<"Floating-point operations of one execution (a multiply-add counts 2).",
    "int64_t", "flops", (ins)>
  ];
}

def NN_ReferenceEval : OpInterface<"ReferenceEval"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that can be evaluated plainly on the host: floats in float64, integers in int64. Folds
    shape and mask arithmetic at compile time, and is what tests compare kernels with.
  }];
  let methods = [
    InterfaceMethod<"Appends one tensor per result.",
    "::llvm::LogicalResult", "evaluate", (ins
      "::llvm::ArrayRef<::shardc::nn::HostTensor>":$operands,
      "::llvm::SmallVectorImpl<::shardc::nn::HostTensor> &":$results)>
  ];
}

#endif
